// mse.cu - the sum of (x - y)^2 over each piece of a sample's n elements, one block a piece, and
// the number of elements. score.cu adds them up.

typedef gr_wide<IN0> W;

// scratch is [samples, pieces, 2].
extern "C" __global__ void __launch_bounds__(256)
    squared_errors(const IN0 *x, const IN1 *y, OUT0 *, OUT1 *, W *scratch, long long n,
                   long long piece, long long pieces) {
  const long long p = blockIdx.x, sample = gr_div(p, pieces), from = (p - sample * pieces) * piece;
  const long long end = from + piece < n ? from + piece : n;
  W a = 0;
  for (long long i = sample * n + from + threadIdx.x; i < sample * n + end; i += blockDim.x) {
    const W d = (W)gr_get(x, i) - (W)gr_get(y, i);
    a += d * d;
  }
  a = gr_block_sum(a);
  if (threadIdx.x == 0) scratch[p * 2] = a, scratch[p * 2 + 1] = (W)(end - from);
}
