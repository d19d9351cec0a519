// less.c - elementwise comparison.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"
#include "ops/ops.h"

gr_val gr_less(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_less, NULL, x, y); }

GR_POINTWISE2(less, x0 < x1 ? 1.0f : 0.0f)

// 1 - x of what is 0 or 1.
static int opposite(gr_onnx_reading *r, int x) {
  const int64_t one = 1;
  if (r->err || !x) return 0;
  bool is_float = gr_dtypes[gr_read_type(r, x)->dtype].is_float;
  return GR_READ_TWO(
      r, &gr_op_less, x,
      is_float ? gr_read_number(r, 1) : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &one));
}

// 1 where operand a is below the other one, or where it is not.
static void compare(gr_onnx_reading *r, int a, bool is_not) {
  int in[2] = {0};
  bool last = gr_read_together(r, 2, in);
  int y = is_not ? 0 : gr_read_chance(r, in[a], in[1 - a]);
  if (!y) y = GR_READ_TWO(r, &gr_op_less, in[a], in[1 - a]);
  gr_read_out(r, 0, is_not ? opposite(r, y) : y, last);
}

static void read_less(gr_onnx_reading *r) { compare(r, 0, false); }
static void read_greater(gr_onnx_reading *r) { compare(r, 1, false); }
static void read_less_or_equal(gr_onnx_reading *r) { compare(r, 1, true); }
static void read_greater_or_equal(gr_onnx_reading *r) { compare(r, 0, true); }

static void read_equal(gr_onnx_reading *r) {
  int in[2] = {0};
  bool last = gr_read_together(r, 2, in);
  int below = GR_READ_TWO(r, &gr_op_less, in[0], in[1]),
      above = GR_READ_TWO(r, &gr_op_less, in[1], in[0]);
  gr_read_out(r, 0, opposite(r, GR_READ_TWO(r, &gr_op_add, below, above)), last);
}

static void read_sign(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  if (r->err) return;
  bool is_float = gr_dtypes[gr_read_type(r, x)->dtype].is_float;
  int zero = is_float ? gr_read_number(r, 0)
                      : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &(int64_t){0});
  int y = GR_READ_TWO(r, &gr_op_sub, GR_READ_TWO(r, &gr_op_less, zero, x),
                      GR_READ_TWO(r, &gr_op_less, x, zero));
  gr_read_out(r, 0, y, last);
}

static void read_xor(gr_onnx_reading *r) {
  int in[2] = {0};
  bool last = gr_read_truths(r, in);
  int y = GR_READ_TWO(r, &gr_op_add, GR_READ_TWO(r, &gr_op_less, in[0], in[1]),
                      GR_READ_TWO(r, &gr_op_less, in[1], in[0]));
  gr_read_out(r, 0, y, last);
}

static void read_not(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  gr_read_out(r, 0, opposite(r, x), last);
}

// What is neither below 1 nor above 0.
static void read_is_nan(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  int one = gr_read_number(r, 1), zero = gr_read_number(r, 0);
  int y = GR_READ_TWO(r, &gr_op_max, GR_READ_TWO(r, &gr_op_less, x, one),
                      GR_READ_TWO(r, &gr_op_less, zero, x));
  gr_read_out(r, 0, opposite(r, y), last);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}}, {{"i32[5]", "i32[5]"}, .fill = "ii"}, {{0}}};

const gr_op gr_op_less = {
    GR_POINTWISE_FIELDS(less),
    .doc = "1 where x < y, else 0, in the dtype of x.",
    .infer = gr_pointwise_infer,
    .grad = gr_grad_zero,
    .from_onnx = GR_FROM_ONNX(
        {"Less", read_less}, {"Greater", read_greater}, {"LessOrEqual", read_less_or_equal},
        {"GreaterOrEqual", read_greater_or_equal}, {"Equal", read_equal}, {"Not", read_not},
        {"Xor", read_xor}, {"IsNaN", read_is_nan}, {"Sign", read_sign}),
    .cases = cases,
};
