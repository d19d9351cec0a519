// mul.c - elementwise product.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_mul(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_mul, NULL, x, y); }

GR_POINTWISE2(mul, (x0 * x1))

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_mul(g->b, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = gr_mul(g->b, g->dy[0], g->x[0]);
}

// A product over axes, by a multiplication for each of their elements.
static void read_product(gr_onnx_reading *r) {
  enum { MOST = 64 };
  int64_t axes[GR_MAX_RANK], start[GR_READ_CHOICES], one[GR_READ_CHOICES];
  bool none;
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int n = gr_read_axes(r, gr_read_type(r, x)->rank, axes, &none);
  for (int i = 0; i < n && !none && !r->err; i++) {
    int y = 0, axis = (int)axes[i];
    int64_t size = gr_read_type(r, x)->dim[axis];
    for (int c = 0; c < GR_READ_CHOICES; c++)
      if (size > MOST || r->vars[x].type[c].dim[axis] != size)
        gr_read_refuse(r, "multiplies an axis whose size is open or above %d", MOST);
    for (int64_t k = 0; k < size && !r->err; k++) {
      gr_read_same(start, k), gr_read_same(one, 1);
      int part = gr_read_slice(r, x, axis, start, one);
      y = k ? GR_READ_TWO(r, &gr_op_mul, y, part) : part;
    }
    x = y;
  }
  gr_read_out(r, 0, none ? x : gr_read_reduced(r, x, n, axes), false);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}},
    {{"i32[5]", "i32[5]"}, .fill = "ii"},
    {{"f32[4]", "i32[4]"}, .fails = "operand 2 is i32, but operand 1 is f32"},
    {{0}},
};

const gr_op gr_op_mul = {
    GR_POINTWISE_FIELDS(mul),
    .doc = "x * y. The shapes must be equal.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Mul"}, {"And", gr_read_logic}, {"ReduceProd", read_product}),
    .cases = cases,
};
