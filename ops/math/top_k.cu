// top_k.cu - the `many` largest of n elements of each row, one team (rows.cu) a row: in each round the
// largest of those that come after the one before, by value and then by index.

template <int N>
__device__ void top_k_row(const IN0 *x, OUT0 *y, OUT1 *index, long long n, long long many) {
  const row<N, IN0> v(x, n);
  W before = GR_INFINITY, at = -1;
  for (long long j = 0; j < many; j++) {
    const auto is_left = [&](W a, long long i) { return a < before || (a == before && i > at); };
    const auto value = [&](int k, long long i) -> W {
      const W a = v(k, i);
      return a == a ? a : -GR_INFINITY;
    };
    const W top = row_max<N>(n, [&](int k, long long i) -> W {
      const W a = value(k, i);
      return is_left(a, i) ? a : -GR_INFINITY;
    });
    const W first = -row_max<N>(n, [&](int k, long long i) -> W {
      const W a = value(k, i);
      return a == top && is_left(a, i) ? -(W)i : -GR_INFINITY;
    });
    before = top, at = first;
    if (LANE == 0) y[j] = x[(long long)at], index[j] = (OUT1)at;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    top_k(const IN0 *x, OUT0 *y, OUT1 *index, long long rows, long long n, long long many) {
  const long long r = ROW;
  if (r >= rows) return;
  x += r * n, y += r * many, index += r * many;
  if (gr_aligned(x))
    top_k_row<PACK>(x, y, index, n, many);
  else
    top_k_row<1>(x, y, index, n, many);
}
