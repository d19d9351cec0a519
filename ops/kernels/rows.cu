// rows.cu - for ops over rows of n elements. A team computes a row: a warp (TEAM is 32) or a block
// of TEAM threads. A thread keeps its HELD elements in registers, so that memory is read once; if
// HELD is 0, rows have any length and each pass over one reads it again.
//
// A thread's k-th element is element i of the row. Its elements lie in packs of N, 16 bytes; N is 1
// where rows begin between multiples of 16 bytes (PACK is 1, or a slice of a stack is unaligned).

typedef gr_wide<WIDEST> W;
#if TEAM == 32
#define team_sum gr_warp_sum
#define team_max gr_warp_max
#else
#define team_sum gr_block_sum
#define team_max gr_block_max
#endif
#define LANE ((int)threadIdx.x % TEAM)
#define ROW ((long long)blockIdx.x * (blockDim.x / TEAM) + threadIdx.x / TEAM)

// Waits for the threads of the team.
__device__ inline void team_sync() {
  if (TEAM == 32)
    __syncwarp();
  else
    __syncthreads();
}

// Calls f(k, i) for this thread's elements.
template <int N, class F>
__device__ inline void row_each(long long n, F f) {
  if (HELD == 0)
    for (long long i = LANE; i < n; i += TEAM) f(0, i);
#pragma unroll
  for (int k = 0; k < HELD; k++) {
    const int i = (k / N * TEAM + LANE) * N + k % N;
    if (i < n) f(k, i);
  }
}

// A row of memory.
template <int N, class T>
struct row {
  const T *x;
  W held[HELD ? HELD : 1];
  __device__ row(const T *x, long long n) : x(x) {
#pragma unroll
    for (int k = 0; k < HELD; k += N) {
      const int i = (k / N * TEAM + LANE) * N;
      if (i >= n) continue;
      const gr_pack<T, N> p = gr_load<N>(x, i);
#pragma unroll
      for (int e = 0; e < N; e++) held[k + e] = gr_get(p.at, e);
    }
  }
  __device__ W operator()(int k, long long i) const { return HELD ? held[k] : (W)gr_get(x, i); }
};

// A row that is computed: `each` sets its elements.
struct made {
  W at[HELD ? HELD : 1];
  __device__ W operator()(int k, long long) const { return at[k]; }
};

// Writes y[i] = f(k, i).
template <int N, class T, class F>
__device__ inline void row_put(T *y, long long n, F f) {
  if (HELD == 0)
    for (long long i = LANE; i < n; i += TEAM) gr_put(y, i, f(0, i));
#pragma unroll
  for (int k = 0; k < HELD; k += N) {
    const int i = (k / N * TEAM + LANE) * N;
    if (i >= n) continue;
    gr_pack<T, N> p;
#pragma unroll
    for (int e = 0; e < N; e++) gr_put(p.at, e, f(k + e, i + e));
    gr_store(y, i, p);
  }
}

// Sums over the rows of a team, [n]: in registers, or in its part of the working memory if HELD is 0.
// A team without rows writes zeros.
template <int N>
struct column_sums {
  W *memory, held[HELD ? HELD : 1];
  __device__ column_sums(W *memory, long long n) : memory(memory), held() {
    if (HELD == 0)
      for (long long i = LANE; i < n; i += TEAM) memory[i] = 0;
  }
  __device__ void add(int k, long long i, W v) {
    if (HELD)
      held[k] += v;
    else
      memory[i] += v;
  }
  __device__ void write(long long n) {
    row_each<N>(n, [&](int k, long long i) {
      if (HELD) memory[i] = held[k];
    });
  }
};

// A block of 32 by 8 threads adds 32 columns of [teams, columns]. True for the thread that has the
// total of column *i.
__device__ inline bool team_totals(const W *sums, long long teams, long long columns, long long *i,
                                   W *total) {
  __shared__ W part[8][32];
  const int lane = threadIdx.x % 32, above = threadIdx.x / 32;
  W a = 0;
  *i = blockIdx.x * 32LL + lane;
  for (long long t = above; t < teams && *i < columns; t += 8) a += sums[t * columns + *i];
  part[above][lane] = a;
  __syncthreads();
  for (int k = 1; k < 8; k++) a += part[k][lane];
  *total = a;
  return above == 0 && *i < columns;
}

// The sum and the maximum of f(k, i) over a row; all threads of the team get it.
template <int N, class F>
__device__ inline W row_sum(long long n, F f) {
  W a = 0;
  row_each<N>(n, [&](int k, long long i) { a += f(k, i); });
  return team_sum(a);
}
template <int N, class F>
__device__ inline W row_max(long long n, F f) {
  W a = -GR_INFINITY;
  row_each<N>(n, [&](int k, long long i) {
    const W v = f(k, i);
    a = a > v || a != a ? a : v;
  });
  return team_max(a);
}

// The sum of (v - mean)^2 over a row v.
template <int N, class R>
__device__ inline W row_spread(const R &v, long long n, W mean) {
  return row_sum<N>(n, [&](int k, long long i) {
    const W d = v(k, i) - mean;
    return d * d;
  });
}

// The sum of exp(v - top) over the first n elements of a row v, and their maximum, top.
template <int N, class R>
__device__ inline W row_exp_sum(const R &v, long long n, W *top) {
  const W most = *top = row_max<N>(n, [&](int k, long long i) { return v(k, i); });
  return row_sum<N>(n, [&](int k, long long i) { return exp(v(k, i) - most); });
}

// The index of the first largest of n elements. As in comparisons one after the other, NaN is not
// larger than anything, and nothing is larger than NaN in the first place.
template <int N, class T>
__device__ W row_first_largest(const T *x, long long n) {
  const row<N, T> v(x, n);
  const auto value = [&](int k, long long i) -> W {
    const W a = v(k, i);
    return a == a ? a : i ? -GR_INFINITY : GR_INFINITY;
  };
  const W top = row_max<N>(n, value);
  return -row_max<N>(
      n, [&](int k, long long i) -> W { return value(k, i) == top ? -(W)i : -GR_INFINITY; });
}
