// lmu_memory.cu - see lmu_memory.c: the same matrix exponential, in double. It runs once, when
// weights are initialised. A cooperative launch: all blocks work on each step, between barriers.
//
// scratch: the barrier's counter, and from its byte 256 on eight matrices of n = order + 1 rows.

struct grid {
  long long n;
  unsigned *count, goal;
  double *memory;
  __device__ double *matrix(int k) const { return memory + k * n * n; }
  __device__ void wait() { gr_grid_barrier(count, &goal); }
};

__device__ void product(grid *g, int x, int y, int z) {
  const double *a = g->matrix(x), *b = g->matrix(y);
  for (long long i = GR_FIRST; i < g->n * g->n; i += GR_ALL) {
    double sum = 0;
    long long row = i / g->n, column = i % g->n;
    for (long long k = 0; k < g->n; k++) sum += a[row * g->n + k] * b[k * g->n + column];
    g->matrix(z)[i] = sum;
  }
  g->wait();
}

// Every block finds the same pivot: the first of the largest magnitudes of column c.
__device__ long long pivot(const grid *g, const double *p, long long c) {
  double most = -1;
  for (long long i = c + threadIdx.x; i < g->n; i += blockDim.x)
    most = fmax(most, fabs(p[i * g->n + c]));
  most = gr_block_max(most);
  double first = -1e9;  // minus the row, for the maximum
  for (long long i = c + threadIdx.x; i < g->n; i += blockDim.x)
    if (fabs(p[i * g->n + c]) == most) first = fmax(first, -(double)i);
  return (long long)-gr_block_max(first);
}

// Solves p x = q by Gaussian elimination with partial pivoting; overwrites q with x and destroys p.
__device__ void solve(grid *g, double *p, double *q) {
  long long n = g->n;
  for (long long c = 0; c < n; c++) {
    long long best = pivot(g, p, c);
    g->wait();
    for (long long j = GR_FIRST; j < 2 * n && best != c; j += GR_ALL) {
      double *m = j < n ? p + j : q + j - n, swap = m[c * n];
      m[c * n] = m[best * n], m[best * n] = swap;
    }
    g->wait();
    for (long long i = GR_FIRST; i < (n - c - 1) * 2 * n; i += GR_ALL) {
      long long row = c + 1 + i / (2 * n), j = i % (2 * n);
      double *m = j < n ? p + j : q + j - n;
      if (j > c) m[row * n] -= p[row * n + c] / p[c * n + c] * m[c * n];
    }
    g->wait();
  }
  for (long long j = GR_FIRST; j < n; j += GR_ALL)
    for (long long c = n; c--;) {
      double x = q[c * n + j];
      for (long long k = c + 1; k < n; k++) x -= p[c * n + k] * q[k * n + j];
      q[c * n + j] = x / p[c * n + c];
    }
  g->wait();
}

// Halves matrix 0 until its 1-norm, the largest sum of the magnitudes of a column, is at most 5.37;
// returns how often.
__device__ int halve(grid *g) {
  double *sums = g->matrix(7), most = 0;
  for (long long j = GR_FIRST; j < g->n; j += GR_ALL) {
    double sum = 0;
    for (long long i = 0; i < g->n; i++) sum += fabs(g->matrix(0)[i * g->n + j]);
    sums[j] = sum;
  }
  g->wait();
  for (long long j = threadIdx.x; j < g->n; j += blockDim.x) most = fmax(most, sums[j]);
  most = gr_block_max(most);
  int times = 0;
  for (; most > 5.37; most /= 2) times++;
  double by = 1;
  for (int k = 0; k < times; k++) by /= 2;
  for (long long i = GR_FIRST; i < g->n * g->n; i += GR_ALL) g->matrix(0)[i] *= by;
  g->wait();
  return times;
}

// b[0], b[2], ... b[12] times the powers x^0, x^2, ... x^12 into matrix `out`; matrices 1 to 3 are
// x^2, x^4 and x^6, 4 is work.
__device__ void polynomial_part(grid *g, double b0, double b2, double b4, double b6, double b8,
                                double b10, double b12, int out) {
  const double *x2 = g->matrix(1), *x4 = g->matrix(2), *x6 = g->matrix(3);
  for (long long i = GR_FIRST; i < g->n * g->n; i += GR_ALL)
    g->matrix(4)[i] = b8 * x2[i] + b10 * x4[i] + b12 * x6[i];
  g->wait();
  product(g, 3, 4, out);
  for (long long i = GR_FIRST; i < g->n * g->n; i += GR_ALL)
    g->matrix(out)[i] += b2 * x2[i] + b4 * x4[i] + b6 * x6[i] + (i % (g->n + 1) ? 0 : b0);
  g->wait();
}

extern "C" __global__ void lmu_memory(OUT0 *to_a, OUT1 *to_b, void *scratch, long long order,
                                      double theta) {
  grid g{order + 1, (unsigned *)scratch, 0, (double *)((char *)scratch + 256)};
  long long n = g.n, count = n * n;
  double *x = g.matrix(0), *y = g.matrix(1);
  for (long long i = GR_FIRST; i < count; i += GR_ALL) {
    long long row = i / n, j = i % n;
    double r = (double)(2 * row + 1) / theta;
    bool minus = j == order ? row % 2 : row < j || (row - j) % 2 == 0;
    x[i] = row == order ? 0 : minus ? -r : r;
  }
  g.wait();
  int times = halve(&g);
  product(&g, 0, 0, 1);
  product(&g, 1, 1, 2);
  product(&g, 1, 2, 3);
  polynomial_part(&g, 64764752532480000, 7771770303897600, 129060195264000, 670442572800,
                  1323241920, 960960, 182, 5);
  polynomial_part(&g, 32382376266240000, 1187353796428800, 10559470521600, 33522128640, 40840800,
                  16380, 1, 6);
  product(&g, 0, 6, 4);
  for (long long i = GR_FIRST; i < count; i += GR_ALL) {
    double u = g.matrix(4)[i], v = g.matrix(5)[i];
    x[i] = v + u, y[i] = v - u;
  }
  g.wait();
  solve(&g, y, x);
  int at = 0;
  for (; times; times--, at = !at) product(&g, at, at, !at);
  for (long long i = GR_FIRST; i < order * n; i += GR_ALL) {
    long long row = i / n, j = i % n;
    if (j < order)
      gr_put(to_a, row * order + j, g.matrix(at)[i]);
    else
      gr_put(to_b, row, g.matrix(at)[i]);
  }
}
