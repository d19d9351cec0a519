// sample_sum.cu - the sum of n elements of each sample, and n: one block a sample.
extern "C" __global__ void __launch_bounds__(256)
    sample_sum(const IN0 *x, OUT0 *sum, OUT1 *count, long long n) {
  const long long sample = blockIdx.x;
  gr_wide<IN0> a = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) a += gr_get(x, sample * n + i);
  a = gr_block_sum(a);
  if (threadIdx.x == 0) gr_put(sum, sample, a), gr_put(count, sample, n);
}
