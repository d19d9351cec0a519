// add_scalar.c - adds a constant to every element.
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"

struct add_scalar {
  double by;
};

gr_val gr_add_scalar(gr_builder *b, gr_val x, double by) {
  return GR_EMIT(b, &gr_op_add_scalar, &(struct add_scalar){by}, x);
}

#undef GR_LOCALS
#define GR_LOCALS(T, attr) const T by = (T)((const struct add_scalar *)(attr))->by;
GR_POINTWISE1(add_scalar, x0 + by)

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_require_number(s, s->in[0].dtype, ((const struct add_scalar *)s->attr)->by));
  return gr_pointwise_infer(s);
}

static void grad(const gr_grad *g) { g->dx[0] = g->dy[0]; }

static const gr_attr attrs[] = {GR_ATTR(struct add_scalar, by, GR_ATTR_FLOAT, NULL, "the constant"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct add_scalar){0.5}},
    {{"i32[4]"}, .attr = &(struct add_scalar){-3}, .fill = "i"},
    {{"i32[4]"}, .attr = &(struct add_scalar){0.5}, .fails = "0.5 is no number of the dtype i32"},
    {{0}}};

const gr_op gr_op_add_scalar = {
    GR_POINTWISE_FIELDS(add_scalar),
    .doc = "x plus a constant.",
    .attr_size = sizeof(struct add_scalar),
    .attrs = attrs,
    .infer = infer,
    .grad = grad,
    .cases = cases,
};
