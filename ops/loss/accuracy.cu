// accuracy.cu - whether the first largest logit of each row of n is the label's, and whether the
// row counts, one team (rows.cu) a row. score.cu adds them up. With a label that is no class both are
// NaN.

// scratch is [rows, 2].
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    accuracy(const IN0 *x, const IN1 *labels, OUT0 *, OUT1 *, W *scratch, long long rows,
             long long n, long long ignored) {
  const long long r = ROW;
  if (r >= rows) return;
  const long long label = labels[r];
  x += r * n;
  const W best = gr_aligned(x) ? row_first_largest<PACK>(x, n) : row_first_largest<1>(x, n);
  if (LANE) return;
  const W counts = label == ignored ? 0 : label >= 0 && label < n ? 1 : GR_NAN;
  scratch[r * 2] = counts * (best == label), scratch[r * 2 + 1] = counts;
}
