// shift.c - sum with a constant.
#include "ops/kernels/pointwise.h"

struct shift {
  double by;
};

gr_val gr_shift(gr_builder *b, gr_val x, double by) {
  return GR_EMIT(b, &gr_op_shift, &(struct shift){by}, x);
}

#undef GR_LOCALS
#define GR_LOCALS(T, attr) const T by = (T)((const struct shift *)(attr))->by;
GR_POINTWISE1(shift, x0 + by)

static void grad(const gr_grad *g) { g->dx[0] = g->dy[0]; }

static const gr_attr attrs[] = {GR_ATTR(struct shift, by, GR_ATTR_FLOAT, NULL, "the constant"),
                                {0}};
static const gr_case cases[] = {{{"f32[4,6]"}, .attr = &(struct shift){0.5}},
                                {{"i32[4]"}, .attr = &(struct shift){-3}, .fill = "i"},
                                {{0}}};

const gr_op gr_op_shift = {
    GR_POINTWISE_FIELDS(shift),
    .doc = "x plus a constant.",
    .n_in = 1,
    .attr_size = sizeof(struct shift),
    .attrs = attrs,
    .axes = "...->...",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .cases = cases,
};
