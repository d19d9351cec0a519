// mask.c - sets frames at and beyond each sample's length to zero; converts lengths to a mask.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

GR_CU(mask);
GR_CU(length_mask);

gr_val gr_mask(gr_builder *b, gr_val x, gr_val lengths) {
  return GR_EMIT(b, &gr_op_mask, NULL, x, lengths);
}

static gr_status lengths_are_i32(const gr_op_call *s, int k) {
  if (s->in[k].dtype == GR_I32) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "lengths must be i32, not %s",
                 gr_dtypes[s->in[k].dtype].name);
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "nTab,n->nTab"
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 2; d < s->in[0].rank; d++) rest[d - 2] = (char)('a' + d);
  snprintf(buf, 128, "nT%s,n->nT%s", rest, rest);
}

static gr_status infer(gr_op_call *s) { return lengths_are_i32(s, 1); }

static void grad(const gr_grad *g) { g->dx[0] = gr_mask(g->b, g->dy[0], g->x[1]); }

static void samples(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t t = l->in_type->dim[1];
  size_t frame = gr_type_bytes(l->in_type) / (size_t)(l->in_type->dim[0] * t);
  for (int64_t i = begin; i < end; i++) {
    size_t kept = frame * (size_t)gr_length(l, 1, i, t), all = frame * (size_t)t;
    char *y = (char *)l->out[0] + (size_t)i * all;
    const char *x = (const char *)l->in[0] + (size_t)i * all;
    if (x != y) memcpy(y, x, kept);
    memset(y + kept, 0, all - kept);
  }
}

static gr_status mask_cpu(const gr_launch *l) {
  int64_t n = l->in_type->dim[0];
  gr_parallel(l, n, 1 + 8192 * n / gr_type_count(l->in_type), samples, (void *)l);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_type *x = &g->call->in[0];
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_mask, "mask");
  gr_gpu_int(k, x->dim[1]), gr_gpu_int(k, gr_type_count(x) / (x->dim[0] * x->dim[1]));
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const gr_type *x = &c->call[0]->in[0];
  const char *within = gr_onnx_within(c, 1, x->rank, 1, gr_onnx_out_size(c, 0, 1));
  c->out[0] = GR_ONNX(c, "Where", within, c->in[0], gr_onnx_number(c, x->dtype, 0));
}

static const gr_case cases[] = {
    {{"f32[6,5]", "i32[6]"}, .fill = "nl"},
    {{"f32[6,5,4]", "i32[6]"}, .fill = "nl"},
    {{"i32[6,5]", "i32[6]"}, .fill = "il"},
    {{"f32[6,5]", "f32[6]"}, .fails = "lengths must be i32, not f32"},
    {{"f32[6,5]", "i32[5]"}, .fails = "sizes 6 and 5 differ"},
    {{0}},
};

const gr_op gr_op_mask = {
    .name = "mask",
    .doc = "x [n, t, ...] with zeros where t is at or beyond the length of the sample.",
    .n_in = 2,
    .index_spec_of = index_spec_of,
    .inplace = {1},
    .infer = infer,
    .grad = grad,
    .cpu = mask_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};

struct length_mask {
  int64_t size;
};

static gr_status length_mask_infer(gr_op_call *s) {
  GR_TRY(lengths_are_i32(s, 0));
  s->out[0].dtype = GR_F32;
  s->out[0].dim[1] = ((const struct length_mask *)s->attr)->size;
  return GR_OK;
}

static gr_status length_mask_cpu(const gr_launch *l) {
  int64_t t = l->out_type->dim[1];
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, (double)(i % t) < IN(0, i / t));
  return GR_OK;
}

static gr_status length_mask_gpu(gr_gpu_call *g) {
  gr_gpu_int(gr_gpu_elements(g, gr_cu_length_mask, "length_mask"), g->call->out[0].dim[1]);
  return GR_OK;
}

static void mask_onnx(gr_onnx_call *c) {
  const char *within = gr_onnx_within(c, 0, 2, 1, gr_onnx_out_size(c, 0, 1));
  c->out[0] = gr_onnx_cast(c, within, gr_onnx_dtype(GR_F32));
}

static const gr_attr mask_attrs[] = {
    GR_ATTR(struct length_mask, size, GR_ATTR_INT, NULL, "size of the time axis"), {0}};
static const gr_case mask_cases[] = {
    {{"i32[6]"}, .attr = &(struct length_mask){4}, .fill = "i"},
    {{"f32[6]"}, .attr = &(struct length_mask){4}, .fails = "lengths must be i32, not f32"},
    {{"i32[6]"}, .attr = &(struct length_mask){0}, .fill = "i", .fails = "empty"},
    {{0}},
};

const gr_op gr_op_length_mask = {
    .name = "length_mask",
    .doc = "[n, size] in f32: 1 where t is below the length of the sample, else 0.",
    .attr_size = sizeof(struct length_mask),
    .attrs = mask_attrs,
    .index_spec = "n->n_",
    .infer = length_mask_infer,
    .cpu = length_mask_cpu,
    .gpu = length_mask_gpu,
    .to_onnx = mask_onnx,
    .cases = mask_cases,
};
