// scale.c - multiplies every element by a constant.
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"

struct scale {
  double by;
};

gr_val gr_scale(gr_builder *b, gr_val x, double by) {
  return GR_EMIT(b, &gr_op_scale, &(struct scale){by}, x);
}

#undef GR_LOCALS
#define GR_LOCALS(T, attr) const T by = (T)((const struct scale *)(attr))->by;
GR_POINTWISE1(scale, (x0 * by))

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_require_number(s, s->in[0].dtype, ((const struct scale *)s->attr)->by));
  return gr_pointwise_infer(s);
}

static void grad(const gr_grad *g) {
  g->dx[0] = gr_scale(g->b, g->dy[0], ((const struct scale *)g->attr)->by);
}

static const gr_attr attrs[] = {GR_ATTR(struct scale, by, GR_ATTR_FLOAT, NULL, "the constant"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct scale){0.5}},
    {{"f32[3]"}, .attr = &(struct scale){-1.3}},
    {{"i32[4]"}, .attr = &(struct scale){-3}, .fill = "i"},
    {{"i32[4]"}, .attr = &(struct scale){0.5}, .fails = "0.5 is no number of the dtype i32"},
    {{0}},
};

const gr_op gr_op_scale = {
    GR_POINTWISE_FIELDS(scale),
    .doc = "x times a constant.",
    .attr_size = sizeof(struct scale),
    .attrs = attrs,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cases = cases,
};
