// clamp.c - limits x to an interval.
#include "ops/kernels/onnx_read.h"
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

static const char *bound_read(gr_onnx_reading *r, int k) {
  double x = 0;
  int v = gr_read_in(r, k, false);
  if (v && !gr_read_scalar(r, v, &x)) gr_read_refuse(r, "has a bound that is no constant");
  return v && isfinite(x) ? gr_arena_printf(r->arena, "%.9g", x) : NULL;
}

static void read_clip(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  if (!r->err && !gr_dtypes[gr_read_type(r, x)->dtype].is_float) {
    int low = gr_read_in(r, 1, false), high = gr_read_in(r, 2, false);
    if (low) x = GR_READ_TWO(r, &gr_op_max, x, low);
    gr_read_out(r, 0, high ? GR_READ_TWO(r, &gr_op_min, x, high) : x, last);
    return;
  }
  const char *low = bound_read(r, 1), *high = bound_read(r, 2);
  gr_read_out(r, 0, GR_READ(r, &gr_op_clamp, x, {"low", low}, {"high", high}), last);
}

// min(max(alpha x + beta, 0), 1), times x if it is HardSwish.
static void hard(gr_onnx_reading *r, double alpha, double beta, bool times_x) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  int y = GR_READ(r, &gr_op_scale, x, {"by", gr_arena_printf(r->arena, "%.9g", alpha)});
  y = GR_READ(r, &gr_op_add_scalar, y, {"by", gr_arena_printf(r->arena, "%.9g", beta)});
  y = GR_READ(r, &gr_op_clamp, y, {"low", "0"}, {"high", "1"});
  gr_read_out(r, 0, times_x ? GR_READ_TWO(r, &gr_op_mul, x, y) : y, last);
}

static void read_hard_sigmoid(gr_onnx_reading *r) {
  double alpha = gr_read_float(r, "alpha", 0.2);
  hard(r, alpha, gr_read_float(r, "beta", 0.5), false);
}
static void read_hard_swish(gr_onnx_reading *r) { hard(r, 1 / 6.0, 0.5, true); }

static const gr_attr attrs[] = {GR_ATTR(struct clamp, low, GR_ATTR_FLOAT, "-inf", "lower bound"),
                                GR_ATTR(struct clamp, high, GR_ATTR_FLOAT, "inf", "upper bound"),
                                {0}};
static const gr_case cases[] = {{{"f32[4,6]"}, .attr = &(struct clamp){-0.5, 0.7}},
                                {{"f32[5]"}, .attr = &(struct clamp){-INFINITY, 0}},
                                {{0}}};

const gr_op gr_op_clamp = {
    GR_POINTWISE_FIELDS(clamp),
    .doc = "min(max(x, low), high). The gradient is dy where low < x < high, else 0.",
    .attr_size = sizeof(struct clamp),
    .attrs = attrs,
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Clip", read_clip}, {"HardSigmoid", read_hard_sigmoid},
                              {"HardSwish", read_hard_swish}),
    .cases = cases,
};

// 0 at the bounds, as in PyTorch, and as the gradient of relu is.
GR_POINTWISE2(clamp_grad, x0 > low && x0 < high ? x1 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}, .attr = &(struct clamp){-0.5, 0.7}},
                                     {{0}}};

const gr_op gr_op_clamp_grad = {
    GR_POINTWISE_FIELDS(clamp_grad),
    .doc = "dy where low < x < high, else 0.",
    .attr_size = sizeof(struct clamp),
    .attrs = attrs,
    .infer = gr_pointwise_infer_float,
    .grad = gr_grad_of_last,
    .cases = grad_cases,
};
