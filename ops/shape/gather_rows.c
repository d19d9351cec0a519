// gather_rows.c - rows of each matrix by their index, and add_rows, which adds to them: each is the
// gradient of the other.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct add_rows {
  int64_t size;
};

static gr_status infer(gr_op_call *s) { return gr_require_ints(s, 1, "indices"); }

// The rows of a matrix.
static int64_t height(const gr_type *t) { return t->dim[t->rank - 2]; }

static void grad(const gr_grad *g) {
  struct add_rows attr = {height(&gr_at(g->b->g, g->x[0])->type)};
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_add_rows, &attr, g->dy[0], g->x[1]);
}

static gr_status check_rows(const gr_launch *l, const gr_type *of) {
  return gr_check_indices(l, 1, &(gr_indices){"index", "rows of the matrix", height(of)});
}

static gr_status check(const gr_launch *l) { return check_rows(l, l->in_type); }
static gr_status add_check(const gr_launch *l) { return check_rows(l, l->out_type); }

static void copy(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t rows = height(l->in_type), many = height(l->out_type);
  size_t bytes = (size_t)gr_last(l->in_type) * gr_dtypes[l->in_type[0].dtype].size;
  for (int64_t i = begin; i < end; i++) {
    int64_t row = i / many * rows + ((const int32_t *)l->in[1])[i];
    memcpy((char *)l->out[0] + (size_t)i * bytes, (const char *)l->in[0] + (size_t)row * bytes,
           bytes);
  }
}

static gr_status gather_rows_cpu(const gr_launch *l) {
  GR_TRY(check(l));
  gr_parallel(l, gr_rows(l->out_type), 1 + 8192 / gr_last(l->in_type), copy, (void *)l);
  return GR_OK;
}

GR_CU(gather_rows);

// A thread for each element of the result. rows: of the matrix that is given or made, of which
// `many` have an index; c: the elements of a row.
static void add_kernel(gr_gpu_call *g, const char *entry, int64_t rows, int64_t many) {
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_gather_rows, entry, gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, rows), gr_gpu_int(k, many);
  gr_gpu_int(k, gr_last(g->call->out));
}

static gr_status gpu(gr_gpu_call *g) {
  add_kernel(g, "gather_rows", height(g->call->in), height(g->call->out));
  return GR_OK;
}

// The indices for each element of a row, in the shape of a value of that many rows.
static const char *for_elements(gr_onnx_call *c, const char *shape) {
  return GR_ONNX(c, "Expand", gr_onnx_unsqueeze(c, c->in[1], c->call[0]->in[1].rank), shape);
}

static void to_onnx(gr_onnx_call *c) {
  c->out[0] =
      GR_ONNX(c, "GatherElements", c->in[0], for_elements(c, gr_onnx_out_shape(c, 0, false)));
  gr_onnx_int(c, "axis", -2);
}

static const gr_case cases[] = {
    {{"f32[2,5,6]", "i32[2,3]"}, .fill = "ni"},
    {{"f32[2,3,5,4]", "i32[2,3,7]"}, .fill = "ni"},
    {{"f32[5,6]", "i32[4]"}, .fill = "ni"},
    {{"i32[3,5,2]", "i32[3,2]"}, .fill = "ii"},
    {{"f32[2,5,6]", "f32[2,3]"}, .fails = "indices of 'gather_rows' must be i32"},
    {{"f32[2,5,6]", "i32[3,2]"}, .fails = "sizes 2 and 3 differ"},
    {{0}},
};

const gr_op gr_op_gather_rows = {
    .name = "gather_rows",
    .doc =
        "y[..., j, :] = x[..., indices[..., j], :]: of each matrix, rows by their index, such as "
        "nodes of a graph by the ends of its edges.",
    .efforts = gr_moves_result,
    .index_spec = "...Vc,...k->...kc",
    .infer = infer,
    .grad = grad,
    .check = check,
    .cpu = gather_rows_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};

// ---- What its gradient is: y[..., v, :] is the sum of x[..., j, :] where indices[..., j] = v ----

static gr_status add_infer(gr_op_call *s) {
  s->out[0].dim[s->out[0].rank - 2] = ((const struct add_rows *)s->attr)->size;
  return infer(s);
}

static void add_grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_gather_rows, NULL, g->dy[0], g->x[1]);
}

static gr_status add_rows_cpu(const gr_launch *l) {
  int64_t rows = height(l->out_type), many = height(l->in_type), c = gr_last(l->in_type);
  GR_TRY(add_check(l));
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    int64_t row = i / c % rows, of = i / c / rows;
    double sum = 0;
    for (int64_t j = of * many; j < (of + 1) * many; j++)
      if (((const int32_t *)l->in[1])[j] == row) sum += IN(0, j * c + i % c);
    OUT(0, i, sum);
  }
  return GR_OK;
}

