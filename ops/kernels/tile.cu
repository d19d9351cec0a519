// tile.cu - products of matrices whose elements are computed where they are read: convolutions
// without a copy of their patches (implicit GEMM), and products that are summed over a batch. It is
// put before the text of the kernels that use it.
//
// A block of 256 threads makes a tile of 64 by 64 of c[i, j] = sum over k of a(i, k) b(k, j), each
// thread 4 by 4 of it in registers, from slabs of 16 of k that pass through shared memory. Every
// element is one sum in the order of k.
//
// An operand is a struct with
//   along_k   whether elements that follow each other in memory differ in k: the order of loading
//   row       what the elements of one i (or j) share
//   at(i)     row i; it is also asked for rows beyond the last one
//   get(r, k) element k of row r, 0 beyond the last row

enum { GR_TILE = 64, GR_SLAB = 16, GR_TILE_THREADS = 256, GR_TILE_PITCH = GR_TILE + 4 };

// What a thread loads of one operand: 4 elements of every slab.
template <class L> struct gr_loads {
  typename L::row row[L::along_k ? 4 : 1];

  __device__ gr_loads(const L &l, long long first) {
    for (int i = 0; i < (L::along_k ? 4 : 1); i++)
      row[i] = l.at(first + (L::along_k ? threadIdx.x / 16 + 16 * i : threadIdx.x % GR_TILE));
  }
  template <class W> __device__ void slab(const L &l, W *to, long long k, long long end) const {
    for (int i = 0; i < 4; i++) {
      int r = L::along_k ? threadIdx.x / 16 + 16 * i : threadIdx.x % GR_TILE;
      int s = L::along_k ? threadIdx.x % 16 : threadIdx.x / GR_TILE + 4 * i;
      to[s * GR_TILE_PITCH + r] = k + s < end ? l.get(row[L::along_k ? i : 0], k + s) : (W)0;
    }
  }
};

// The row and the column in the tile of a thread's element (p, q).
__device__ inline int gr_tile_i(int p) { return threadIdx.x / 16 * 4 + p; }
__device__ inline int gr_tile_j(int q) { return threadIdx.x % 16 * 4 + q; }
// Adds to sum[p][q] the terms from k to end of element (i + gr_tile_i(p), j + gr_tile_j(q)).
// memory: 2 * GR_SLAB * GR_TILE_PITCH numbers of shared memory.
template <class W, class A, class B>
__device__ void gr_tile(const A &a, const B &b, long long i, long long j, long long k,
                        long long end, W *memory, W (*sum)[4]) {
  W *left = memory, *right = memory + GR_SLAB * GR_TILE_PITCH;
  gr_loads<A> load_a(a, i);
  gr_loads<B> load_b(b, j);
  for (; k < end; k += GR_SLAB) {
    load_a.slab(a, left, k, end);
    load_b.slab(b, right, k, end);
    __syncthreads();
    for (int s = 0; s < GR_SLAB; s++)
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++)
          sum[p][q] += left[s * GR_TILE_PITCH + gr_tile_i(p)] *
                       right[s * GR_TILE_PITCH + gr_tile_j(q)];
    __syncthreads();
  }
}
