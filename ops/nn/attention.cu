// attention.cu - attention forward: a block has a tile of rows of one head and passes over its
// keys, with the maximum and the sum of each row so far (online softmax; Dao et al., 2022). Wide
// values are divided among `parts` blocks.

extern "C" __global__ void __launch_bounds__(256, 1)
    attention(const IN0 *q, const IN1 *k, const IN2 *v, LENGTHS_OPERAND STEP_OPERAND OUT0 *y,
#ifdef OUT1
              OUT1 *lse,
#endif
#ifdef SCRATCH
              void *scratch,
#endif
              NUMBERS, long long tiles, long long parts) {
  alignas(16) __shared__ W memory[MEMORY];
  const long long part = gr_mod(blockIdx.x, parts), tile = gr_div(blockIdx.x, parts);
  const long long first = gr_mod(tile, tiles) * GR_TILE, column = part * COLS * GR_TILE;
  const head h = HEAD(gr_div(tile, tiles));
  const reader<IN0> queries = h.rows(q, t, d);
  const reader<IN1> keys = h.rows(k, s, d);
  const reader<IN2> values = h.rows(v, s, e);
  W sum[COLS][4][4] = {}, top[4], total[4] = {};
#pragma unroll
  for (int p = 0; p < 4; p++) top[p] = -GR_INFINITY;
  const long long last = first + GR_TILE < t ? first + GR_TILE : t, seen = h.seen(last - 1);
  for (long long from = 0; from < seen; from += GR_TILE) {
    W x[4][4] = {};
    gr_tile(queries, keys, first, from, 0, d, memory, x);
#pragma unroll
    for (int p = 0; p < 4; p++) {
      const long long i = first + gr_tile_i(p), n = h.seen(i);
      W most = top[p];
#pragma unroll
      for (int c = 0; c < 4; c++) {
        x[p][c] = h.uniform ? (W)0 : x[p][c] * (W)scale;
        if (from + gr_tile_j(c) < n && x[p][c] > most) most = x[p][c];
      }
      most = across_max(most);
      const W by = top[p] == most ? (W)1 : exp(top[p] - most);
      total[p] *= by, top[p] = most;
#pragma unroll
      for (int c = 0; c < COLS; c++)
#pragma unroll
        for (int b = 0; b < 4; b++) sum[c][p][b] *= by;
      unsigned word[4];
      long long at = -1;
#pragma unroll
      for (int c = 0; c < 4; c++) {
        const long long j = from + gr_tile_j(c);
        x[p][c] = j < n ? exp(x[p][c] - most) : (W)0;
        total[p] += x[p][c];
        if (DROPS && j < n) x[p][c] *= h.kept(i, j, word, &at);
      }
    }
    put_tile(memory, x);
    add_product(memory, values, from, column, e, sum);
  }
  W by[4];
#pragma unroll
  for (int p = 0; p < 4; p++) {
    total[p] = across_sum(total[p]);
    by[p] = 1 / total[p];
#ifdef OUT1
    const long long i = first + gr_tile_i(p);
    if (!part && threadIdx.x % 16 == 0 && i < t)
      gr_put(lse, (h.sample * heads + h.number) * t + i, top[p] + log(total[p]));
#endif
  }
  put_rows(y, h, t, first, column, e, sum, by);
}
