// score.cu - the last kernel of scores: a warp adds the pairs of a sample, scratch [samples, n, 2],
// into the sample's two results. W is defined before.

extern "C" __global__ void __launch_bounds__(128)
    sum_pairs(const IN0 *, const IN1 *,
#ifdef IN2
              const IN2 *,
#endif
              OUT0 *first, OUT1 *second, const W *scratch, long long samples, long long n) {
  const long long sample = GR_FIRST / 32;
  if (sample >= samples) return;
  const W *pair = scratch + sample * n * 2;
  W a = 0, b = 0;
  for (long long i = threadIdx.x % 32; i < n; i += 32) a += pair[i * 2], b += pair[i * 2 + 1];
  a = gr_warp_sum(a), b = gr_warp_sum(b);
  if (threadIdx.x % 32 == 0) gr_put(first, sample, a), gr_put(second, sample, b);
}
