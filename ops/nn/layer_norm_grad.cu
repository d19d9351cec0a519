// layer_norm_grad.cu - with z the normalised row and u = dy gamma:
//   dx = (u - mean(u) - z mean(u z)) / deviation, dgamma = sum(dy z), dbeta = sum(dy) over rows.
// A team (rows.cu) computes `chunk` rows one after the other and adds up their dy z and dy. A
// second kernel adds the sums of all teams, in their order.

// This team's sums [2, n]: of dy z, then of dy; in registers, or in working memory if HELD is 0.
// The sums over a row, before the first add, wait until all threads of the team have written zeros.
template <int N>
struct sums {
  W *memory, z[HELD ? HELD : 1], d[HELD ? HELD : 1];
  long long n;
  __device__ sums(W *memory, long long n) : memory(memory), z(), d(), n(n) {
    if (HELD == 0)
      for (long long i = LANE; i < 2 * n; i += TEAM) memory[i] = 0;
  }
  __device__ void add(int k, long long i, W by_z, W by) {
    if (HELD)
      z[k] += by_z, d[k] += by;
    else
      memory[i] += by_z, memory[n + i] += by;
  }
  __device__ void write() {
    row_each<N>(n, [&](int k, long long i) {
      if (HELD) memory[i] = z[k], memory[n + i] = d[k];
    });
  }
};

template <int N>
__device__ void layer_norm_grad_row(const IN0 *x, const IN1 *gamma, const IN2 *dy, OUT0 *dx,
                                    long long n, W eps, sums<N> &all) {
  const row<N, IN0> v(x, n);
  const row<N, IN2> d(dy, n);
  const row<N, IN1> g(gamma, n);
  const W mean = row_sum<N>(n, [&](int k, long long i) { return v(k, i); }) / n;
  const W scale = 1 / sqrt(row_spread<N>(v, n, mean) / n + eps);
  W u = 0, uz = 0;
  row_each<N>(n, [&](int k, long long i) {
    const W z = (v(k, i) - mean) * scale, f = d(k, i) * g(k, i);
    u += f, uz += f * z;
    all.add(k, i, d(k, i) * z, d(k, i));
  });
  const W mean_u = team_sum(u) / n, mean_uz = team_sum(uz) / n;
  row_put<N>(dx, n, [&](int k, long long i) {
    const W z = (v(k, i) - mean) * scale;
    return (d(k, i) * g(k, i) - mean_u - z * mean_uz) * scale;
  });
}

template <int N>
__device__ void layer_norm_grad_rows(const IN0 *x, const IN1 *gamma, const IN2 *dy, OUT0 *dx,
                                     W *memory, long long from, long long to, long long n, W eps) {
  sums<N> all(memory, n);
  for (long long r = from; r < to; r++)
    layer_norm_grad_row<N>(x + r * n, gamma, dy + r * n, dx + r * n, n, eps, all);
  all.write();
}

// scratch is [teams, 2, n].
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    layer_norm_grad(const IN0 *x, const IN1 *gamma, const IN2 *dy, OUT0 *dx, OUT1 *, OUT2 *,
                    W *scratch, long long rows, long long n, long long chunk, double eps) {
  const long long from = ROW * chunk, to = rows - from < chunk ? rows : from + chunk;
  W *memory = scratch + ROW * 2 * n;
  if (from >= rows) return;
  if (gr_aligned(x) && gr_aligned(gamma) && gr_aligned(dy) && gr_aligned(dx))
    layer_norm_grad_rows<PACK>(x, gamma, dy, dx, memory, from, to, n, (W)eps);
  else
    layer_norm_grad_rows<1>(x, gamma, dy, dx, memory, from, to, n, (W)eps);
}

// A block of 32 by 8 threads adds 32 columns of [teams, 2 n].
extern "C" __global__ void __launch_bounds__(256, 1)
    layer_norm_grad_sums(const IN0 *, const IN1 *, const IN2 *, OUT0 *, OUT1 *dgamma, OUT2 *dbeta,
                         const W *scratch, long long teams, long long n) {
  __shared__ W part[8][32];
  const int lane = threadIdx.x % 32, above = threadIdx.x / 32;
  const long long column = blockIdx.x * 32LL + lane;
  W a = 0;
  for (long long t = above; t < teams && column < 2 * n; t += 8) a += scratch[t * 2 * n + column];
  part[above][lane] = a;
  __syncthreads();
  if (above || column >= 2 * n) return;
  for (int k = 1; k < 8; k++) a += part[k][lane];
  if (column < n)
    gr_put(dgamma, column, a);
  else
    gr_put(dbeta, column - n, a);
}
