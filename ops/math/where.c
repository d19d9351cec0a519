// where.c - elementwise choice between two values.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_where(gr_builder *b, gr_val x, gr_val y, gr_val z) {
  return GR_EMIT(b, &gr_op_where, NULL, x, y, z);
}

GR_POINTWISE3(where, x0 != 0 ? x1 : x2)

static void grad(const gr_grad *g) {
  gr_val taken = GR_EMIT(g->b, &gr_op_where_grad, NULL, g->x[0], g->dy[0]);
  g->dx[1] = taken;
  if (g->want[2]) g->dx[2] = gr_sub(g->b, g->dy[0], taken);
}

static void read_where(gr_onnx_reading *r) {
  int in[3] = {0};
  bool last = gr_read_together(r, 3, in);
  if (r->err) return;
  in[0] = gr_read_cast(r, in[0], gr_dtypes[gr_read_type(r, in[1])->dtype].is_float);
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_where, 3, in, 0, NULL), last);
}

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]", "f32[4,6]"}, .fill = "mnn"},
                                {{"i32[4]", "i32[4]", "i32[4]"}, .fill = "mii"},
                                {{0}}};

const gr_op gr_op_where = {
    GR_POINTWISE_FIELDS(where),
    .doc = "x where cond is not 0, else y.",
    .n_in = 3,
    .index_spec = "...,...,...->...",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Where", read_where}),
    .cases = cases,
};

GR_POINTWISE2(where_grad, x0 != 0 ? x1 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}, .fill = "mn"}, {{0}}};

const gr_op gr_op_where_grad = {
    GR_POINTWISE_FIELDS(where_grad),
    .doc = "dy where cond is not 0, else 0.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer,
    .cases = grad_cases,
};
