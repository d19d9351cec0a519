// pointwise.cu - y = f(x0, x1, ...) for each of n elements. The text before this one, which is
// generated (gpu_source.c), defines f, and the number of elements that a thread reads at once,
// PACK. y may be an operand: a thread reads all its elements before it writes them.

#define POINTER(k) const IN##k *x##k,
#define ALIGNED(k) &&gr_aligned(x##k)
#define LOAD(k) const gr_pack<IN##k, PACK> p##k = gr_load<PACK>(x##k, i);
#define OF_PACK(k) gr_get(p##k.at, e),
#define OF_MEMORY(k) gr_get(x##k, i),

extern "C" __global__ void pointwise(OPERANDS(POINTER) OUT0 *y, long long n) {
  const bool packs = gr_aligned(y) OPERANDS(ALIGNED);
  const long long whole = packs ? n / PACK * PACK : 0;
  for (long long i = GR_FIRST * PACK; i < whole; i += GR_ALL * PACK) {
    OPERANDS(LOAD)
    gr_pack<OUT0, PACK> out;
#pragma unroll
    for (int e = 0; e < PACK; e++) gr_put(out.at, e, f(OPERANDS(OF_PACK) i + e));
    gr_store(y, i, out);
  }
  for (long long i = whole + GR_FIRST; i < n; i += GR_ALL) gr_put(y, i, f(OPERANDS(OF_MEMORY) i));
}
