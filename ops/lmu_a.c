// lmu_a.c - the matrices of a Legendre memory unit, A and (lmu_b) B: see lmu.h.
#include "ops/lmu.h"
#include "ops/nn.h"
#include "ops/ops.h"

struct lmu {
  int64_t order;
  double theta;
};

static gr_status check(const gr_site *s) {
  const struct lmu *a = s->attr;
  if (a->order < 1 || a->order > 4096)
    return gr_fail(GR_ERR_TYPE, s->loc, "an LMU's order is 1 to 4096, not %lld",
                   (long long)a->order);
  if (!(a->theta > 0))
    return gr_fail(GR_ERR_TYPE, s->loc, "an LMU's theta, its window in steps, is positive, not %g",
                   a->theta);
  return GR_OK;
}

static gr_status a_infer(gr_site *s) {
  GR_TRY(check(s));
  int64_t n = ((const struct lmu *)s->attr)->order;
  s->out[0] = (gr_type){.dtype = GR_F32, .rank = 2, .dim = {n, n}};
  return GR_OK;
}

static gr_status b_infer(gr_site *s) {
  GR_TRY(check(s));
  s->out[0] = (gr_type){.dtype = GR_F32, .rank = 1, .dim = {((const struct lmu *)s->attr)->order}};
  return GR_OK;
}

static size_t scratch(const gr_site *s) {
  return sizeof(double) * gr_lmu_scratch(((const struct lmu *)s->attr)->order);
}

static gr_status a_cpu(const gr_launch *l) {
  const struct lmu *a = l->attr;
  const double *held = gr_lmu_held(a->order, a->theta, l->scratch);
  for (int64_t i = 0; i < a->order; i++)
    for (int64_t j = 0; j < a->order; j++) OUT(0, i * a->order + j, held[i * (a->order + 1) + j]);
  return GR_OK;
}

static gr_status b_cpu(const gr_launch *l) {
  const struct lmu *a = l->attr;
  const double *held = gr_lmu_held(a->order, a->theta, l->scratch);
  for (int64_t i = 0; i < a->order; i++) OUT(0, i, held[i * (a->order + 1) + a->order]);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct lmu, order, GR_ATTR_INT, NULL, "polynomials: the size of the memory"),
    GR_ATTR(struct lmu, theta, GR_ATTR_FLOAT, NULL, "the window remembered, in steps"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct lmu){6, 10}},
    {{0}, .attr = &(struct lmu){0, 10}, .fails = "order is 1 to 4096"},
    {{0}, .attr = &(struct lmu){4, 0}, .fails = "theta"},
    {{0}},
};

const gr_op gr_op_lmu_a = {
    .name = "lmu_a",
    .doc = "The matrix A [order, order] of a Legendre memory unit, held over one step.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct lmu),
    .attrs = attrs,
    .axes = "->__",
    .infer = a_infer,
    .amp = GR_AMP_F32,
    .cpu = a_cpu,
    .scratch = scratch,
    .cases = cases,
};

const gr_op gr_op_lmu_b = {
    .name = "lmu_b",
    .doc = "The vector B [order] of a Legendre memory unit, held over one step.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct lmu),
    .attrs = attrs,
    .axes = "->_",
    .infer = b_infer,
    .amp = GR_AMP_F32,
    .cpu = b_cpu,
    .scratch = scratch,
    .cases = cases,
};
