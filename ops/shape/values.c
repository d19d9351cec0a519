// values.c - a vector of given integers, such as the tokens that a text begins with.
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct values {
  gr_list list;
};

static gr_status infer(gr_op_call *s) {
  const struct values *a = s->attr;
  for (int64_t i = 0; i < a->list.n; i++)
    if (a->list.items[i] != (int32_t)a->list.items[i])
      return gr_fail(GR_ERR_TYPE, s->loc, "%lld is not an i32", (long long)a->list.items[i]);
  return gr_source_shape(s, &(gr_ints){1, {a->list.n}}, GR_I32);
}

static gr_status values_cpu(const gr_launch *l) {
  const struct values *a = l->attr;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    ((int32_t *)l->out[0])[i] = (int32_t)a->list.items[gr_global_index(l, 0, i)];
  return GR_OK;
}

GR_CU(values);

static gr_status gpu(gr_gpu_call *g) {
  const struct values *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_values, "values", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_text list = gr_text_make(g->arena);
  for (int64_t i = 0; i < a->list.n; i++)
    gr_text_printf(&list, "%s%lld", i ? "," : "", (long long)a->list.items[i]);
  gr_gpu_define(g, k, "LIST", "%s", list.chars);
  gr_gpu_int(k, n);
  gr_gpu_global(g, k, 0);
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const struct values *a = c->call[0]->attr;
  const char *list = gr_onnx_vector(c, (int)a->list.n, a->list.items);
  c->out[0] = gr_onnx_cast(c, list, gr_onnx_dtype(GR_I32));
}

static const gr_attr attrs[] = {
    GR_ATTR(struct values, list, GR_ATTR_LIST, NULL, "the integers, at most 128"), {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct values){{3, {4, -1, 70000}}}},
    {{0}, .attr = &(struct values){{0, {0}}}, .fails = "empty"},
    {{0}},
};

const gr_op gr_op_values = {
    .name = "values",
    .doc =
        "A vector of given integers, i32. Other numbers: {param: [2], init: [0.1, 0.5], train: "
        "false}.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct values),
    .attrs = attrs,
    .infer = infer,
    .cpu = values_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};
