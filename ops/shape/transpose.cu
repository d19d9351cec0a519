// transpose.cu - y is x with its axes in another order. Axes that stay neighbours are one here, and
// those of size 1 are none. EACH_AXIS(F) is F(0) F(1) ... for AXES axes in the order of y; a stride
// is the distance, in x or y, of neighbours along an axis.

#define NUMBERS(name) EACH_AXIS(name##_PARAMETER)
#define SIZE_PARAMETER(d) , long long size##d
#define FROM_PARAMETER(d) , long long from##d
#define TO_PARAMETER(d) , long long to##d
#define SIZE(d) size##d,
#define FROM(d) from##d,
#define TO(d) to##d,

// ---- Elements of y one after the other: the last axis stays last, or an axis is short --------

template <int N>
__device__ void permute_of(const IN0 *x, OUT0 *y, long long n, const gr_axes<AXES> &from) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N)
    gr_store(y, i, gr_load<N>(x, gr_place(from, i)));
}

extern "C" __global__ void permute(const IN0 *x, OUT0 *y, long long n NUMBERS(SIZE) NUMBERS(FROM)) {
  constexpr int PACK = 16 / sizeof(OUT0);
  const gr_axes<AXES> from = {{EACH_AXIS(SIZE)}, {EACH_AXIS(FROM)}};
  const bool rows = from.stride[AXES - 1] == 1 && from.size[AXES - 1] % PACK == 0;
  if (rows && gr_aligned(x) && gr_aligned(y))
    permute_of<PACK>(x, y, n, from);
  else
    permute_of<1>(x, y, n, from);
}

// ---- Tiles: both sides read and write neighbours ---------------------------------------------
// A batch, along the axes, of matrices: y[b, a] = x[a, b]. Rows of x are x_row apart, those of y
// y_row. A block moves one tile at a time through shared memory.

constexpr int TILE = sizeof(IN0) < 4 ? 64 : 32;

extern "C" __global__ void __launch_bounds__(256)
    transpose(const IN0 *x, OUT0 *y, long long tiles, long long a, long long b, long long x_row,
              long long y_row NUMBERS(SIZE) NUMBERS(FROM) NUMBERS(TO)) {
  __shared__ IN0 tile[TILE][TILE + 1];
  const gr_axes<AXES> from = {{EACH_AXIS(SIZE)}, {EACH_AXIS(FROM)}};
  const gr_axes<AXES> to = {{EACH_AXIS(SIZE)}, {EACH_AXIS(TO)}};
  const long long across = gr_div(b + TILE - 1, TILE), each = gr_div(a + TILE - 1, TILE) * across;
  const int column = threadIdx.x % TILE, above = threadIdx.x / TILE, height = 256 / TILE;
  for (long long t = blockIdx.x; t < tiles; t += gridDim.x) {
    const long long batch = gr_div(t, each), in_batch = t - batch * each;
    const long long a0 = gr_div(in_batch, across) * TILE, b0 = gr_mod(in_batch, across) * TILE;
    const IN0 *matrix = x + gr_place(from, batch) + a0 * x_row + b0;
    OUT0 *result = y + gr_place(to, batch) + b0 * y_row + a0;
    __syncthreads();
    for (int k = above; k < TILE && a0 + k < a; k += height)
      if (b0 + column < b) tile[k][column] = matrix[k * x_row + column];
    __syncthreads();
    for (int k = above; k < TILE && b0 + k < b; k += height)
      if (a0 + column < a) result[k * y_row + column] = tile[column][k];
  }
}
