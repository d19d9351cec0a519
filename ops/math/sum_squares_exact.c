// sum_squares_exact.c - the sum of all squares without rounding, so that it is the same in any
// order: canonical numerics add up the slices of gradients that ranks have.
//
// The square of an f32 is its mantissa's, of 48 bits, times a power of 4. For each of the 256
// exponents the lower and the upper 24 bits of these are added up as integers, which f64 holds
// exactly for up to 2^29 numbers (GR_EXACT_SQUARES), so that `add` and all_reduce are exact too.
// Numbers that are not finite are counted with the exponent 255.
#include <math.h>
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

enum { EXPONENTS = 256, LIMBS = 2, LIMB_BITS = 24, N = EXPONENTS * LIMBS };
enum { PARTS = 16, LANES = 4, FEW = 1 << 15 };

gr_val gr_sum_squares_exact(gr_builder *b, gr_val x) {
  return GR_EMIT(b, &gr_op_sum_squares_exact, NULL, x);
}
gr_val gr_exact_sum(gr_builder *b, gr_val sums) { return GR_EMIT(b, &gr_op_exact_sum, NULL, sums); }

static gr_status infer(gr_op_call *s) {
  if (s->in[0].dtype != GR_F32)
    return gr_fail(GR_ERR_TYPE, s->loc, "takes f32, got %s", gr_dtypes[s->in[0].dtype].name);
  s->out[0] = (gr_type){.dtype = GR_F64, .rank = 1, .dim = {N}};
  return GR_OK;
}

// Neighbours go to different lanes, so that an addition need not wait for the one before.
static void part(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t n = gr_type_count(l->in_type);
  for (int64_t p = begin; p < end; p++) {
    int64_t lane[LANES][N] = {{0}}, *sums = (int64_t *)l->scratch + p * N;
    for (int64_t i = n * p / PARTS; i < n * (p + 1) / PARTS; i++) {
      uint32_t bits;
      memcpy(&bits, (const float *)l->in[0] + i, sizeof bits);
      uint32_t e = bits >> 23 & 255, m = (bits & 0x7fffff) | (e ? 0x800000 : 0);
      uint64_t square = (uint64_t)m * m;
      int64_t *to = lane[i % LANES] + LIMBS * (e + !e);
      to[0] += (int64_t)(square & 0xffffff), to[1] += (int64_t)(square >> LIMB_BITS);
    }
    for (int i = 0; i < N; i++) sums[i] = lane[0][i] + lane[1][i] + lane[2][i] + lane[3][i];
  }
}

static gr_status sum_squares_exact_cpu(const gr_launch *l) {
  double *out = l->out[0];
  gr_parallel(l, PARTS, gr_type_count(l->in_type) < FEW ? PARTS : 1, part, (void *)l);
  memset(out, 0, sizeof *out * N);
  for (int p = 0; p < PARTS; p++)
    for (int i = 0; i < N; i++) out[i] += (double)((const int64_t *)l->scratch)[p * N + i];
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) { return s->n_in ? sizeof(int64_t) * PARTS * N : 0; }

static const gr_case cases[] = {{{"f32[4,6]"}},
                                {{"f32[]"}},
                                {{"f32[33000]"}},
                                {{"i32[4]"}, .fails = "takes f32, got i32"},
                                {{0}}};

const gr_op gr_op_sum_squares_exact = {
    .name = "sum_squares_exact",
    .doc =
        "The sum of the squares of all elements of x without rounding, as integers for each "
        "exponent: [512].",
    .index_spec = "...->_",
    .padding = GR_PADDING_SUMMED,
    .infer = infer,
    .cpu_only = true,
    .cpu = sum_squares_exact_cpu,
    .scratch = scratch,
    .cases = cases,
};

static gr_status infer_sum(gr_op_call *s) {
  if (s->in[0].dtype != GR_F64 || s->in[0].rank != 1 || s->in[0].dim[0] != N)
    return gr_fail(GR_ERR_TYPE, s->loc, "takes f64[%d]", N);
  s->out[0] = (gr_type){.dtype = GR_F32};
  return GR_OK;
}

static gr_status exact_sum_cpu(const gr_launch *l) {
  const double *sums = l->in[0];
  double sum = 0;
  for (int i = 0; i < (EXPONENTS - 1) * LIMBS; i++)
    sum += ldexp(sums[i], 2 * (i / LIMBS - 150) + LIMB_BITS * (i % LIMBS));
  for (int i = (EXPONENTS - 1) * LIMBS; i < N; i++)
    if (sums[i] != 0) sum = (double)INFINITY;
  *(float *)l->out[0] = (float)sum;
  return GR_OK;
}

static const gr_case sum_cases[] = {
    {{"f64[512]"}, .fill = "i"}, {{"f64[3]"}, .fails = "takes"}, {{0}}};

const gr_op gr_op_exact_sum = {
    .name = "exact_sum",
    .doc = "What sums of sum_squares_exact stand for, rounded.",
    .index_spec = "_->",
    .infer = infer_sum,
    .cpu_only = true,
    .cpu = exact_sum_cpu,
    .cases = sum_cases,
};
