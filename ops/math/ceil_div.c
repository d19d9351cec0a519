// ceil_div.c - division by a constant, rounded up: the number of frames of a strided sequence.
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"

struct ceil_div {
  double by;
};

#undef GR_LOCALS
#define GR_LOCALS(T, attr) const T by = (T)((const struct ceil_div *)(attr))->by;
GR_POINTWISE1(ceil_div, ceil(x0 / by))

static gr_status infer(gr_op_call *s) {
  double by = ((const struct ceil_div *)s->attr)->by;
  GR_TRY(gr_require_number(s, s->in[0].dtype, by));
  if (by == 0) return gr_fail(GR_ERR_TYPE, s->loc, "divides by 0");
  return gr_pointwise_infer(s);
}

static const gr_attr attrs[] = {GR_ATTR(struct ceil_div, by, GR_ATTR_FLOAT, NULL, "the divisor"),
                                {0}};
static const gr_case cases[] = {
    {{"i32[4,6]"}, .attr = &(struct ceil_div){2}, .fill = "i"},
    {{"f32[5]"}, .attr = &(struct ceil_div){0.37}},
    {{"i32[4]"}, .attr = &(struct ceil_div){0.5}, .fails = "0.5 is no number of the dtype i32"},
    {{"i32[4]"}, .attr = &(struct ceil_div){0}, .fails = "divides by 0"},
    {{0}}};

const gr_op gr_op_ceil_div = {
    GR_POINTWISE_FIELDS(ceil_div),
    .doc = "x / by, rounded up; the gradient is 0.",
    .attr_size = sizeof(struct ceil_div),
    .attrs = attrs,
    .infer = infer,
    .grad = gr_grad_zero,
    .cases = cases,
};
