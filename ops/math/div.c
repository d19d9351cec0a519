// div.c - elementwise quotient.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_div(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_div, NULL, x, y); }

GR_POINTWISE2(div, x0 / x1)

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_div(g->b, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = gr_neg(g->b, gr_div(g->b, gr_mul(g->b, g->dy[0], g->y[0]), g->x[1]));
}

// The quotient of whole numbers, which are sizes and exact as f32, without its fraction.
static int whole_quotient(gr_onnx_reading *r, int x, int y) {
  int q = GR_READ_TWO(r, &gr_op_div, gr_read_cast(r, x, true), gr_read_cast(r, y, true));
  return gr_read_cast(r, q, false);
}

static void read_div(gr_onnx_reading *r) {
  int in[2] = {0};
  bool last = gr_read_together(r, 2, in);
  if (r->err) return;
  bool is_float = gr_dtypes[gr_read_type(r, in[0])->dtype].is_float;
  int y = is_float ? GR_READ_TWO(r, &gr_op_div, in[0], in[1]) : whole_quotient(r, in[0], in[1]);
  gr_read_out(r, 0, y, last);
}

static void read_mod(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), y = gr_read_in(r, 1, true);
  gr_read_only(r, "fmod", 0);
  if (r->err) return;
  if (!gr_read_is_known(r, x) || gr_dtypes[gr_read_type(r, x)->dtype].is_float)
    gr_read_refuse(r, "is of numbers that are computed; only sizes are read so");
  int part = GR_READ_TWO(r, &gr_op_mul, y, whole_quotient(r, x, y));
  gr_read_out(r, 0, GR_READ_TWO(r, &gr_op_sub, x, part), false);
}

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]"}, .fill = "np"},
                                {{"i32[4]", "i32[4]"}, .fails = "takes floats, got i32"},
                                {{0}}};

const gr_op gr_op_div = {
    GR_POINTWISE_FIELDS(div),
    .doc = "x / y. The shapes must be equal.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Div", read_div}, {"Mod", read_mod}),
    .cases = cases,
};
