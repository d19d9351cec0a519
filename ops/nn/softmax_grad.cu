// softmax_grad.cu - dx = y (dy - sum(y dy)), for rows of n elements, one team (rows.cu) a row; 0
// for the rows of samples of length 0, which are uniform.

template <int N>
__device__ void softmax_grad_row(const IN0 *y, const IN1 *dy, OUT0 *dx, long long n, W on) {
  const row<N, IN0> p(y, n);
  const row<N, IN1> d(dy, n);
  const W sum = row_sum<N>(n, [&](int k, long long i) { return p(k, i) * d(k, i); });
  row_put<N>(dx, n, [&](int k, long long i) { return on * p(k, i) * (d(k, i) - sum); });
}

// lengths are those of `sample` rows each.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    softmax_grad(const IN0 *y, const IN1 *dy,
#ifdef IN2
                 const IN2 *length,
#endif
                 OUT0 *dx, long long rows, long long n, long long sample) {
  const long long r = ROW;
  if (r >= rows) return;
  W on = 1;
#ifdef IN2
  on = length[gr_div(r, sample)] > 0;
#endif
  y += r * n, dy += r * n, dx += r * n;
  if (gr_aligned(y) && gr_aligned(dy) && gr_aligned(dx))
    softmax_grad_row<PACK>(y, dy, dx, n, on);
  else
    softmax_grad_row<1>(y, dy, dx, n, on);
}
