// channel_sums.cu - sums over the rows of each group of samples, for each channel: SUMS terms of x
// [n, ..., c], of which there are these:
//
//   WEIGHTED   w x                               operands x, w [n]
//   SPREAD     w (x - mean)^2                    operands x, w [n], mean [groups, c]
//   GRADIENT   dy, and dy (x - mean) deviation   operands x, dy, mean, var [groups, c]
//
// A block of 256 threads adds a piece of 32 channels: eight threads below each other share the rows.
// A second kernel adds the pieces in their order.

typedef gr_wide<IN0> W;

#ifdef WEIGHTED
#define PARAMETERS const IN0 *x, const IN1 *w, OUT0 *y, OUT1 *
__device__ inline void terms(const IN0 *x, const IN1 *w, long long at, long long sample, long long,
                             W, W *a) {
  a[0] += (W)gr_get(w, sample) * (W)gr_get(x, at);
}
#define TERMS(at, sample, channel) terms(x, w, at, sample, channel, (W)eps, a)
#define RESULT(k) y
#endif

#ifdef SPREAD
#define PARAMETERS const IN0 *x, const IN1 *w, const IN2 *mean, OUT0 *y
__device__ inline void terms(const IN0 *x, const IN1 *w, const IN2 *mean, long long at,
                             long long sample, long long channel, W, W *a) {
  const W d = (W)gr_get(x, at) - (W)gr_get(mean, channel);
  a[0] += (W)gr_get(w, sample) * d * d;
}
#define TERMS(at, sample, channel) terms(x, w, mean, at, sample, channel, (W)eps, a)
#define RESULT(k) y
#endif

#ifdef GRADIENT
#define PARAMETERS                                                                      \
  const IN0 *x, const IN1 *dy, const IN2 *mean, const IN3 *var, OUT0 *of_dy, OUT1 *of_product
__device__ inline void terms(const IN0 *x, const IN1 *dy, const IN2 *mean, const IN3 *var,
                             long long at, long long, long long channel, W eps, W *a) {
  const W d = gr_get(dy, at);
  a[0] += d;
  a[1] += d * ((W)gr_get(x, at) - (W)gr_get(mean, channel)) / sqrt((W)gr_get(var, channel) + eps);
}
#define TERMS(at, sample, channel) terms(x, dy, mean, var, at, sample, channel, (W)eps, a)
#define RESULT(k) ((k) ? of_product : of_dy)
#endif

// scratch is [groups, pieces, SUMS, c].
extern "C" __global__ void __launch_bounds__(256, 1)
    channel_pieces(PARAMETERS, W *scratch, long long rows, long long c, long long sample_rows,
                   long long piece, long long pieces, double eps) {
  __shared__ W part[SUMS][256];
  const int lane = threadIdx.x % 32, above = threadIdx.x / 32;
  const long long tiles = gr_div(c + 31, 32), p = gr_div(blockIdx.x, tiles);
  const long long column = (blockIdx.x - p * tiles) * 32 + lane;
  const long long group = gr_div(p, pieces), first = (p - group * pieces) * piece;
  const long long end = rows - first < piece ? rows : first + piece;
  W a[SUMS] = {0};
  for (long long r = first + above; r < end && column < c; r += 8) {
    const long long row = group * rows + r;
    TERMS(row * c + column, gr_div(row, sample_rows), group * c + column);
  }
  for (int k = 0; k < SUMS; k++) part[k][threadIdx.x] = a[k];
  __syncthreads();
  if (above || column >= c) return;
  for (int k = 0; k < SUMS; k++) {
    for (int t = 1; t < 8; t++) a[k] += part[k][t * 32 + lane];
    scratch[(p * SUMS + k) * c + column] = a[k];
  }
}

extern "C" __global__ void channel_totals(PARAMETERS, W *scratch, long long groups, long long c,
                                          long long pieces) {
  const long long all = groups * SUMS * c;
  for (long long i = GR_FIRST; i < all; i += GR_ALL) {
    const long long group = gr_div(i, SUMS * c), at = i - group * SUMS * c, k = gr_div(at, c);
    W sum = 0;
    for (long long p = 0; p < pieces; p++) sum += scratch[(group * pieces + p) * SUMS * c + at];
    gr_put(RESULT(k), group * c + at - k * c, sum);
  }
}
