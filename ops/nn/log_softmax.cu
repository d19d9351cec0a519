// log_softmax.cu - y = x - log(sum(exp(x))), for rows of n elements, one team (rows.cu) a row.

template <int N>
__device__ void log_softmax_row(const IN0 *x, OUT0 *y, long long n) {
  const row<N, IN0> v(x, n);
  W top;
  const W log_sum = log(row_exp_sum<N>(v, n, &top));
  row_put<N>(y, n, [&](int k, long long i) { return v(k, i) - top - log_sum; });
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    log_softmax(const IN0 *x, OUT0 *y, long long rows, long long n) {
  const long long r = ROW;
  if (r >= rows) return;
  x += r * n, y += r * n;
  if (gr_aligned(x) && gr_aligned(y))
    log_softmax_row<PACK>(x, y, n);
  else
    log_softmax_row<1>(x, y, n);
}
