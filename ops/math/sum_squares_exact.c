// sum_squares_exact.c - the sum of all squares without rounding, so that it is the same in any
// order: canonical numerics add up the slices of gradients that ranks have.
//
// The square of an f32 is its mantissa's, of 48 bits, times a power of 4. For each of the 256
// exponents the squares of mantissas are added up as integers, in three parts of 16 bits, lowest
// first, which f64 holds exactly for up to 2^37 numbers, so that `add` and all_reduce are exact
// too. Numbers that are not finite are counted with the exponent 255.
#include <math.h>
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

enum { EXPONENTS = 256, LIMBS = 3, LIMB_BITS = 16, N = EXPONENTS * LIMBS };
enum { PARTS = 16, BLOCK = 1 << 15, LANES = 4 };  // 2^15 squares of 48 bits are less than 2^63

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

// Adds the squares of up to BLOCK numbers to the sums.
static void add_block(const float *x, int64_t n, int64_t *sums) {
  uint64_t lane[LANES][EXPONENTS] = {{0}};
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    uint32_t e = bits >> 23 & 255, m = (bits & 0x7fffff) | (e ? 0x800000 : 0);
    lane[i % LANES][e + !e] += (uint64_t)m * m;
  }
  for (int e = 0; e < EXPONENTS; e++) {
    uint64_t sum = 0;
    for (int k = 0; k < LANES; k++) sum += lane[k][e];
    for (int k = 0; k < LIMBS - 1; k++)
      sums[e * LIMBS + k] += (int64_t)(sum >> (LIMB_BITS * k) & 0xffff);
    sums[e * LIMBS + LIMBS - 1] += (int64_t)(sum >> (LIMB_BITS * (LIMBS - 1)));
  }
}

static void part(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t n = gr_type_count(l->in_type);
  for (int64_t p = begin; p < end; p++) {
    int64_t *sums = (int64_t *)l->scratch + p * N, until = n * (p + 1) / PARTS;
    memset(sums, 0, sizeof *sums * N);
    for (int64_t i = n * p / PARTS; i < until; i += BLOCK)
      add_block((const float *)l->in[0] + i, until - i < BLOCK ? until - i : BLOCK, sums);
  }
}

static gr_status sum_squares_exact_cpu(const gr_launch *l) {
  double *out = l->out[0];
  gr_parallel(l, PARTS, gr_type_count(l->in_type) < BLOCK ? PARTS : 1, part, (void *)l);
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
        "exponent: [768].",
    .n_in = 1,
    .n_out = 1,
    .index_spec = "...->_",
    .padding = GR_PADDING_SUMMED,
    .infer = infer,
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
    {{"f64[768]"}, .fill = "i"}, {{"f64[3]"}, .fails = "takes"}, {{0}}};

const gr_op gr_op_exact_sum = {
    .name = "exact_sum",
    .doc = "What sums of sum_squares_exact stand for, rounded.",
    .n_in = 1,
    .n_out = 1,
    .index_spec = "_->",
    .infer = infer_sum,
    .cpu = exact_sum_cpu,
    .cases = sum_cases,
};
