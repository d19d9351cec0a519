// embedding.c - lookup of rows of a table.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

gr_val gr_embedding(gr_builder *b, gr_val table, gr_val ids) {
  return GR_EMIT(b, &gr_op_embedding, NULL, table, ids);
}

static gr_status ids_are_i32(const gr_op_call *s) {
  if (s->in[1].dtype == GR_I32) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "ids must be i32, not %s", gr_dtypes[s->in[1].dtype].name);
}

static gr_status infer(gr_op_call *s) { return ids_are_i32(s); }

struct embedding_grad {
  int64_t rows;
};

static void grad(const gr_grad *g) {
  struct embedding_grad attr = {gr_at(g->b->g, g->x[0])->type.dim[0]};
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_embedding_grad, &attr, g->dy[0], g->x[1]);
}

static gr_status check_ids(const gr_launch *l, const gr_type *table) {
  const gr_indices rows = {"id", "rows of the table", table->dim[0],
                           .hint =
                               "ids are whole numbers from 0 on, below the size of the table; "
                               "features that are standardised are none"};
  return gr_check_indices(l, 1, &rows);
}

static gr_status check(const gr_launch *l) { return check_ids(l, l->in_type); }
static gr_status grad_check(const gr_launch *l) { return check_ids(l, l->out_type); }

static void copy(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const int32_t *id = l->in[1];
  size_t bytes = (size_t)l->in_type[0].dim[1] * gr_dtypes[l->in_type[0].dtype].size;
  for (int64_t i = begin; i < end; i++)
    memcpy((char *)l->out[0] + (size_t)i * bytes, (const char *)l->in[0] + (size_t)id[i] * bytes,
           bytes);
}

static gr_status embedding_cpu(const gr_launch *l) {
  GR_TRY(check(l));
  gr_parallel(l, gr_type_count(&l->in_type[1]), 1 + 8192 / l->in_type[0].dim[1], copy, (void *)l);
  return GR_OK;
}

GR_CU(embedding);

// The widest type of which a row of `bytes` has a whole number: rows are copied whatever they hold.
static const char *unit_of(int64_t bytes, int64_t *units) {
  static const char *const name[] = {"unsigned char", "unsigned short", "unsigned", "uint2",
                                     "uint4"};
  int log = 4;
  while (bytes % (1 << log)) log--;
  *units = bytes >> log;
  return name[log];
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_type *table = &g->call->in[0];
  int64_t n = gr_type_count(&g->call->in[1]), units;
  const char *unit = unit_of(table->dim[1] * gr_dtypes[table->dtype].size, &units);
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_embedding, "embedding", gr_gpu_items(n * 32), GR_GPU_BLOCK);
  k->declared = 32 * sizeof(int32_t);
  gr_gpu_define(g, k, "UNIT", "%s", unit);
  gr_gpu_int(k, n), gr_gpu_int(k, table->dim[0]), gr_gpu_int(k, units);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[5,6]", "i32[4]"}, .fill = "ni"},
    {{"f32[5,6]", "i32[2,3]"}, .fill = "ni"},
    {{"f32[5,6]", "f32[4]"}, .fails = "ids must be i32, not f32"},
    {{"f32[5]", "i32[4]"}, .fails = "has 1 axis; expected 2"},
    {{0}},
};

static int64_t flops(const gr_op_call *s) {  // rows are only copied
  (void)s;
  return 0;
}

const gr_op gr_op_embedding = {
    .name = "embedding",
    .doc = "The row of the table for each id.",
    .efforts = gr_moves_result,
    .index_spec = "Vc,...->...c",
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .check = check,
    .cpu = embedding_cpu,
    .gpu = gpu,
    .onnx = "Gather axis=0",
    .from_onnx = GR_FROM_ONNX({"Gather", gr_gather_read}, {"GatherND", gr_gather_nd_read}),
    .cases = cases,
};

static gr_status grad_infer(gr_op_call *s) {
  GR_TRY(ids_are_i32(s));
  s->out[0].dim[0] = ((const struct embedding_grad *)s->attr)->rows;
  return GR_OK;
}

// The ids of each row form a chain: `first` one of a row, `next` one of the same row; -1: none.
static size_t grad_scratch(const gr_op_call *s) {
  size_t chains = sizeof(int32_t) * (size_t)(s->out[0].dim[0] + gr_type_count(&s->in[1]));
  size_t wide = gr_is_narrow(s->in[0].dtype) ? gr_widened_scratch(s, gr_together, 0) : 0;
  return chains > wide ? chains : wide;
}

