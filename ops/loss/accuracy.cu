// accuracy.cu - whether the first largest logit of each row of n is the label's, and whether the
// row counts, one team (rows.cu) a row. score.cu adds them up. As in the reference, NaN is not
// larger than anything, and nothing is larger than NaN in the first place; with a label that is no
// class both are NaN.

template <int N>
__device__ W first_largest(const IN0 *x, long long n) {
  const row<N, IN0> v(x, n);
  const auto value = [&](int k, long long i) -> W {
    const W a = v(k, i);
    return a == a ? a : i ? -GR_INFINITY : GR_INFINITY;
  };
  const W top = row_max<N>(n, value);
  return -row_max<N>(
      n, [&](int k, long long i) -> W { return value(k, i) == top ? -(W)i : -GR_INFINITY; });
}

// scratch is [rows, 2].
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    accuracy(const IN0 *x, const IN1 *labels, OUT0 *, OUT1 *, W *scratch, long long rows,
             long long n, long long ignored) {
  const long long r = ROW;
  if (r >= rows) return;
  const long long label = labels[r];
  x += r * n;
  const W best = gr_aligned(x) ? first_largest<PACK>(x, n) : first_largest<1>(x, n);
  if (LANE) return;
  const W counts = label == ignored ? 0 : label >= 0 && label < n ? 1 : GR_NAN;
  scratch[r * 2] = counts * (best == label), scratch[r * 2 + 1] = counts;
}
