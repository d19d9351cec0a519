// argmax.cu - the index of the first largest of n elements of each row, one team (rows.cu) a row.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    argmax(const IN0 *x, OUT0 *y, long long rows, long long n) {
  const long long r = ROW;
  if (r >= rows) return;
  x += r * n;
  const W best = gr_aligned(x) ? row_first_largest<PACK>(x, n) : row_first_largest<1>(x, n);
  if (LANE == 0) y[r] = (OUT0)best;
}
