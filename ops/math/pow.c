// pow.c - a constant power.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"
#include "ops/ops.h"

struct pow {
  double exponent;
};

gr_val gr_pow(gr_builder *b, gr_val x, double exponent) {
  return GR_EMIT(b, &gr_op_pow, &(struct pow){exponent}, x);
}

#undef GR_LOCALS
#define GR_LOCALS(T, attr) const T exponent = (T)((const struct pow *)(attr))->exponent;
GR_POINTWISE1(pow, pow(x0, exponent))

// d x^e / dx = e x^(e - 1), which is 1 for e = 1 also where x is 0; x^0 is constant there, too.
static void grad(const gr_grad *g) {
  double e = ((const struct pow *)g->attr)->exponent;
  if (e == 0) return;
  gr_val slope = gr_scale(g->b, gr_pow(g->b, g->x[0], e - 1), e);
  g->dx[0] = gr_mul(g->b, g->dy[0], slope);
}

// A number to the power of x, e^(x ln b).
static bool read_exponential(gr_onnx_reading *r) {
  double base = 0, exponent;
  bool last;
  int x = gr_read_as_is(r, 1, &last);
  if (gr_read_scalar(r, x, &exponent) || !gr_read_scalar(r, gr_read_in(r, 0, true), &base))
    return false;
  if (base <= 0) gr_read_refuse(r, "has a base of %g; only one above 0 is read", base);
  const char *by = gr_arena_printf(r->arena, "%.17g", log(base));
  x = GR_READ(r, &gr_op_scale, gr_read_cast(r, x, true), {"by", by});
  gr_read_out(r, 0, GR_READ_ONE(r, &gr_op_exp, x), last);
  return true;
}

static void read_pow(gr_onnx_reading *r) {
  double exponent = 0;
  bool last;
  if (read_exponential(r)) return;
  int x = gr_read_as_is(r, 0, &last);
  if (!gr_read_scalar(r, gr_read_in(r, 1, true), &exponent))
    gr_read_refuse(r, "has an exponent that is no constant");
  if (r->err) return;
  const char *text = gr_arena_printf(r->arena, "%.8g", exponent);
  int y = exponent == 2 ? GR_READ_ONE(r, &gr_op_square, x)
                        : GR_READ(r, &gr_op_pow, x, {"exponent", text});
  gr_read_out(r, 0, y, last);
}

static void read_reciprocal(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  gr_read_out(r, 0, GR_READ(r, &gr_op_pow, x, {"exponent", "-1"}), last);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct pow, exponent, GR_ATTR_FLOAT, NULL, "the constant power"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct pow){2.5}, .fill = "p"},
    {{"f32[5]"}, .attr = &(struct pow){-0.5}, .fill = "p"},
    {{"f32[5]"}, .attr = &(struct pow){3}},
    {{"f32[5]"}, .attr = &(struct pow){0}, .fill = "z"},
    {{"i32[4]"}, .attr = &(struct pow){2}, .fails = "takes floats, got i32"},
    {{0}},
};

const gr_op gr_op_pow = {
    GR_POINTWISE_FIELDS(pow),
    .doc = "x to a constant power; NaN where x is negative and the power is not an integer.",
    .attr_size = sizeof(struct pow),
    .attrs = attrs,
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Pow", read_pow}, {"Reciprocal", read_reciprocal}),
    .cases = cases,
};
