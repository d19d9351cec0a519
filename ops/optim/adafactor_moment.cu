// adafactor_moment.cu - see adafactor_moment.c: the sums of squares.
typedef gr_wide<IN0> W;

// The sum of the squares of each row of g [matrices, rows, columns]: a warp per row.
extern "C" __global__ void adafactor_rows(const IN0 *g, OUT0 *row, OUT1 *column, void *scratch,
                                          long long n, long long columns) {
  for (long long r = GR_FIRST / 32; r < n; r += GR_ALL / 32) {
    W sum = 0;
    for (long long c = threadIdx.x % 32; c < columns; c += 32) {
      W x = gr_get(g, r * columns + c);
      sum += x * x;
    }
    sum = gr_warp_sum(sum);
    if (threadIdx.x % 32 == 0) gr_put(row, r, sum);
  }
}

// scratch[part, matrix, column]: that of `share` rows of each column. A block of 8 warps for 32
// columns: a warp takes every eighth row.
extern "C" __global__ void adafactor_columns(const IN0 *g, OUT0 *row, OUT1 *column, void *scratch,
                                             long long matrices, long long rows, long long columns,
                                             long long share, long long parts) {
  __shared__ W sum[8][33];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  long long tiles = (columns + 31) / 32, job = blockIdx.x / parts, part = blockIdx.x % parts;
  long long matrix = job / tiles, c = job % tiles * 32 + lane;
  long long end = (part + 1) * share < rows ? (part + 1) * share : rows;
  W mine = 0;
  for (long long r = part * share + warp; r < end && c < columns; r += 8) {
    W x = gr_get(g, (matrix * rows + r) * columns + c);
    mine += x * x;
  }
  sum[warp][lane] = mine;
  __syncthreads();
  if (warp || c >= columns) return;
  for (int w = 1; w < 8; w++) mine += sum[w][lane];
  ((W *)scratch)[(part * matrices + matrix) * columns + c] = mine;
}

extern "C" __global__ void adafactor_add_parts(const IN0 *g, OUT0 *row, OUT1 *column,
                                               void *scratch, long long n, long long parts) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W sum = 0;
    for (long long p = 0; p < parts; p++) sum += ((const W *)scratch)[p * n + i];
    gr_put(column, i, sum);
  }
}
