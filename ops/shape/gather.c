// gather.c - elements of the last axis by their index, and scatter_add, which adds to them: each is
// the gradient of the other.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct scatter_add {
  int64_t size;
};

static gr_status infer(gr_op_call *s) { return gr_require_ints(s, 1, "indices"); }

gr_val gr_scatter_add(gr_builder *b, gr_val dy, gr_val ids, int64_t size) {
  return GR_EMIT(b, &gr_op_scatter_add, &(struct scatter_add){size}, dy, ids);
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type;
  if (g->want[0]) g->dx[0] = gr_scatter_add(g->b, g->dy[0], g->x[1], gr_last(&x));
}

static gr_status check_axis(const gr_launch *l, const gr_type *of) {
  return gr_check_indices(l, 1, &(gr_indices){"index", "elements of the axis", gr_last(of)});
}

static gr_status check(const gr_launch *l) { return check_axis(l, l->in_type); }
static gr_status add_check(const gr_launch *l) { return check_axis(l, l->out_type); }

static gr_status gather_cpu(const gr_launch *l) {
  int64_t size = gr_last(l->in_type), many = gr_last(l->out_type);
  GR_TRY(check(l));
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, IN(0, i / many * size + ((const int32_t *)l->in[1])[i]));
  return GR_OK;
}

static void gather(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t size = gr_last(l->in_type), many = gr_last(l->out_type);
  bool narrow = gr_is_narrow(l->in_type->dtype);
  const int32_t *id = l->in[1];
  for (int64_t row = begin; row < end; row++)
    for (int64_t j = row * many; j < (row + 1) * many; j++)
      if (narrow)
        ((uint16_t *)l->out[0])[j] = ((const uint16_t *)l->in[0])[row * size + id[j]];
      else
        ((float *)l->out[0])[j] = ((const float *)l->in[0])[row * size + id[j]];
}

static gr_status gather_run_fast(const gr_launch *l) {
  int64_t many = gr_last(l->out_type);
  GR_TRY(check(l));
  gr_parallel(l, gr_type_count(l->out_type) / many, 1 + 16384 / many, gather, (void *)l);
  return GR_OK;
}

GR_CU(gather);

static gr_gpu_kernel *kernel(gr_gpu_call *g, const char *entry, int64_t size, int64_t many) {
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_gather, entry, gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, size), gr_gpu_int(k, many);
  return k;
}

static gr_status gpu(gr_gpu_call *g) {
  kernel(g, "gather", gr_last(g->call->in), gr_last(g->call->out));
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[5,6]", "i32[5,2]"}, .fill = "ni"},
    {{"f32[2,3,6]", "i32[2,3,1]"}, .fill = "ni"},
    {{"f32[6]", "i32[4]"}, .fill = "ni"},
    {{"i32[3,6]", "i32[3,2]"}, .fill = "ii"},
    {{"f32[5,6]", "f32[5,2]"}, .fails = "indices of 'gather' must be i32"},
    {{"f32[5,6]", "i32[4,2]"}, .fails = "sizes 5 and 4 differ"},
    {{0}},
};

const gr_op gr_op_gather = {
    .name = "gather",
    .doc = "y[..., j] = x[..., indices[..., j]]: elements of the last axis by their index.",
    .efforts = gr_moves_result,
    .index_spec = "...V,...k->...k",
    .infer = infer,
    .grad = grad,
    .check = check,
    .cpu = gather_cpu,
    .fast_f32 = gather_run_fast,
    .fast_narrow = gather_run_fast,
    .gpu = gpu,
    .onnx = "GatherElements axis=-1",
    .from_onnx = GR_FROM_ONNX({"GatherElements", gr_gather_elements_read}),
    .cases = cases,
};

// ---- What gather's gradient is: y[..., v] is the sum of x[..., j] where indices[..., j] = v -----

static gr_status scatter_infer(gr_op_call *s) {
  s->out[0].dim[s->out[0].rank - 1] = ((const struct scatter_add *)s->attr)->size;
  return infer(s);
}

static void scatter_grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_gather, NULL, g->dy[0], g->x[1]);
}

static gr_status scatter_cpu(const gr_launch *l) {
  int64_t size = gr_last(l->out_type), many = gr_last(l->in_type);
  GR_TRY(add_check(l));
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double sum = 0;
    for (int64_t j = i / size * many; j < (i / size + 1) * many; j++)
      if (((const int32_t *)l->in[1])[j] == i % size) sum += IN(0, j);
    OUT(0, i, sum);
  }
  return GR_OK;
}

static void scatter(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t size = gr_last(l->out_type), many = gr_last(l->in_type);
  float *dx = l->out[0];
  memset(dx + begin * size, 0, sizeof *dx * (size_t)((end - begin) * size));
  for (int64_t row = begin; row < end; row++)
    for (int64_t j = row * many; j < (row + 1) * many; j++)
      dx[row * size + ((const int32_t *)l->in[1])[j]] += ((const float *)l->in[0])[j];
}

static gr_status scatter_run_fast(const gr_launch *l) {
  GR_TRY(add_check(l));
  gr_parallel(l, gr_rows(l->out_type), 1 + 16384 / gr_last(l->out_type), scatter, (void *)l);
  return GR_OK;
}

static gr_status scatter_run_narrow(const gr_launch *l) {
  GR_TRY(add_check(l));  // of all samples: an error counts from the first one
  return gr_run_widened(l, gr_samples_of_rows(l->in_type), scatter_run_fast);
}

static size_t scatter_scratch(const gr_op_call *s) {
  return gr_is_narrow(s->in[0].dtype) ? gr_widened_scratch(s, gr_samples_of_rows(s->in), 0) : 0;
}

static gr_status scatter_gpu(gr_gpu_call *g) {
  kernel(g, "gather_grad", gr_last(g->call->out), gr_last(g->call->in));
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const char *zero = gr_onnx_number(c, c->call[0]->out[0].dtype, 0);
  const char *zeros = GR_ONNX(c, "Expand", zero, gr_onnx_out_shape(c, 0, false));
  c->out[0] = GR_ONNX(c, "ScatterElements", zeros, c->in[1], c->in[0]);
  gr_onnx_int(c, "axis", -1);
  gr_onnx_text(c, "reduction", "add");
}

static const gr_attr scatter_attrs[] = {
    GR_ATTR(struct scatter_add, size, GR_ATTR_INT, NULL, "size of the last axis of the result"),
    {0}};
static const gr_case scatter_cases[] = {
    {{"f32[5,2]", "i32[5,2]"}, .attr = &(struct scatter_add){6}, .fill = "ni"},
    {{"f32[2,3,9]", "i32[2,3,9]"}, .attr = &(struct scatter_add){5}, .fill = "ni"},
    {{0}},
};

const gr_op gr_op_scatter_add = {
    .name = "scatter_add",
    .doc =
        "Zeros, to which each element of x is added at its index of the last axis: "
        "y[..., indices[..., j]] += x[..., j].",
    .attr_size = sizeof(struct scatter_add),
    .attrs = scatter_attrs,
    .index_spec = "...K,...K->..._",
    .infer = scatter_infer,
    .grad = scatter_grad,
    .check = add_check,
    .cpu = scatter_cpu,
    .fast_f32 = scatter_run_fast,
    .fast_narrow = scatter_run_narrow,
    .scratch = scatter_scratch,
    .gpu = scatter_gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ScatterElements", gr_scatter_elements_read}),
    .cases = scatter_cases,
};
