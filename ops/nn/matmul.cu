// matmul.cu - a product that is summed over a batch of operands of which one is not stored so that
// the sum is a single product: z[i, j] = sum over (b k) of x[b, i, k] y[b, k, j]. TA, TB: x is
// [b, k, m], y is [b, n, k]. The sum over (b k) is cut into parts, which are added in order.
typedef gr_wide<IN0> W;

struct operand {
  long long rows, k, step, of_row, of_k;  // elements from matrix, row and k to the next
  const IN0 *x;
};

template <int fast_k> struct reader {
  enum { along_k = fast_k };
  typedef const IN0 *row;
  operand o;
  __device__ row at(long long r) const { return r < o.rows ? o.x + r * o.of_row : nullptr; }
  __device__ W get(row r, long long k) const {
    long long b = gr_div(k, o.k);
    return r ? gr_get(r, b * o.step + (k - b * o.k) * o.of_k) : (W)0;
  }
};

extern "C" __global__ void matmul_sum(const IN0 *x, const IN0 *y, OUT0 *z, void *scratch,
                                      long long m, long long n, long long k, long long batch,
                                      long long share, long long parts) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  reader<!TA> a{{m, k, m * k, TA ? 1 : k, TA ? m : 1, x}};
  reader<TB> b{{n, k, n * k, TB ? k : 1, TB ? 1 : n, y}};
  long long across = (n + GR_TILE - 1) / GR_TILE, tile = blockIdx.x / parts;
  long long part = blockIdx.x % parts, from = part * share, end = from + share;
  long long i = tile / across * GR_TILE, j = tile % across * GR_TILE;
  gr_tile(a, b, i, j, from, end < batch * k ? end : batch * k, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++)
      if (i + gr_tile_i(p) < m && j + gr_tile_j(q) < n)
        ((W *)scratch)[(part * m + i + gr_tile_i(p)) * n + j + gr_tile_j(q)] = sum[p][q];
}

extern "C" __global__ void matmul_add_parts(const IN0 *x, const IN0 *y, OUT0 *z, void *scratch,
                                            long long size, long long parts) {
  for (long long i = GR_FIRST; i < size; i += GR_ALL) {
    W sum = 0;
    for (long long p = 0; p < parts; p++) sum += ((const W *)scratch)[p * size + i];
    gr_put(z, i, sum);
  }
}
