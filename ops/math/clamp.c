// clamp.c - limits x to an interval.
#include "ops/kernels/pointwise.h"

struct clamp {
  double low;
  double high;
};

#undef GR_LOCALS
#define GR_LOCALS(T, attr)                              \
  const T low = (T)((const struct clamp *)(attr))->low, \
          high = (T)((const struct clamp *)(attr))->high;
GR_POINTWISE1(clamp, (x0 < low) ? low : (x0 > high) ? high : x0)

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_clamp_grad, g->attr, g->x[0], g->dy[0]);
}

static const gr_attr attrs[] = {GR_ATTR(struct clamp, low, GR_ATTR_FLOAT, "-inf", "lower bound"),
                                GR_ATTR(struct clamp, high, GR_ATTR_FLOAT, "inf", "upper bound"),
                                {0}};
static const gr_case cases[] = {{{"f32[4,6]"}, .attr = &(struct clamp){-0.5, 0.7}},
                                {{"f32[5]"}, .attr = &(struct clamp){-INFINITY, 0}},
                                {{0}}};

const gr_op gr_op_clamp = {
    GR_POINTWISE_FIELDS(clamp),
    .doc = "min(max(x, low), high). The gradient is dy where low <= x <= high, else 0.",
    .n_in = 1,
    .attr_size = sizeof(struct clamp),
    .attrs = attrs,
    .index_spec = "...->...",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .cases = cases,
};

GR_POINTWISE2(clamp_grad, x0 >= low && x0 <= high ? x1 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}, .attr = &(struct clamp){-0.5, 0.7}},
                                     {{0}}};

const gr_op gr_op_clamp_grad = {
    GR_POINTWISE_FIELDS(clamp_grad),
    .doc = "dy where low <= x <= high, else 0.",
    .n_in = 2,
    .attr_size = sizeof(struct clamp),
    .attrs = attrs,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer_float,
    .cases = grad_cases,
};
