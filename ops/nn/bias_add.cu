// bias_add.cu - y[r, j] = COMBINE(x[r, j], v[j]), for rows of `row` elements: the sum, or the product
// (scale_columns). y may be x.

template <int N>
__device__ void bias_add_of(const IN0 *x, const IN1 *v, OUT0 *y, long long n, long long row) {
  typedef gr_wide<IN0> W;
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const gr_pack<IN0, N> a = gr_load<N>(x, i);
    const gr_pack<IN1, N> b = gr_load<N>(v, gr_mod(i, row));
    gr_pack<OUT0, N> out;
#pragma unroll
    for (int e = 0; e < N; e++)
      gr_put(out.at, e, COMBINE((W)gr_get(a.at, e), (W)gr_get(b.at, e)));
    gr_store(y, i, out);
  }
}

extern "C" __global__ void bias_add(const IN0 *x, const IN1 *v, OUT0 *y, long long n,
                                    long long row) {
  constexpr int PACK = 16 / sizeof(OUT0);
  if (row % PACK == 0 && gr_aligned(x) && gr_aligned(v) && gr_aligned(y))
    bias_add_of<PACK>(x, v, y, n, row);
  else
    bias_add_of<1>(x, v, y, n, row);
}