// Tasks add up all columns of a matrix or, of few matrices, some: one large matrix has enough
// tasks.
static int64_t columns_of(const gr_type *y) {
  enum { MATRICES = 4, COLUMNS = 32 };
  int64_t matrices = gr_type_count(y) / (height(y) * gr_last(y));
  return matrices < MATRICES ? gr_min_i64(gr_last(y), COLUMNS) : gr_last(y);
}

static int64_t pieces_of(const gr_type *y) {
  return (gr_last(y) + columns_of(y) - 1) / columns_of(y);
}

static void clear(float *y, int64_t rows, int64_t columns, int64_t c) {
  if (columns == c) columns *= rows, rows = 1;
  for (int64_t i = 0; i < rows; i++) memset(y + i * c, 0, sizeof *y * (size_t)columns);
}

static void add(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t rows = height(l->out_type), many = height(l->in_type), c = gr_last(l->in_type);
  for (int64_t p = begin, pieces = pieces_of(l->out_type); p < end; p++) {
    int64_t of = p / pieces, first = p % pieces * columns_of(l->out_type);
    int64_t columns = gr_min_i64(c - first, columns_of(l->out_type));
    const float *x = (const float *)l->in[0] + of * many * c + first;
    const int32_t *row = (const int32_t *)l->in[1] + of * many;
    float *y = (float *)l->out[0] + of * rows * c + first;
    clear(y, rows, columns, c);
    for (int64_t i = 0; i < many; i++)
      for (int64_t j = 0; j < columns; j++) y[row[i] * c + j] += x[i * c + j];
  }
}

static gr_status add_run_fast(const gr_launch *l) {
  const gr_type *y = l->out_type;
  int64_t columns = columns_of(y), matrices = gr_type_count(y) / (height(y) * gr_last(y));
  GR_TRY(add_check(l));
  gr_parallel(l, matrices * pieces_of(y), 1 + 16384 / ((height(y) + height(l->in_type)) * columns),
              add, (void *)l);
  return GR_OK;
}

// The matrices are the samples, where there are several.
static gr_samples samples_of(const gr_type *x) { return x->rank > 2 ? gr_each : gr_together; }

static gr_status add_run_narrow(const gr_launch *l) {
  GR_TRY(add_check(l));  // of all samples: an error counts from the first one
  return gr_run_widened(l, samples_of(l->in_type), add_run_fast);
}

static size_t add_scratch(const gr_op_call *s) {
  return gr_is_narrow(s->in[0].dtype) ? gr_widened_scratch(s, samples_of(s->in), 0) : 0;
}

static gr_status add_gpu(gr_gpu_call *g) {
  add_kernel(g, "add_rows", height(g->call->out), height(g->call->in));
  return GR_OK;
}

static void add_to_onnx(gr_onnx_call *c) {
  const char *zero = gr_onnx_number(c, c->call[0]->out[0].dtype, 0);
  const char *zeros = GR_ONNX(c, "Expand", zero, gr_onnx_out_shape(c, 0, false));
  const char *ids = for_elements(c, GR_ONNX(c, "Shape", c->in[0]));
  c->out[0] = GR_ONNX(c, "ScatterElements", zeros, ids, c->in[0]);
  gr_onnx_int(c, "axis", -2);
  gr_onnx_text(c, "reduction", "add");
}

static const gr_attr add_attrs[] = {
    GR_ATTR(struct add_rows, size, GR_ATTR_INT, NULL, "number of rows of each result"), {0}};
static const gr_case add_cases[] = {
    {{"f32[2,3,6]", "i32[2,3]"}, .attr = &(struct add_rows){5}, .fill = "ni"},
    {{"f32[2,3,7,4]", "i32[2,3,7]"}, .attr = &(struct add_rows){6}, .fill = "ni"},
    {{"f32[4,6]", "i32[4]"}, .attr = &(struct add_rows){5}, .fill = "ni"},
    {{"f32[2,9,70]", "i32[2,9]"}, .attr = &(struct add_rows){9}, .fill = "ni"},
    {{"f32[2,3,6]", "i32[2,4]"}, .attr = &(struct add_rows){5}, .fails = "sizes 3 and 4 differ"},
    {{0}},
};

const gr_op gr_op_add_rows = {
    .name = "add_rows",
    .doc =
        "Zeros, to which each row of x is added at its index: y[..., indices[..., j], :] += "
        "x[..., j, :], such as messages at the nodes of a graph.",
    .attr_size = sizeof(struct add_rows),
    .attrs = add_attrs,
    .index_spec = "...Kc,...K->..._c",
    .infer = add_infer,
    .grad = add_grad,
    .check = add_check,
    .cpu = add_rows_cpu,
    .fast_f32 = add_run_fast,
    .fast_narrow = add_run_narrow,
    .scratch = add_scratch,
    .gpu = add_gpu,
    .to_onnx = add_to_onnx,
    .cases = add_cases,
};
