// one_hot.c - numbers of classes as vectors.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct one_hot {
  int64_t classes, dtype;
};

gr_val gr_one_hot(gr_builder *b, gr_val ids, int64_t classes, gr_dtype d) {
  return GR_EMIT(b, &gr_op_one_hot, (&(struct one_hot){classes, (int64_t)d}), ids);
}

static gr_status infer(gr_op_call *s) {
  const struct one_hot *a = s->attr;
  GR_TRY(gr_require_ints(s, 0, "ids"));
  s->out[0].dtype = (gr_dtype)a->dtype;
  s->out[0].dim[s->out[0].rank - 1] = a->classes;
  return GR_OK;
}

static gr_status one_hot_cpu(const gr_launch *l) {
  int64_t classes = gr_last(l->out_type);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, ((const int32_t *)l->in[0])[i / classes] == i % classes);
  return GR_OK;
}

GR_CU(one_hot);

static gr_status gpu(gr_gpu_call *g) {
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_one_hot, "one_hot", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, gr_last(g->call->out));
  return GR_OK;
}

// Not OneHot, which takes negative ids to count from the last class.
static void to_onnx(gr_onnx_call *c) {
  int rank = c->call[0]->in[0].rank;
  const char *id = gr_onnx_unsqueeze(c, c->in[0], rank);
  const char *hot = GR_ONNX(c, "Equal", id, gr_onnx_range(c, gr_onnx_out_size(c, 0, rank)));
  c->out[0] = gr_onnx_cast(c, hot, gr_onnx_dtype(c->call[0]->out[0].dtype));
}

static const gr_attr attrs[] = {
    GR_ATTR(struct one_hot, classes, GR_ATTR_INT, NULL, "number of classes"),
    GR_ATTR(struct one_hot, dtype, GR_ATTR_DTYPE, "f32", "dtype of the result"),
    {0}};
static const gr_case cases[] = {
    {{"i32[6]"}, .attr = &(struct one_hot){5, GR_F32}, .fill = "i"},
    {{"i32[2,3]"}, .attr = &(struct one_hot){3, GR_I32}, .fill = "i"},  // ids of 3 and more, too
    {{"f32[6]"}, .attr = &(struct one_hot){5, GR_F32}, .fails = "ids of 'one_hot' must be i32"},
    {{"i32[6]"}, .attr = &(struct one_hot){0, GR_F32}, .fails = "empty"},
    {{0}},
};

const gr_op gr_op_one_hot = {
    .name = "one_hot",
    .doc =
        "For each id a vector that is 1 at the id and 0 elsewhere; only zeros for an id that is no "
        "class.",
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct one_hot),
    .attrs = attrs,
    .index_spec = "...->..._",
    .infer = infer,
    .cpu = one_hot_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};
