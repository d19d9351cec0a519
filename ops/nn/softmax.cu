// softmax.cu - y = exp(x - max(x)) / sum(exp(x - max(x))), over the first `used` of n elements of a
// row, which is one team's (rows.cu); the others are 0. A row without any is uniform.

template <int N>
__device__ void softmax_row(const IN0 *x, OUT0 *y, long long n, long long used) {
  const row<N, IN0> v(x, n);
  W top;
  const W sum = row_exp_sum<N>(v, used, &top);
  const W scale = 1 / sum, none = used ? 0 : 1 / (W)n;
  row_put<N>(y, n,
             [&](int k, long long i) { return i < used ? exp(v(k, i) - top) * scale : none; });
}

// x is [rows, n] and lengths are those of `sample` rows each; of `causal` consecutive rows, row r
// sees r + 1 elements (0: all).
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    softmax(const IN0 *x,
#ifdef IN1
            const IN1 *length,
#endif
            OUT0 *y, long long rows, long long n, long long sample, long long causal) {
  const long long r = ROW;
  if (r >= rows) return;
  long long used = n;
#ifdef IN1
  used = length[gr_div(r, sample)];
  used = used < 0 ? 0 : used > n ? n : used;
#endif
  if (causal) {
    const long long seen = gr_mod(r, causal) + 1;
    used = used < seen ? used : seen;
  }
  x += r * n, y += r * n;
  if (gr_aligned(x) && gr_aligned(y))
    softmax_row<PACK>(x, y, n, used);
  else
    softmax_row<1>(x, y, n, used);
}
