// log_softmax_grad.cu - dx = dy - exp(y) sum(dy), for rows of n elements, one team (rows.cu) a row.

template <int N>
__device__ void log_softmax_grad_row(const IN0 *y, const IN1 *dy, OUT0 *dx, long long n) {
  const row<N, IN0> v(y, n);
  const row<N, IN1> d(dy, n);
  const W sum = row_sum<N>(n, [&](int k, long long i) { return d(k, i); });
  row_put<N>(dx, n, [&](int k, long long i) { return d(k, i) - exp(v(k, i)) * sum; });
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    log_softmax_grad(const IN0 *y, const IN1 *dy, OUT0 *dx, long long rows, long long n) {
  const long long r = ROW;
  if (r >= rows) return;
  y += r * n, dy += r * n, dx += r * n;
  if (gr_aligned(y) && gr_aligned(dy) && gr_aligned(dx))
    log_softmax_grad_row<PACK>(y, dy, dx, n);
  else
    log_softmax_grad_row<1>(y, dy, dx, n);
}
