// one_hot.c - numbers of classes as vectors.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

struct one_hot {
  int64_t classes, dtype;
};

gr_val gr_one_hot(gr_builder *b, gr_val ids, int64_t classes, gr_dtype dtype) {
  return GR_EMIT(b, &gr_op_one_hot, (&(struct one_hot){classes, dtype}), ids);
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

static void rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t classes = gr_last(l->out_type);
  float *y = (float *)l->out[0] + begin * classes;
  memset(y, 0, sizeof *y * (size_t)((end - begin) * classes));
  for (int64_t r = begin; r < end; r++, y += classes) {
    int32_t id = ((const int32_t *)l->in[0])[r];
    if (id >= 0 && id < classes) y[id] = 1;
  }
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_rows(l->out_type), gr_row_grain(gr_last(l->out_type)), rows_f32, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) { return s->out[0].dtype == GR_F32 ? run_f32 : NULL; }

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

// ids that count from the last class if they are below 0, as those of ONNX do.
static int from_the_first(gr_onnx_reading *r, int ids, int depth) {
  int zero = gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &(int64_t){0});
  int below = GR_READ_TWO(r, &gr_op_less, ids, zero);
  return GR_READ_TWO(r, &gr_op_add, ids, GR_READ_TWO(r, &gr_op_mul, below, depth));
}

static int known_hot(gr_onnx_reading *r, int ids, const int64_t *classes) {
  gr_type type[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    type[c] = r->vars[ids].type[c];
    type[c].dim[type[c].rank++] = classes[c], type[c].dtype = GR_F32;
  }
  int y = gr_read_var_add(r, type);
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    int64_t n = gr_type_count(&type[c]);
    float *to = GR_NEW(r->arena, float, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
      int64_t id = ((const int64_t *)r->vars[ids].data[c])[i / classes[c]];
      to[i] = (id < 0 ? id + classes[c] : id) == i % classes[c];
    }
    r->vars[y].data[c] = to;
  }
  return y;
}

// The last of n axes moved to where the node has it.
static int placed(gr_onnx_reading *r, int y, int n) {
  int64_t perm[GR_MAX_RANK];
  int axis = gr_read_axis(r, gr_read_int(r, "axis", -1), n);
  for (int d = 0; d < n; d++) perm[d] = d < axis ? d : d == axis ? n - 1 : d - 1;
  return gr_read_transpose(r, y, perm);
}

// The two numbers that the result has.
static void read_values(gr_onnx_reading *r, int values, double two[2]) {
  const gr_read_var *v = &r->vars[values];
  if (r->err) return;
  if (!gr_read_is_known(r, values) || gr_type_count(&v->type[0]) != 2)
    gr_read_refuse(r, "has values that are no constants");
  for (int i = 0; i < 2 && !r->err; i++)
    two[i] = v->type[0].dtype == GR_I64 ? (double)((const int64_t *)v->data[0])[i]
                                        : (double)((const float *)v->data[0])[i];
}

static int read_hot(gr_onnx_reading *r, int ids, int count) {
  int64_t depth[1][GR_READ_CHOICES];
  if (gr_read_numbers(r, count, 1, depth) != 1 || depth[0][0] < 1)
    gr_read_refuse(r, "has a number of classes that is no constant");
  if (!r->err && gr_dtypes[gr_read_type(r, ids)->dtype].is_float)
    gr_read_refuse(r, "has indices that are floats; cast them to integers");
  if (!r->err && gr_read_type(r, ids)->rank == GR_MAX_RANK)
    gr_read_refuse(r, "gives too many axes");
  if (r->err) return 0;
  if (gr_read_is_known(r, ids)) return known_hot(r, ids, depth[0]);
  ids = from_the_first(r, ids, gr_read_reshape(r, count, 0, NULL));
  return GR_READ(r, &gr_op_one_hot, ids, GR_READ_NUMBER("classes", depth));
}

static void read(gr_onnx_reading *r) {
  double two[2] = {0, 1};
  int ids = gr_read_in(r, 0, true), v = gr_read_in(r, 2, true);
  int y = read_hot(r, ids, gr_read_in(r, 1, true));
  read_values(r, v, two);
  if (two[1] - two[0] != 1) y = GR_READ_TWO(r, &gr_op_mul, y, gr_read_number(r, two[1] - two[0]));
  if (two[0] != 0) y = GR_READ_TWO(r, &gr_op_add, y, gr_read_number(r, two[0]));
  if (r->err) return;
  y = gr_read_cast(r, y, gr_read_type(r, v)->dtype != GR_I64);
  gr_read_out(r, 0, placed(r, y, gr_read_type(r, ids)->rank + 1), false);
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
    .attr_size = sizeof(struct one_hot),
    .attrs = attrs,
    .index_spec = "...->..._",
    .infer = infer,
    .cpu = one_hot_cpu,
    .fast = fast,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"OneHot", read}),
    .cases = cases,
};
