// fill.c - a constant value.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct fill {
  gr_ints shape;
  double value;
  int64_t dtype;
};

gr_val gr_fill(gr_builder *b, const gr_type *t, double value) {
  struct fill a = {.shape.n = t->rank, .value = value, .dtype = (int64_t)t->dtype};
  for (int d = 0; d < t->rank; d++) a.shape.items[d] = t->dim[d];
  return gr_emit(b, &gr_op_fill, &a, 0, NULL);
}

static gr_status infer(gr_op_call *s) {
  const struct fill *a = s->attr;
  GR_TRY(gr_require_number(s, (gr_dtype)a->dtype, a->value));
  return gr_source_shape(s, &a->shape, (gr_dtype)a->dtype);
}

static gr_status fill_cpu(const gr_launch *l) {
  const struct fill *a = l->attr;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) OUT(0, i, a->value);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) { return gr_gpu_formula(g, "value"); }

static void to_onnx(gr_onnx_call *c) {
  const struct fill *a = c->call[0]->attr;
  const char *value = gr_onnx_number(c, (gr_dtype)a->dtype, a->value);
  c->out[0] = GR_ONNX(c, "Expand", value, gr_onnx_out_shape(c, 0, false));
}

static void read_constant(gr_onnx_reading *r) {
  const gr_onnx_tensor *t = gr_read_tensor(r, "value");
  double x = gr_read_float(r, "value_float", NAN);
  int64_t items[GR_MAX_ARGS], i = gr_read_int(r, "value_int", INT64_MIN);
  int n = gr_read_ints(r, "value_ints", GR_MAX_ARGS, items, GR_MAX_ARGS + 1);
  bool list = n <= GR_MAX_ARGS;
  if (!t) t = gr_read_tensor(r, "value_floats");
  if (!t && isnan(x) && i == INT64_MIN && !list) gr_read_refuse(r, "has no value that is read");
  if (r->err) return;
  const gr_type type = {.dtype = GR_I64, .rank = list, .dim = {n}};
  int v = t          ? gr_read_known(r, &t->type, t->data)
          : isnan(x) ? gr_read_integers(r, &type, list ? items : &i)
                     : gr_read_number(r, x);
  gr_read_out(r, 0, v, false);
}

static void read_constant_of_shape(gr_onnx_reading *r) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  const gr_onnx_tensor *t = gr_read_tensor(r, "value");
  int n = gr_read_numbers(r, gr_read_in(r, 0, true), GR_MAX_RANK, sizes);
  double v = 0;
  if (n < 0) gr_read_refuse(r, "has a shape that is no constant, or of more than 6 axes");
  if (t && gr_type_count(&t->type) != 1) gr_read_refuse(r, "has a value that is no number");
  if (r->err) return;
  if (t) v = gr_get(t->data, t->type.dtype, 0);
  const gr_read_setting s[] = {{"shape", .sizes = sizes, .n = n, .list = true},
                               {"value", gr_arena_printf(r->arena, "%.9g", v)},
                               {"dtype", t && t->type.dtype == GR_I64 ? "i64" : "f32"}};
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_fill, 0, NULL, 3, s), false);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct fill, shape, GR_ATTR_INTS, NULL, "shape of the result"),
    GR_ATTR(struct fill, value, GR_ATTR_FLOAT, "0", "value of every element"),
    GR_ATTR(struct fill, dtype, GR_ATTR_DTYPE, "f32", "dtype of the result"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct fill){{2, {4, 6}}, 0.5, GR_F32}},
    {{0}, .attr = &(struct fill){{0, {0}}, 3, GR_I32}},
    {{0}, .attr = &(struct fill){{1, {0}}, 3, GR_I32}, .fails = "empty"},
    {{0},
     .attr = &(struct fill){{0, {0}}, 3.5, GR_I32},
     .fails = "3.5 is no number of the dtype i32"},
    {{0}},
};

const gr_op gr_op_fill = {
    .name = "fill",
    .doc = "A value whose elements are all equal.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct fill),
    .attrs = attrs,
    .infer = infer,
    .cpu = fill_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx =
        GR_FROM_ONNX({"Constant", read_constant}, {"ConstantOfShape", read_constant_of_shape}),
    .cases = cases,
};
