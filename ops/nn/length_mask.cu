// length_mask.cu - y [samples, steps]: 1 where the step is below the sample's length, else 0.

extern "C" __global__ void length_mask(const IN0 *length, OUT0 *y, long long n, long long steps) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long sample = gr_div(i, steps);
    gr_put(y, i, i - sample * steps < length[sample]);
  }
}
