// layer_norm.cu - y = (x - mean) / sqrt(variance + eps) gamma + beta, for rows of n elements, one
// team (rows.cu) a row. The variance is that of x - mean: a second pass, over registers.

template <int N>
__device__ void layer_norm_row(const IN0 *x, const IN1 *gamma, const IN2 *beta, OUT0 *y,
                               long long n, W eps) {
  const row<N, IN0> v(x, n);
  const W mean = row_sum<N>(n, [&](int k, long long i) { return v(k, i); }) / n;
  const W scale = 1 / sqrt(row_spread<N>(v, n, mean) / n + eps);
  const row<N, IN1> g(gamma, n);
  const row<N, IN2> b(beta, n);
  row_put<N>(y, n,
             [&](int k, long long i) { return (v(k, i) - mean) * scale * g(k, i) + b(k, i); });
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    layer_norm(const IN0 *x, const IN1 *gamma, const IN2 *beta, OUT0 *y, long long rows,
               long long n, double eps) {
  const long long r = ROW;
  if (r >= rows) return;
  x += r * n, y += r * n;
  if (gr_aligned(x) && gr_aligned(gamma) && gr_aligned(beta) && gr_aligned(y))
    layer_norm_row<PACK>(x, gamma, beta, y, n, (W)eps);
  else
    layer_norm_row<1>(x, gamma, beta, y, n, (W)eps);
}
