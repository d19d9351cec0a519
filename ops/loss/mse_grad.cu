// mse_grad.cu - dx = 2 (x - y) dy, with one dy for each sample of `sample` elements. dx may be x.

template <int N>
__device__ void mse_grad_of(const IN0 *x, const IN1 *y, const IN2 *dy, OUT0 *dx, long long n,
                            long long sample) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const gr_pack<IN0, N> a = gr_load<N>(x, i);
    const gr_pack<IN1, N> b = gr_load<N>(y, i);
    const gr_wide<IN0> d = 2 * gr_get(dy, gr_div(i, sample));
    gr_pack<OUT0, N> out;
#pragma unroll
    for (int e = 0; e < N; e++) gr_put(out.at, e, (gr_get(a.at, e) - gr_get(b.at, e)) * d);
    gr_store(dx, i, out);
  }
}

extern "C" __global__ void mse_grad(const IN0 *x, const IN1 *y, const IN2 *dy, OUT0 *dx,
                                    long long n, long long sample) {
  constexpr int PACK = 16 / sizeof(OUT0);
  if (sample % PACK == 0 && gr_aligned(x) && gr_aligned(y) && gr_aligned(dx))
    mse_grad_of<PACK>(x, y, dy, dx, n, sample);
  else
    mse_grad_of<1>(x, y, dy, dx, n, sample);
}
