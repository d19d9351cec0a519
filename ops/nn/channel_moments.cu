// channel_moments.cu - sums of each channel and squares about their mean, in one reading of x
// [n, ..., c] (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979).
//
// A thread reads ROWS rows at a time, of which it has the mean and the squares about that in
// registers, and joins them with those before. A block of 256 threads has a piece of 32 channels:
// eight threads below each other share the rows. A second kernel joins the pieces in their order.

typedef gr_wide<IN0> W;

#ifdef SHIFT
extern "C" __global__ void channel_shift(const IN0 *sum, const IN1 *count, const IN2 *squares,
                                         const IN3 *mean, OUT0 *y, long long n, long long groups) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W total = 0;
    for (long long g = 0; g < groups; g++) {
      const W rows = gr_get(count, g);
      const W d = rows > 0 ? (W)gr_get(sum, g * n + i) / rows - (W)gr_get(mean, i) : (W)0;
      total += (W)gr_get(squares, g * n + i) + rows * d * d;
    }
    gr_put(y, i, total);
  }
}
#else

// The weight of rows, their sum, and the squares about their mean.
struct moments {
  W n, sum, squares;
  __device__ void join(W m, W other, W more) {
    if (!(m > 0)) return;
    const W d = n > 0 ? sum / n - other / m : (W)0;
    squares += more + (n > 0 ? d * d * (n / (n + m)) * m : (W)0);
    n += m, sum += other;
  }
};

// scratch is [groups, pieces, 3, c].
extern "C" __global__ void __launch_bounds__(256, 1)
    moment_pieces(const IN0 *x, const IN1 *w, OUT0 *, OUT1 *, OUT2 *, W *scratch, long long rows,
                  long long c, long long sample_rows, long long piece, long long pieces) {
  constexpr int ROWS = 8;
  __shared__ W part[3][256];
  const int lane = threadIdx.x % 32, above = threadIdx.x / 32;
  const long long tiles = gr_div(c + 31, 32), p = gr_div(blockIdx.x, tiles);
  const long long column = (blockIdx.x - p * tiles) * 32 + lane;
  const long long group = gr_div(p, pieces), first = (p - group * pieces) * piece;
  const long long end = rows - first < piece ? rows : first + piece;
  moments a = {0, 0, 0};
  for (long long r = first + above; r < end && column < c; r += 8 * ROWS) {
    W value[ROWS], weight[ROWS], n = 0, sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const long long row = group * rows + r + 8 * k;
      const bool there = r + 8 * k < end;
      weight[k] = there ? (W)gr_get(w, gr_div(row, sample_rows)) : (W)0;
      value[k] = there ? (W)gr_get(x, row * c + column) : (W)0;
      n += weight[k], sum += weight[k] * value[k];
    }
    const W mean = n > 0 ? sum / n : (W)0;
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      squares += weight[k] * (value[k] - mean) * (value[k] - mean);
    a.join(n, sum, squares);
  }
  part[0][threadIdx.x] = a.n, part[1][threadIdx.x] = a.sum, part[2][threadIdx.x] = a.squares;
  __syncthreads();
  if (above || column >= c) return;
  for (int t = 32; t < 256; t += 32) a.join(part[0][t + lane], part[1][t + lane], part[2][t + lane]);
  scratch[(p * 3 + 0) * c + column] = a.n;
  scratch[(p * 3 + 1) * c + column] = a.sum;
  scratch[(p * 3 + 2) * c + column] = a.squares;
}

extern "C" __global__ void moment_totals(const IN0 *, const IN1 *, OUT0 *sum, OUT1 *count,
                                         OUT2 *squares, W *scratch, long long groups, long long c,
                                         long long pieces) {
  for (long long i = GR_FIRST; i < groups * c; i += GR_ALL) {
    const long long group = gr_div(i, c), column = i - group * c;
    moments a = {0, 0, 0};
    for (long long p = group * pieces; p < (group + 1) * pieces; p++)
      a.join(scratch[(p * 3 + 0) * c + column], scratch[(p * 3 + 1) * c + column],
             scratch[(p * 3 + 2) * c + column]);
    gr_put(sum, i, a.sum), gr_put(squares, i, a.squares);
    if (!column) gr_put(count, group, a.n);
  }
}
#endif
