// top_accuracy.cu - of each sample, how many labels are among the k largest logits, and how many
// labels count. One thread a sample. With a label that is no class both are NaN.

typedef gr_wide<IN0> W;

extern "C" __global__ void __launch_bounds__(128)
    top_accuracy(const IN0 *x, const IN1 *labels, OUT0 *right, OUT1 *weight, long long samples,
                 long long rows, long long n, long long k, long long ignored) {
  const long long sample = GR_FIRST;
  if (sample >= samples) return;
  W found = 0, count = 0;
  for (long long r = sample * rows; r < (sample + 1) * rows; r++) {
    const long long y = labels[r];
    if (y == ignored) continue;
    const bool valid = y >= 0 && y < n;
    long long before = 0;
    for (long long i = 0; valid && i < n; i++) {
      const W other = gr_get(x, r * n + i), own = gr_get(x, r * n + y);
      before += other > own || (other == own && i < y);
    }
    found += valid ? before < k : GR_NAN, count += valid ? 1 : GR_NAN;
  }
  gr_put(right, sample, found), gr_put(weight, sample, count);
}
