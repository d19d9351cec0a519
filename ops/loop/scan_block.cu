// scan_block.cu - what the kernels of loops in one block share: see scan_block_text.c.

// Kernels' functions are not inlined, for else the compiler computes indices for all of them ahead of
// the loop, and has no registers for that. Their block is 0 of 1, or as loop_block says.
#undef gr_member
#define gr_member __device__ __noinline__
#undef GR_FIRST
#undef GR_ALL
#define GR_FIRST ((long long)gr_member_block.x * gr_member_dim.x + threadIdx.x)
#define GR_ALL ((long long)gr_member_grid.x * gr_member_dim.x)

// An address that is an operand, a result or working memory of a kernel's function.
struct loop_at {
  const void *at;
  template <class T> __device__ operator T *() const { return (T *)at; }
};

// The threads of a kernel with fewer of them than the block, of which the others do nothing.
template <unsigned N> struct loop_threads {
  static constexpr unsigned x = N;
};

// The block is now block b of n of a kernel.
__device__ inline void loop_block(unsigned b, unsigned n) {
  __syncthreads();
  if (threadIdx.x == 0) gr_member_block.x = b, gr_member_grid.x = n;
  __syncthreads();
}

// Copies bytes, or sets them to 0.
gr_member void loop_copy(const void *to, const void *from, long long bytes) {
  const bool wide = ((unsigned long long)to | (unsigned long long)from) % 16 == 0;
  const long long whole = wide ? bytes / 16 : 0;
  for (long long i = GR_FIRST; i < whole; i += blockDim.x)
    ((uint4 *)to)[i] = from ? ((const uint4 *)from)[i] : uint4{0, 0, 0, 0};
  for (long long i = 16 * whole + GR_FIRST; i < bytes; i += blockDim.x)
    ((char *)to)[i] = from ? ((const char *)from)[i] : 0;
}

// One of `batch` products; see gr_gpu_gemm. A thread has a column of ROWS rows, whose sums are in
// the order of k. `bias` may be NULL.
template <class IN, class OUT, class W, bool TA, bool TB, bool RELU>
gr_member void loop_product(loop_at left, loop_at right, loop_at to, loop_at added, int m, int n,
                            int k, int batch, int lda, int ldb, int ldc, int sa, int sb, int sc) {
  constexpr int ROWS = 4;
  const IN *a = left, *b = right;
  const OUT *bias = added;
  OUT *c = to;
  const int tiles = (m + ROWS - 1) / ROWS * n;
  for (int i = (int)GR_FIRST; i < tiles * batch; i += blockDim.x) {
    const int which = i / tiles, tile = i % tiles, top = tile / n * ROWS, column = tile % n;
    const IN *x = a + which * sa, *y = b + which * sb;
    W sum[ROWS] = {};
#pragma unroll 4
    for (int l = 0; l < k; l++) {
      const W w = gr_get(y, TB ? column * ldb + l : l * ldb + column);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const int row = top + r < m ? top + r : m - 1;
        sum[r] += (W)gr_get(x, TA ? l * lda + row : row * lda + l) * w;
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      W v = sum[r] + (bias ? (W)gr_get(bias, column) : (W)0);
      if (RELU && v < 0) v = 0;
      if (top + r < m) gr_put(c, which * sc + (top + r) * ldc + column, v);
    }
  }
}
