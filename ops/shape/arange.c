// arange.c - numbers at equal distances.
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct arange {
  int64_t size;
  double start, step;
  int64_t dtype;
};

static gr_status infer(gr_op_call *s) {
  const struct arange *a = s->attr;
  return gr_source_shape(s, &(gr_ints){1, {a->size}}, (gr_dtype)a->dtype);
}

static gr_status arange_cpu(const gr_launch *l) {
  const struct arange *a = l->attr;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, a->start + a->step * (double)gr_global_index(l, 0, i));
  return GR_OK;
}

GR_CU(arange);

static gr_status gpu(gr_gpu_call *g) {
  const struct arange *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_arange, "arange", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_real(k, a->start), gr_gpu_real(k, a->step);
  gr_gpu_global(g, k, 0);
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const struct arange *a = c->call[0]->attr;
  const char *i = gr_onnx_range(c, gr_onnx_out_size(c, 0, 0));
  if (a->start != 0 || a->step != 1) {
    i = gr_onnx_cast(c, i, gr_onnx_dtype(GR_F64));
    i = GR_ONNX(c, "Mul", i, gr_onnx_number(c, GR_F64, a->step));
    i = GR_ONNX(c, "Add", i, gr_onnx_number(c, GR_F64, a->start));
  }
  c->out[0] = gr_onnx_cast(c, i, gr_onnx_dtype((gr_dtype)a->dtype));
}

// The k-th operand of a Range, by choice; sets whether it is no integer.
static void read_bound(gr_onnx_reading *r, int k, double out[GR_READ_CHOICES], bool *is_float) {
  int var = gr_read_in(r, k, true);
  const gr_read_var *v = &r->vars[var];
  if (!r->err && (!v->data[0] || v->weight))
    gr_read_refuse(r, "has bounds that are no constants, and no sizes");
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    const gr_type *t = &v->type[c];
    if (gr_type_count(t) != 1) gr_read_refuse(r, "has bounds that are no numbers");
    out[c] = r->err ? 0 : gr_get(v->data[c], t->dtype, 0);
    if (!(fabs(out[c]) <= INT32_MAX)) gr_read_refuse(r, "has bounds that are too large");
    *is_float |= gr_dtypes[t->dtype].is_float;
  }
}

static void read_range(gr_onnx_reading *r) {
  enum { START, LIMIT, STEP };
  double n[3][GR_READ_CHOICES] = {0};
  int64_t size[1][GR_READ_CHOICES];
  bool is_float = false;
  for (int k = 0; k < 3; k++) read_bound(r, k, n[k], &is_float);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    double count = ceil((n[LIMIT][c] - n[START][c]) / n[STEP][c]);
    if (!(count <= INT32_MAX)) gr_read_refuse(r, "has steps of 0, or too small");
    if (n[START][c] != n[START][0] || n[STEP][c] != n[STEP][0])
      gr_read_refuse(r, "starts at an open number");
    size[0][c] = r->err || count < 0 ? 0 : (int64_t)count;
  }
  if (r->err) return;
  const gr_read_setting s[] = {{"size", .sizes = size, .n = 1},
                               {"start", gr_arena_printf(r->arena, "%.10g", n[START][0])},
                               {"step", gr_arena_printf(r->arena, "%.10g", n[STEP][0])},
                               {"dtype", is_float ? "f32" : "i64"}};
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_arange, 0, NULL, 4, s), false);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct arange, size, GR_ATTR_INT, NULL, "number of elements"),
    GR_ATTR(struct arange, start, GR_ATTR_FLOAT, "0", "the first"),
    GR_ATTR(struct arange, step, GR_ATTR_FLOAT, "1", "from one to the next"),
    GR_ATTR(struct arange, dtype, GR_ATTR_DTYPE, "f32", "dtype of the result"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct arange){7, 0, 1, GR_I32}},
    {{0}, .attr = &(struct arange){40, 0.5, -0.25, GR_F32}},
    {{0}, .attr = &(struct arange){0, 0, 1, GR_F32}, .fails = "empty"},
    {{0}},
};

const gr_op gr_op_arange = {
    .name = "arange",
    .doc = "start, start + step, start + 2 step, ...: `size` numbers.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct arange),
    .attrs = attrs,
    .infer = infer,
    .cpu = arange_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"Range", read_range}),
    .cases = cases,
};
