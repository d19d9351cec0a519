// attention_tile.cu - what the kernels of attention share. It is put after tile.cu and before their
// text. A block of 256 threads makes a tile of 64 rows by 64 keys (or keys by rows) of scores, each
// thread 4 by 4 of it, and multiplies it, through shared memory, by rows of an operand.
//
// LENGTHS and DROPS say which operands follow the others; COLS is how many times 64 columns of the
// results a block sums.
typedef gr_wide<IN0> W;

enum { WEIGHTS = GR_TILE * GR_TILE_PITCH, MEMORY = WEIGHTS + GR_SLAB * GR_TILE_PITCH };

// The rows of one head of an operand, from one of its rows on.
template <class T>
struct reader {
  enum { along_k = 1 };
  typedef const T *row;
  const T *x;
  long long rows, step;  // from row to row
  __device__ row at(long long r) const { return r < rows ? x + r * step : nullptr; }
  __device__ W get(row r, long long k) const { return r ? (W)gr_get(r, k) : (W)0; }
};

// The call's numbers, and what follows from them for the block's head.
struct head {
  long long t, s, heads, d, e, causal, sample, number;
  double scale;
  long long key, least, keys;  // of the random numbers; keys that the sample has
  double keep;
  long long drawn;  // the index of the head's first weight in the global value
  long long now;    // the step
  bool uniform;

  template <class T>
  __device__ reader<T> rows(const T *x, long long count, long long width) const {
    return {x + (sample * count * heads + number) * width, count, heads * width};
  }
  // How many more keys than its own number row 0 sees: causal is 2 if the last row sees all.
  __device__ long long shift() const { return causal > 1 ? keys - t : 0; }
  // Keys that row i sees: at least one.
  __device__ long long seen(long long i) const {
    const long long n = i + 1 + shift();
    return causal && !uniform && n < keys ? (n > 0 ? n : 1) : keys;
  }
  // The first row that sees a key.
  __device__ long long first_row(long long key) const {
    const long long i = key - shift();
    return causal && !uniform && key && i > 0 ? i : 0;
  }
  // What dropout multiplies weight (i, j) by; `word` holds the random words of block `at`.
  __device__ W kept(long long i, long long j, unsigned word[4], long long *at) const {
    long long index = drawn + i * s + j;
    if (index / 4 != *at) gr_philox(key, *at = index / 4, now, word);
    return gr_word(word, index % 4) >= (unsigned)least ? (W)keep : (W)0;
  }
};

#if LENGTHS
#define LENGTHS_OPERAND const int *lengths,
#define LENGTHS_OF(sample) lengths[sample]
#else
#define LENGTHS_OPERAND
#define LENGTHS_OF(sample) s
#endif
#if DROPS
#define STEP_OPERAND const int *step,
#define STEP_NOW *step
#else
#define STEP_OPERAND
#define STEP_NOW 0
#endif
#define NUMBERS                                                                          \
  long long t, long long s, long long heads, long long d, long long e, long long causal, \
      double scale, long long key, long long least, double keep, long long first_sample, \
      long long first_head, long long all_heads
#define HEAD(number)                                                                             \
  head_of(number, LENGTHS_OF(gr_div(number, heads)), STEP_NOW, t, s, heads, d, e, causal, scale, \
          key, least, keep, first_sample, first_head, all_heads)

__device__ inline head head_of(long long number, long long length, long long now, NUMBERS) {
  head h = {t,     s,   heads, d, e, causal, gr_div(number, heads), gr_mod(number, heads),
            scale, key, least};
  h.keep = keep, h.now = now, h.uniform = length <= 0;
  h.keys = h.uniform || length > s ? s : length;
  h.drawn = ((first_sample + h.sample) * all_heads + first_head + h.number) * t * s;
  return h;
}

// Sum and maximum of the 16 threads that have a row of the tile.
__device__ inline W across_sum(W a) {
  for (int far = 8; far; far /= 2) a += __shfl_xor_sync(0xffffffffu, a, far);
  return a;
}
__device__ inline W across_max(W a) {
  for (int far = 8; far; far /= 2) {
    const W b = __shfl_xor_sync(0xffffffffu, a, far);
    a = b > a ? b : a;
  }
  return a;
}

// Where row j of a transposed tile has its numbers i to i + 3, for i a multiple of 4. The eight
// threads that store 16 bytes at once have rows j, j + 4, ..., j + 28: in the same place of each row
// they would be 68 * 4 * 4 bytes apart, in two groups of banks. The place changes with j / 4, so that
// they are in all eight; all that a warp reads at once is of one row.
__device__ inline int tile_place(int j, int i) {
  return j * GR_TILE_PITCH + (i ^ j / 4 % 8 * 4);
}

// Puts this thread's part of a tile into shared memory, transposed.
__device__ inline void put_tile(W *weights, const W (*x)[4]) {
  constexpr int N = 16 / sizeof(W);
#pragma unroll
  for (int q = 0; q < 4; q++)
#pragma unroll
    for (int p = 0; p < 4; p += N) {
      gr_pack<W, N> some;
#pragma unroll
      for (int e = 0; e < N; e++) some.at[e] = x[p + e][q];
      gr_store(weights, tile_place(gr_tile_j(q), gr_tile_i(0)) + p, some);
    }
}

// sum[c][p][q] += over k of weights[k][row p] x[first + k][column q of the c-th 64 from `column`].
// All threads have written the weights; the next ones may be written when it returns.
template <class T>
__device__ void add_product(W *memory, const reader<T> &x, long long first, long long column,
                            long long width, W (*sum)[4][4]) {
  W *weights = memory, *slab = memory + WEIGHTS;
  __syncthreads();
#pragma unroll
  for (int c = 0; c < COLS; c++)
#pragma unroll 1
    for (int k = 0; k < GR_TILE; k += GR_SLAB) {
      for (int i = 0; i < 4; i++) {
        const int row = threadIdx.x / GR_TILE + 4 * i;
        const long long at = column + c * GR_TILE + threadIdx.x % GR_TILE;
        slab[row * GR_TILE_PITCH + threadIdx.x % GR_TILE] =
            at < width ? x.get(x.at(first + k + row), at) : (W)0;
      }
      __syncthreads();
      for (int i = 0; i < GR_SLAB; i++) {
        const W *row = weights + tile_place(k + i, gr_tile_i(0));
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
          for (int q = 0; q < 4; q++)
            sum[c][p][q] += row[p] * slab[i * GR_TILE_PITCH + gr_tile_j(q)];
      }
      __syncthreads();
    }
}

// Writes what the block has summed for its rows, `by` times each.
template <class T>
__device__ void put_rows(T *y, const head &h, long long rows, long long first, long long column,
                         long long width, const W (*sum)[4][4], const W by[4]) {
#pragma unroll
  for (int c = 0; c < COLS; c++)
#pragma unroll
    for (int p = 0; p < 4; p++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const long long row = first + gr_tile_i(p), at = column + c * GR_TILE + gr_tile_j(q);
        if (row < rows && at < width)
          gr_put(y, ((h.sample * rows + row) * h.heads + h.number) * width + at,
                 sum[c][p][q] * by[p]);
      }
}
