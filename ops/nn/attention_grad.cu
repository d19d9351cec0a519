// attention_grad.cu - the gradients of attention, from weights that are computed again for each
// tile: see attention_f32.c. One kernel passes over the keys of a tile of rows for dq, another over
// the rows of a tile of keys for dk and dv, so that each sum is one thread's and in one order.

// A warp for each row: the sum of y dy.
extern "C" __global__ void attention_delta(const IN0 *q, const IN1 *k, const IN2 *v, const IN3 *y,
                                           const IN4 *dy, const IN5 *lse,
                                           LENGTHS_OPERAND STEP_OPERAND OUT0 *dq, OUT1 *dk,
                                           OUT2 *dv, void *scratch, NUMBERS, long long rows) {
  const long long row = gr_div(GR_FIRST, 32);  // of [n, t, h]
  if (row >= rows) return;
  W sum = 0;
  for (long long c = threadIdx.x % 32; c < e; c += 32)
    sum += (W)gr_get(y, row * e + c) * (W)gr_get(dy, row * e + c);
  sum = gr_warp_sum(sum);
  const long long at = gr_div(row, heads), sample = gr_div(at, t);
  if (threadIdx.x % 32 == 0)
    ((W *)scratch)[(sample * heads + row - at * heads) * t + at - sample * t] = sum;
}

// Of a tile whose first key (or row) is a thread's p, and whose row (or key) is its q: turns scores
// into weights after dropout, and dy v' into the gradient of the scores.
struct gradient {
  const head &h;
  const IN5 *lse;
  const W *delta;
  __device__ void weigh(long long i, long long j, W *x, W *dw, unsigned word[4],
                        long long *at) const {
    const bool inside = i < h.t && j < h.seen(i);
    const W score = h.uniform ? (W)0 : *x * (W)h.scale;
    const W w = inside ? exp(score - (W)gr_get(lse, i)) : (W)0;
    const W m = inside && DROPS ? h.kept(i, j, word, at) : (W)1;
    *x = w * m;
    *dw = inside && !h.uniform ? w * (m * *dw - delta[i]) * (W)h.scale : (W)0;
  }
};
#define GRADIENT                                               \
  {                                                            \
    h, lse + (h.sample * heads + h.number) * t,                \
        (const W *)scratch + (h.sample * heads + h.number) * t \
  }

extern "C" __global__ void __launch_bounds__(256, 1)
    attention_rows(const IN0 *q, const IN1 *k, const IN2 *v, const IN3 *y, const IN4 *dy,
                   const IN5 *lse, LENGTHS_OPERAND STEP_OPERAND OUT0 *dq, OUT1 *dk, OUT2 *dv,
                   void *scratch, NUMBERS, long long tiles, long long parts) {
  alignas(16) __shared__ W memory[MEMORY];
  const long long part = gr_mod(blockIdx.x, parts), tile = gr_div(blockIdx.x, parts);
  const long long first = gr_mod(tile, tiles) * GR_TILE, column = part * COLS * GR_TILE;
  const head h = HEAD(gr_div(tile, tiles));
  const gradient g = GRADIENT;
  const reader<IN1> keys = h.rows(k, s, d);
  W sum[COLS][4][4] = {};
  const W by[4] = {1, 1, 1, 1};
  const long long last = first + GR_TILE < t ? first + GR_TILE : t, seen = h.seen(last - 1);
  for (long long from = 0; from < seen; from += GR_TILE) {
    W x[4][4] = {}, dw[4][4] = {};
    gr_tile(h.rows(q, t, d), keys, first, from, 0, d, memory, x);
    gr_tile(h.rows(dy, t, e), h.rows(v, s, e), first, from, 0, e, memory, dw);
#pragma unroll
    for (int p = 0; p < 4; p++) {
      unsigned word[4];
      long long at = -1;
#pragma unroll
      for (int c = 0; c < 4; c++)
        g.weigh(first + gr_tile_i(p), from + gr_tile_j(c), &x[p][c], &dw[p][c], word, &at);
    }
    put_tile(memory, dw);
    add_product(memory, keys, from, column, d, sum);
  }
  put_rows(dq, h, t, first, column, d, sum, by);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    attention_keys(const IN0 *q, const IN1 *k, const IN2 *v, const IN3 *y, const IN4 *dy,
                   const IN5 *lse, LENGTHS_OPERAND STEP_OPERAND OUT0 *dq, OUT1 *dk, OUT2 *dv,
                   void *scratch, NUMBERS, long long tiles, long long parts) {
  alignas(16) __shared__ W memory[MEMORY];
  const long long part = gr_mod(blockIdx.x, parts), tile = gr_div(blockIdx.x, parts);
  const long long first = gr_mod(tile, tiles) * GR_TILE, column = part * COLS * GR_TILE;
  const head h = HEAD(gr_div(tile, tiles));
  const gradient g = GRADIENT;
  const reader<IN0> queries = h.rows(q, t, d);
  const reader<IN4> results = h.rows(dy, t, e);
  W sum_k[COLS][4][4] = {}, sum_v[COLS][4][4] = {};
  const W by[4] = {1, 1, 1, 1};
  const long long end = first < h.keys ? t : 0;  // beyond the sample's length nothing is seen
  for (long long from = h.first_row(first); from < end; from += GR_TILE) {
    W x[4][4] = {}, dw[4][4] = {};
    gr_tile(h.rows(k, s, d), queries, first, from, 0, d, memory, x);
    gr_tile(h.rows(v, s, e), results, first, from, 0, e, memory, dw);
#pragma unroll
    for (int c = 0; c < 4; c++) {
      unsigned word[4];
      long long at = -1;
#pragma unroll
      for (int p = 0; p < 4; p++)
        g.weigh(from + gr_tile_j(c), first + gr_tile_i(p), &x[p][c], &dw[p][c], word, &at);
    }
    put_tile(memory, x);
    add_product(memory, results, from, column, e, sum_v);
    put_tile(memory, dw);
    add_product(memory, queries, from, column, d, sum_k);
  }
  put_rows(dk, h, s, first, column, d, sum_k, by);
  put_rows(dv, h, s, first, column, e, sum_v, by);
}
