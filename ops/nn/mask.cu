// mask.cu - y = x [samples, steps, frame] with zeros in steps at and beyond the sample's length. y
// may be x.

template <int N>
__device__ void mask_of(const IN0 *x, const IN1 *length, OUT0 *y, long long n, long long steps,
                        long long frame) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const long long at = gr_div(i, frame), sample = gr_div(at, steps);
    gr_pack<OUT0, N> v = {};
    if (at - sample * steps < length[sample]) v = gr_load<N>(x, i);
    gr_store(y, i, v);
  }
}

extern "C" __global__ void mask(const IN0 *x, const IN1 *length, OUT0 *y, long long n,
                                long long steps, long long frame) {
  constexpr int PACK = 16 / sizeof(OUT0);
  if (frame % PACK == 0 && gr_aligned(x) && gr_aligned(y))
    mask_of<PACK>(x, length, y, n, steps, frame);
  else
    mask_of<1>(x, length, y, n, steps, frame);
}
