// cumsum.cu - running sums of lines of n elements at a distance of `inner`, a thread for each line:
// sums along time, of many samples.
extern "C" __global__ void cumsum(const IN0 *x, OUT0 *y, long long lines, long long n,
                                  long long inner, long long reverse) {
  for (long long k = GR_FIRST; k < lines; k += GR_ALL) {
    const long long box = gr_div(k, inner), from = box * n * inner + k - box * inner;
    gr_wide<IN0> sum = 0;
    for (long long i = 0; i < n; i++) {
      const long long at = from + (reverse ? n - 1 - i : i) * inner;
      gr_put(y, at, sum += gr_get(x, at));
    }
  }
}
