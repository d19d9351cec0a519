// select.c - one element of the first axis, as a value without that axis.
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct select {
  int64_t index;
};
struct select_grad {
  int64_t index, size;
};

gr_val gr_select(gr_builder *b, gr_val x, int64_t index) {
  return GR_EMIT(b, &gr_op_select, &(struct select){index}, x);
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "_ab->ab"
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 1; d < s->in[0].rank; d++) rest[d - 1] = (char)('a' + d);
  snprintf(buf, 128, "_%s->%s", rest, rest);
}

static gr_status infer(gr_op_call *s) {
  const struct select *a = s->attr;
  if (a->index < 0 || a->index >= s->in[0].dim[0])
    return gr_fail(GR_ERR_TYPE, s->loc, "no index %lld in an axis of %lld", (long long)a->index,
                   (long long)s->in[0].dim[0]);
  return GR_OK;
}

static void grad(const gr_grad *g) {
  int64_t of = gr_at(g->b->g, g->x[0])->type.dim[0],
          index = ((const struct select *)g->attr)->index;
  g->dx[0] = GR_EMIT(g->b, &gr_op_select_grad, (&(struct select_grad){index, of}), g->dy[0]);
}

static gr_status select_cpu(const gr_launch *l) {
  const struct select *a = l->attr;
  int64_t bytes = (int64_t)gr_type_bytes(l->out_type);
  gr_copy_rows(l, l->out[0], bytes, (const char *)l->in[0] + a->index * bytes, bytes, bytes, 1);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  int64_t n = gr_type_count(&g->call->out[0]);
  int64_t begin = n * ((const struct select *)g->call->attr)->index;
  gr_gpu_copy_add(g, gr_gpu_out(g, 0, 0), gr_gpu_in(g, 0, begin), gr_type_bytes(&g->call->out[0]));
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  int64_t index = ((const struct select *)c->call[0]->attr)->index;
  c->out[0] = GR_ONNX(c, "Gather", c->in[0], gr_onnx_number(c, GR_I64, (double)index));
  gr_onnx_int(c, "axis", 0);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct select, index, GR_ATTR_INT, NULL, "index along the first axis"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct select){1}},
    {{"f32[3,4,6]"}, .attr = &(struct select){2}},
    {{"f32[4,6]"}, .attr = &(struct select){4}, .fails = "no index 4"},
    {{0}},
};

const gr_op gr_op_select = {
    .name = "select",
    .doc = "One index of the first axis of x; the axis is removed.",
    .efforts = gr_moves_result,
    .n_in = 1,
    .attr_size = sizeof(struct select),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = select_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};

static void grad_index_spec_of(const gr_op_call *s, char buf[128]) {
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 0; d < s->in[0].rank; d++) rest[d] = (char)('a' + d);
  snprintf(buf, 128, "%s->_%s", rest, rest);
}

static gr_status grad_infer(gr_op_call *s) {
  s->out[0].dim[0] = ((const struct select_grad *)s->attr)->size;
  return GR_OK;
}

static gr_status grad_cpu(const gr_launch *l) {
  const struct select_grad *a = l->attr;
  int64_t bytes = (int64_t)gr_type_bytes(l->in_type), before = a->index * bytes;
  char *y = l->out[0];
  memset(y, 0, (size_t)before);
  gr_copy_rows(l, y + before, bytes, l->in[0], bytes, bytes, 1);
  memset(y + before + bytes, 0, gr_type_bytes(l->out_type) - (size_t)(before + bytes));
  return GR_OK;
}

static gr_status grad_gpu(gr_gpu_call *g) {
  const struct select_grad *a = g->call->attr;
  int64_t n = gr_type_count(&g->call->in[0]);
  gr_gpu_copy_box(
      g,
      &(gr_gpu_box){
          .rows = 1, .columns = n, .x_width = n, .y_width = n * a->size, .y_from = n * a->index});
  return GR_OK;
}

static const gr_attr grad_attrs[] = {
    GR_ATTR(struct select_grad, index, GR_ATTR_INT, NULL, "index along the first axis"),
    GR_ATTR(struct select_grad, size, GR_ATTR_INT, NULL, "size of the first axis"),
    {0}};
static const gr_case grad_cases[] = {{{"f32[4,6]"}, .attr = &(struct select_grad){1, 3}}, {{0}}};

static void second(const gr_grad *g) {
  g->dx[0] = gr_select(g->b, g->dy[0], ((const struct select_grad *)g->attr)->index);
}

const gr_op gr_op_select_grad = {
    .name = "select_grad",
    .doc =
        "A value that is x at one index of a new first axis and zero elsewhere: the gradient of "
        "select.",
    .n_in = 1,
    .attr_size = sizeof(struct select_grad),
    .attrs = grad_attrs,
    .index_spec_of = grad_index_spec_of,
    .linear = true,
    .infer = grad_infer,
    .grad = second,
    .cpu = grad_cpu,
    .gpu = grad_gpu,
    .cases = grad_cases,
};
