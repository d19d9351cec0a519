// lmu_memory.c - the state space of a Legendre memory unit (Voelker, Kajic, Eliasmith, "Legendre
// memory units: continuous-time representation in recurrent neural networks", 2019), discretised
// with a zero-order hold and a time step of 1: m[t] = A m[t-1] + B u[t].
//
//   d m / dt = a m + b u,   a[i,j] = r[i] * (i < j ? -1 : (-1)^(i-j+1)),   b[i] = r[i] (-1)^i,
//   r[i] = (2i + 1) / theta;      exp([[a, b], [0, 0]]) = [[A, B], [0, 1]]
//
// The exponential uses scaling and squaring with the Pade approximant of degree 13 (Higham, "The
// scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl.
// 26, 2005).
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct lmu_memory {
  int64_t order;
  double theta;
};

// ---- The matrix exponential -----------------------------------------------------------------

enum { SQUARES = 8 };  // scratch matrices

static size_t matrix_size(int64_t n) { return (size_t)(n * n); }

static void product(int64_t n, const double *restrict x, const double *restrict y,
                    double *restrict z) {
  memset(z, 0, sizeof *z * matrix_size(n));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < n; j++) z[i * n + j] += x[i * n + k] * y[k * n + j];
}

// Solves p x = q by Gaussian elimination with partial pivoting; overwrites q with x and destroys p.
static void solve(int64_t n, double *p, double *q) {
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t i = c + 1; i < n; i++)
      if (fabs(p[i * n + c]) > fabs(p[best * n + c])) best = i;
    for (int64_t j = 0; j < n && best != c; j++) {
      double swap = p[c * n + j];
      p[c * n + j] = p[best * n + j], p[best * n + j] = swap;
      swap = q[c * n + j];
      q[c * n + j] = q[best * n + j], q[best * n + j] = swap;
    }
    for (int64_t i = c + 1; i < n; i++) {
      double f = p[i * n + c] / p[c * n + c];
      for (int64_t j = c; j < n; j++) p[i * n + j] -= f * p[c * n + j];
      for (int64_t j = 0; j < n; j++) q[i * n + j] -= f * q[c * n + j];
    }
  }
  for (int64_t c = n; c--;) {
    for (int64_t k = c + 1; k < n; k++)
      for (int64_t j = 0; j < n; j++) q[c * n + j] -= p[c * n + k] * q[k * n + j];
    for (int64_t j = 0; j < n; j++) q[c * n + j] /= p[c * n + c];
  }
}

// The 1-norm: the largest sum of the magnitudes of a column.
static double norm(int64_t n, const double *x) {
  double most = 0;
  for (int64_t j = 0; j < n; j++) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += fabs(x[i * n + j]);
    most = fmax(most, s);
  }
  return most;
}

// The even part v (or, times x, the odd part u) of the approximant's numerator: b[first], b[first
// + 2], ... times the powers x^0, x^2, ... x^12; the upper three are computed as multiples of x^6.
static void polynomial_part(int64_t n, const double *b, int first, double *const power[4],
                            double *work, double *out) {
  size_t count = matrix_size(n);
  for (size_t i = 0; i < count; i++)
    work[i] =
        b[first + 8] * power[1][i] + b[first + 10] * power[2][i] + b[first + 12] * power[3][i];
  product(n, power[3], work, out);
  for (size_t i = 0; i < count; i++)
    out[i] += b[first + 2] * power[1][i] + b[first + 4] * power[2][i] + b[first + 6] * power[3][i];
  for (int64_t i = 0; i < n; i++) out[i * n + i] += b[first];
}