static gr_status grad_cpu(const gr_launch *l) {
  enum { CHUNK = 64 };  // columns that are summed at a time, in double
  int64_t c = l->out_type->dim[1], rows = l->out_type->dim[0], n = gr_type_count(&l->in_type[1]);
  GR_TRY(grad_check(l));
  const int32_t *id = l->in[1];
  int32_t *first = l->scratch, *next = first + rows;
  for (int64_t r = 0; r < rows; r++) first[r] = -1;
  for (int64_t i = n; i--;) next[i] = first[id[i]], first[id[i]] = (int32_t)i;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t chunk = 0; chunk < c; chunk += CHUNK) {
      double sum[CHUNK] = {0};
      int64_t many = gr_min_i64(CHUNK, c - chunk);
      for (int64_t i = first[r]; i >= 0; i = next[i])
        for (int64_t j = 0; j < many; j++) sum[j] += IN(0, i * c + chunk + j);
      for (int64_t j = 0; j < many; j++) OUT(0, r * c + chunk + j, sum[j]);
    }
  return GR_OK;
}

// Each task owns a range of rows of the table and visits all ids in order, so that the sums do not
// depend on the number of threads.
static void add(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const int32_t *id = l->in[1];
  int64_t c = l->out_type->dim[1], n = gr_type_count(&l->in_type[1]);
  const float *dy = l->in[0];
  float *table = l->out[0];
  memset(table + begin * c, 0, sizeof *table * (size_t)((end - begin) * c));
  for (int64_t i = 0; i < n; i++) {
    if (id[i] < begin || id[i] >= end) continue;
    for (int64_t j = 0; j < c; j++) table[id[i] * c + j] += dy[i * c + j];
  }
}

static gr_status grad_run_fast(const gr_launch *l) {
  int64_t rows = l->out_type->dim[0];
  GR_TRY(grad_check(l));
  gr_parallel(l, rows, 1 + rows / 32, add, (void *)l);
  return GR_OK;
}

static gr_status grad_run_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_together, grad_run_fast);
}

static gr_status grad_gpu(gr_gpu_call *g) {
  enum { RANGES = 256, THREADS = 1024, COLUMNS = 128 };
  const gr_type *table = &g->call->out[0];
  int64_t n = gr_type_count(&g->call->in[1]), rows = table->dim[0], c = table->dim[1];
  if (n > INT32_MAX)
    return gr_fail(GR_ERR_UNSUPPORTED, g->call->loc, "%lld ids are more than a GPU's kernel takes",
                   (long long)n);
  int64_t range = (rows + RANGES - 1) / RANGES, blocks = (rows + range - 1) / range;
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_embedding, "embedding_grad_lists", blocks * THREADS, THREADS);
  gr_gpu_define(g, k, "GRAD", "1");
  const char *defines = k->defines;
  gr_gpu_int(k, n), gr_gpu_int(k, range);
  int64_t warps = rows * ((c + COLUMNS - 1) / COLUMNS);
  k = gr_gpu_kernel_add(g, gr_cu_embedding, "embedding_grad", gr_gpu_items(warps * 32),
                        GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, rows), gr_gpu_int(k, c), gr_gpu_int(k, range), gr_gpu_int(k, blocks);
  g->scratch = sizeof(int32_t) * (size_t)(blocks + 1 + n);
  return GR_OK;
}

static const gr_attr grad_attrs[] = {
    GR_ATTR(struct embedding_grad, rows, GR_ATTR_INT, NULL, "number of rows of the table"), {0}};
static const gr_case grad_cases[] = {
    {{"f32[4,6]", "i32[4]"}, .attr = &(struct embedding_grad){5}, .fill = "ni"},
    {{"f32[2,3,6]", "i32[2,3]"}, .attr = &(struct embedding_grad){5}, .fill = "ni"},
    {{"f32[3,6]", "i32[4]"}, .attr = &(struct embedding_grad){5}, .fails = "sizes 3 and 4 differ"},
    {{0}},
};

static void second(const gr_grad *g) { g->dx[0] = gr_embedding(g->b, g->dy[0], g->x[1]); }

const gr_op gr_op_embedding_grad = {
    .name = "embedding_grad",
    .doc = "Adds each row of dy to the row of the table's gradient that its id selects.",
    .attr_size = sizeof(struct embedding_grad),
    .attrs = grad_attrs,
    .index_spec = "...c,...->_c",
    .infer = grad_infer,
    .grad = second,
    .check = grad_check,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_fast,
    .fast_narrow = grad_run_narrow,
    .scratch = grad_scratch,
    .gpu = grad_gpu,
    .cases = grad_cases,
};
