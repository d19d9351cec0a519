// add.c - elementwise sum.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_add(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_add, NULL, x, y); }

GR_POINTWISE2(add, x0 + x1)

static void grad(const gr_grad *g) {
  g->dx[0] = g->dy[0];
  g->dx[1] = g->dy[0];
}

// The vector that is added to the result of a linear layer is its bias.
static bool is_bias(gr_onnx_reading *r, int k) {
  int y = gr_read_bias(r, k, 1 - k);
  gr_read_out(r, 0, y, false);
  return y != 0;
}

static void read_add(gr_onnx_reading *r) {
  int in[2];
  bool last = gr_read_is_last(r, 0) || gr_read_is_last(r, 1);
  if (!last && (is_bias(r, 0) || is_bias(r, 1))) return;
  last = gr_read_together(r, 2, in);
  if (!r->err) gr_read_out(r, 0, GR_READ_TWO(r, &gr_op_add, in[0], in[1]), last);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}},
    {{"i32[5]", "i32[5]"}, .fill = "ii"},
    {{"f32[]", "f32[]"}},
    {{"bf16[40,30]", "bf16[40,30]"}},
    {{"f32[4,6]", "f32[6]"}, .fails = "1 axis"},  // ops never broadcast implicitly: see broadcast
    {{"f32[6,6]", "f32[6]"}, .fails = "1 axis"},
    {{"f32[4,6]", "f32[4,5]"}, .fails = "sizes 6 and 5 differ"},
    {{"f32[4]", "bf16[4]"}, .fails = "operand 2 is bf16, but operand 1 is f32"},
    {{"f32[4]"}, .fails = "takes 2 operands, got 1"},
    {{0}},
};

const gr_op gr_op_add = {
    GR_POINTWISE_FIELDS(add),
    .doc = "x + y. The shapes must be equal.",
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Add", read_add}, {"Sum", gr_read_all}),
    .cases = cases,
};
