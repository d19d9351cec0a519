// reduce.cu - folds x[outer, n, inner] over n: y[outer, inner] = factor * (sum or maximum of
// TERM(x)). FOLD is sum or max. One launch folds pieces of n, each of them in one block or warp; if
// there are several, their results, in working memory, are the x of a second launch. A launch reads
// working memory from element `from` on, or x if that is -1, and writes it from `to` on, or y.
//
// The order of additions depends on the sizes alone.

// POINTERS declares the call's operands and results, of which x, of X, and y, of Y, have names.

#define PARAMETERS                                                                          \
  POINTERS, W *scratch, long long outer, long long n, long long inner, long long piece,     \
      long long pieces, long long lanes, long long from, long long to, double factor

typedef gr_wide<X> W;

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define warp_fold JOIN(gr_warp_, FOLD)
#define block_fold JOIN(gr_block_, FOLD)
#define fold JOIN(fold_, FOLD)
#define START JOIN(start_of_, FOLD)
#define start_of_sum 0
#define start_of_max (-GR_INFINITY)
__device__ inline W fold_sum(W a, W b) { return a + b; }
__device__ inline W fold_max(W a, W b) { return a > b || a != a ? a : b; }

struct first_stage {  // reads elements of x
  typedef X type;
  __device__ static W term(const type *x, long long i) {
    const W v = gr_get(x, i);
    return TERM(v);
  }
};
struct next_stage {  // reads results of the stage before
  typedef W type;
  __device__ static W term(const type *x, long long i) { return x[i]; }
};

__device__ inline void put_result(Y *y, W *scratch, long long to, long long i, W a, W factor) {
  if (to < 0)
    gr_put(y, i, factor * a);
  else
    scratch[to + i] = a;
}

// ---- Rows: inner is 1 ---------------------------------------------------------------------------

// One thread's share of n elements: every `lanes`-th pack of 16 bytes.
template <class S>
__device__ W fold_share(const typename S::type *x, long long n, int lane, int lanes) {
  constexpr int N = 16 / sizeof(typename S::type);
  const long long whole = gr_aligned(x) ? n / N * N : 0;
  W a[N];
  for (int e = 0; e < N; e++) a[e] = START;
#pragma unroll 4
  for (long long i = (long long)lane * N; i < whole; i += lanes * N) {
    const gr_pack<typename S::type, N> p = gr_load<N>(x, i);
#pragma unroll
    for (int e = 0; e < N; e++) a[e] = fold(a[e], S::term(p.at, e));
  }
  for (long long i = whole + lane; i < n; i += lanes) a[0] = fold(a[0], S::term(x, i));
  for (int e = 1; e < N; e++) a[0] = fold(a[0], a[e]);
  return a[0];
}

// The share of row p / pieces in piece p % pieces.
template <class S>
__device__ W fold_piece(const typename S::type *x, long long p, long long n, long long piece,
                        long long pieces, int lane, int lanes) {
  const long long row = gr_div(p, pieces), k = (p - row * pieces) * piece;
  return fold_share<S>(x + row * n + k, n - k < piece ? n - k : piece, lane, lanes);
}

// A warp for each piece of each row.
extern "C" __global__ void __launch_bounds__(256, 1) fold_rows_by_warps(PARAMETERS) {
  const long long p = GR_FIRST / 32;
  const int lane = threadIdx.x % 32;
  if (p >= outer * pieces) return;
  W a = from < 0 ? fold_piece<first_stage>(x, p, n, piece, pieces, lane, 32)
                 : fold_piece<next_stage>(scratch + from, p, n, piece, pieces, lane, 32);
  a = warp_fold(a);
  if (lane == 0) put_result(y, scratch, to, p, a, (W)factor);
}

// A block for each piece of each row.
extern "C" __global__ void __launch_bounds__(256, 1) fold_rows_by_blocks(PARAMETERS) {
  const int lane = threadIdx.x;
  for (long long p = blockIdx.x; p < outer * pieces; p += gridDim.x) {
    W a = from < 0 ? fold_piece<first_stage>(x, p, n, piece, pieces, lane, 256)
                   : fold_piece<next_stage>(scratch + from, p, n, piece, pieces, lane, 256);
    a = block_fold(a);
    if (lane == 0) put_result(y, scratch, to, p, a, (W)factor);
  }
}

// ---- Columns ------------------------------------------------------------------------------------
// A block of 256 threads folds one piece of `lanes` times PACK columns: `lanes` threads side by
// side, each with a pack of columns, and below each other 256 / lanes of them, which share the
// rows.

constexpr int PACK = 16 / sizeof(X);

template <class S, int N>
__device__ void fold_columns_of(const typename S::type *x, Y *y, W *scratch, long long n,
                                long long inner, long long piece, long long pieces, int lanes,
                                long long to, W factor, W (*part)[256]) {
  const int lane = threadIdx.x % lanes, above = threadIdx.x / lanes, height = 256 / lanes;
  const long long tiles = gr_div(inner + lanes * PACK - 1, lanes * PACK);
  const long long p = gr_div(blockIdx.x, tiles), tile = blockIdx.x - p * tiles;
  const long long row = gr_div(p, pieces), k = (p - row * pieces) * piece;
  const long long end = n - k < piece ? n : k + piece;
  x += row * n * inner;
  for (int s = 0; s < PACK / N; s++) {
    const long long column = tile * lanes * PACK + (s * lanes + lane) * N;
    W a[N];
    for (int e = 0; e < N; e++) a[e] = START;
#pragma unroll 4
    for (long long i = k + above; i < end && column < inner; i += height) {
      const gr_pack<typename S::type, N> v = gr_load<N>(x, i * inner + column);
#pragma unroll
      for (int e = 0; e < N; e++) a[e] = fold(a[e], S::term(v.at, e));
    }
    for (int half = 128; half >= lanes; half /= 2) {
      __syncthreads();
      for (int e = 0; e < N; e++) part[e][threadIdx.x] = a[e];
      __syncthreads();
      for (int e = 0; e < N && threadIdx.x < half; e++)
        a[e] = fold(a[e], part[e][threadIdx.x + half]);
    }
    for (int e = 0; e < N && above == 0 && column < inner; e++)
      put_result(y, scratch, to, p * inner + column + e, a[e], factor);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) fold_columns(PARAMETERS) {
  __shared__ W part[PACK][256];
  if (from >= 0)
    fold_columns_of<next_stage, 1>(scratch + from, y, scratch, n, inner, piece, pieces, (int)lanes,
                                   to, (W)factor, part);
  else if (inner % PACK == 0 && gr_aligned(x))
    fold_columns_of<first_stage, PACK>(x, y, scratch, n, inner, piece, pieces, (int)lanes, to,
                                       (W)factor, part);
  else
    fold_columns_of<first_stage, 1>(x, y, scratch, n, inner, piece, pieces, (int)lanes, to,
                                    (W)factor, part);
}
