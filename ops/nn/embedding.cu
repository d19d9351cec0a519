// embedding.cu - lookup of rows of a table, and its gradient.
//
// An id that is no row of the table gives a row of NaN (all bits set, -1 of integers), because a
// kernel cannot fail; in the gradient it counts for nothing.

#ifndef GRAD
// y[i, :] = table[id[i], :], a warp per row. UNIT is the widest type of which a row has `units`.
extern "C" __global__ void embedding(const IN0 *table, const IN1 *id, OUT0 *y, long long n,
                                     long long rows, long long units) {
  unsigned char *to = (unsigned char *)y;
  const UNIT *from = (const UNIT *)table;
  for (long long i = GR_FIRST / 32; i < n; i += GR_ALL / 32) {
    long long row = gr_get(id, i);
    bool is = row >= 0 && row < rows;
    UNIT none;
    for (unsigned b = 0; b < sizeof none; b++) ((unsigned char *)&none)[b] = 0xff;
    for (long long u = threadIdx.x % 32; u < units; u += 32)
      ((UNIT *)to)[i * units + u] = is ? from[row * units + u] : none;
  }
}
#else

// The gradient adds up the rows of dy by id, in their order, without atomics. First every block
// writes the numbers i of its own range of the table's rows to a list, in order:
//
//   start[b]                        where the list of block b starts; start[blocks]: its end
//   list[start[b] .. start[b + 1])  the i whose id is in [b * range, (b + 1) * range)
//
// For that it reads all ids twice, which is less than a radix sort reads and writes for tables that
// are trained.
extern "C" __global__ void embedding_grad_lists(const IN0 *dy, const IN1 *id, OUT0 *dtable,
                                                void *scratch, long long n, long long range) {
  __shared__ int in_warp[32];
  int *start = (int *)scratch, *list = start + gridDim.x + 1;
  long long from = blockIdx.x * range, to = from + range;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, at = 0;
  for (long long i = threadIdx.x; i - threadIdx.x < n; i += blockDim.x)
    at += __syncthreads_count(i < n && gr_get(id, i) >= 0 && gr_get(id, i) < from);
  if (threadIdx.x == 0) start[blockIdx.x] = at;
  for (long long i = threadIdx.x; i - threadIdx.x < n; i += blockDim.x) {
    bool is = i < n && gr_get(id, i) >= from && gr_get(id, i) < to;
    unsigned mask = __ballot_sync(0xffffffffu, is);
    if (lane == 0) in_warp[warp] = __popc(mask);
    __syncthreads();
    int before = at + __popc(mask & ((1u << lane) - 1));
    for (int w = 0; w < warps; w++) {
      before += w < warp ? in_warp[w] : 0;
      at += in_warp[w];
    }
    if (is) list[before] = (int)i;
    __syncthreads();
  }
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) start[gridDim.x] = at;
}

// dtable[row, :] is the sum of dy[i, :] over the i of the row: a warp for 128 columns of a row.
extern "C" __global__ void embedding_grad(const IN0 *dy, const IN1 *id, OUT0 *dtable,
                                          void *scratch, long long rows, long long c,
                                          long long range, long long blocks) {
  typedef gr_wide<IN0> W;
  enum { WIDE = 4 };
  const int *start = (const int *)scratch, *list = start + blocks + 1;
  long long tiles = (c + 32 * WIDE - 1) / (32 * WIDE), lane = threadIdx.x % 32;
  for (long long job = GR_FIRST / 32; job < rows * tiles; job += GR_ALL / 32) {
    long long row = gr_div(job, tiles), column = (job - row * tiles) * 32 * WIDE + lane;
    int end = start[row / range + 1];
    W sum[WIDE] = {};
    for (int at = start[row / range]; at < end; at += 32) {
      int mine = at + (int)lane < end ? list[at + lane] : -1;
      unsigned mask = __ballot_sync(0xffffffffu, mine >= 0 && gr_get(id, mine) == row);
      while (mask) {
        int from = __ffs(mask) - 1;
        const long long i = __shfl_sync(0xffffffffu, mine, from);
        for (int k = 0; k < WIDE; k++)
          if (column + 32 * k < c) sum[k] += gr_get(dy, i * c + column + 32 * k);
        mask &= mask - 1;
      }
    }
    for (int k = 0; k < WIDE; k++)
      if (column + 32 * k < c) gr_put(dtable, row * c + column + 32 * k, sum[k]);
  }
}
#endif
