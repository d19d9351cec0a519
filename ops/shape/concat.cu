// concat.cu - y [rows, width] is the operands [rows, n0], [rows, n1], ... side by side. OPERANDS(F)
// is F(0) F(1) ... for all of them.

#define POINTER(k) const IN##k *x##k,
#define NUMBER(k) , long long n##k
#define ARGUMENT(k) x##k,
#define SIZE(k) , n##k
#define ALIGNED(k) &&gr_aligned(x##k) && n##k % PACK == 0

// Column c of y is that of operand k unless it is beyond it: then it is column c - nk of the rest.
#define FIND(k)                           \
  if (c >= 0 && c < n##k) {               \
    v = gr_load<N>(x##k, row * n##k + c); \
  }                                       \
  c -= n##k;

template <int N>
__device__ void concat_of(OPERANDS(POINTER) OUT0 *y, long long n,
                          long long width OPERANDS(NUMBER)) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const long long row = gr_div(i, width);
    long long c = i - row * width;
    gr_pack<OUT0, N> v = {};
    OPERANDS(FIND)
    gr_store(y, i, v);
  }
}

extern "C" __global__ void concat(OPERANDS(POINTER) OUT0 *y, long long n,
                                  long long width OPERANDS(NUMBER)) {
  constexpr int PACK = 16 / sizeof(OUT0);
  if (gr_aligned(y) OPERANDS(ALIGNED))
    concat_of<PACK>(OPERANDS(ARGUMENT) y, n, width OPERANDS(SIZE));
  else
    concat_of<1>(OPERANDS(ARGUMENT) y, n, width OPERANDS(SIZE));
}