// Replaces m[0] by exp(m[0]); m[1] to m[7] are scratch memory.
static void exponential(int64_t n, double *memory) {
  static const double b[15] = {64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1,
                               0};
  double *m[SQUARES];
  for (int k = 0; k < SQUARES; k++) m[k] = memory + matrix_size(n) * (size_t)k;
  int halvings = 0;
  for (double least = norm(n, m[0]); least > 5.37; least /= 2) halvings++;
  for (size_t i = 0; i < matrix_size(n); i++) m[0][i] = ldexp(m[0][i], -halvings);
  double *const power[4] = {NULL, m[1], m[2], m[3]};
  product(n, m[0], m[0], m[1]);
  product(n, m[1], m[1], m[2]);
  product(n, m[1], m[2], m[3]);
  polynomial_part(n, b, 0, power, m[4], m[5]);
  polynomial_part(n, b, 1, power, m[4], m[6]);
  product(n, m[0], m[6], m[4]);
  for (size_t i = 0; i < matrix_size(n); i++) {
    double u = m[4][i], v = m[5][i];
    m[0][i] = v + u, m[1][i] = v - u;
  }
  solve(n, m[1], m[0]);
  for (; halvings; halvings--) {
    product(n, m[0], m[0], m[1]);
    memcpy(m[0], m[1], sizeof(double) * matrix_size(n));
  }
}

// ---- The op ---------------------------------------------------------------------------------

static gr_status infer(gr_op_call *s) {
  const struct lmu_memory *a = s->attr;
  if (a->order < 1 || a->order > 4096)
    return gr_fail(GR_ERR_TYPE, s->loc, "an LMU's order must be 1 to 4096, not %lld",
                   (long long)a->order);
  if (!(a->theta > 0))
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "an LMU's theta, its window in steps, must be positive, not %g", a->theta);
  s->out[0] = (gr_type){.dtype = GR_F32, .rank = 2, .dim = {a->order, a->order}};
  s->out[1] = (gr_type){.dtype = GR_F32, .rank = 1, .dim = {a->order}};
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  return sizeof(double) * SQUARES * matrix_size(((const struct lmu_memory *)s->attr)->order + 1);
}

static gr_status lmu_memory_cpu(const gr_launch *l) {
  const struct lmu_memory *a = l->attr;
  int64_t order = a->order, n = order + 1;
  double *m = l->scratch;
  memset(m, 0, sizeof *m * matrix_size(n));
  for (int64_t i = 0; i < order; i++) {
    double r = (double)(2 * i + 1) / a->theta;
    for (int64_t j = 0; j < order; j++) m[i * n + j] = i < j || (i - j) % 2 == 0 ? -r : r;
    m[i * n + order] = i % 2 ? -r : r;
  }
  exponential(n, m);
  for (int64_t i = 0; i < order; i++) {
    for (int64_t j = 0; j < order; j++) OUT(0, i * order + j, m[i * n + j]);
    OUT(1, i, m[i * n + order]);
  }
  return GR_OK;
}

GR_CU(lmu_memory);

static gr_status gpu(gr_gpu_call *g) {
  enum { BARRIER = 256, BLOCKS = 32 };  // bytes of the barrier's counter; blocks that any GPU holds
  const struct lmu_memory *a = g->call->attr;
  size_t count = matrix_size(a->order + 1);
  gr_gpu_copy_add(g, (gr_gpu_ref){GR_GPU_SCRATCH, 0, 0}, (gr_gpu_ref){GR_GPU_NOTHING, 0, 0},
                  BARRIER);
  int64_t items = gr_min_i64((int64_t)count, BLOCKS * GR_GPU_BLOCK);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_lmu_memory, "lmu_memory", items, GR_GPU_BLOCK);
  k->cooperative = true;
  gr_gpu_int(k, a->order);
  gr_gpu_real(k, a->theta);
  g->scratch = BARRIER + sizeof(double) * SQUARES * count;
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct lmu_memory, order, GR_ATTR_INT, NULL,
            "number of Legendre polynomials: the size of the memory"),
    GR_ATTR(struct lmu_memory, theta, GR_ATTR_FLOAT, NULL, "length of the window, in steps"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct lmu_memory){6, 10}},
    {{0}, .attr = &(struct lmu_memory){0, 10}, .fails = "order must be 1 to 4096"},
    {{0}, .attr = &(struct lmu_memory){4, 0}, .fails = "theta"},
    {{0}},
};

const gr_op gr_op_lmu_memory = {
    .name = "lmu_memory",
    .doc =
        "The matrix A [order, order] and the vector B [order] of a Legendre memory unit, "
        "discretised with a zero-order hold.",
    .attr_size = sizeof(struct lmu_memory),
    .attrs = attrs,
    .index_spec = "->__,_",
    .infer = infer,
    .cpu = lmu_memory_cpu,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};
