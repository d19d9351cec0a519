// accumulate.c - adds a micro-batch's gradient to the accumulator; the first micro-batch resets it.
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

enum { GRAIN = 16384 };

static gr_status infer(gr_op_call *s) {
  if (s->in[2].dtype != GR_I32)
    return gr_fail(GR_ERR_TYPE, s->loc, "the index of the micro-batch must be i32, not %s",
                   gr_dtypes[s->in[2].dtype].name);
  if (s->in[0].dtype == s->in[1].dtype) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "a gradient of %s cannot be added to an accumulator of %s",
                 gr_dtypes[s->in[1].dtype].name, gr_dtypes[s->in[0].dtype].name);
}

static gr_status cpu(const gr_launch *l) {
  bool first = IN(2, 0) == 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, first ? IN(1, i) : IN(0, i) + IN(1, i));
  return GR_OK;
}

static void part(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  const float *total = l->in[0], *term = l->in[1];
  float *out = l->out[0];
  if (IN(2, 0) == 0)
    memcpy(out + from, term + from, sizeof *out * (size_t)(to - from));
  else
    GR_VECTOR for (int64_t i = from; i < to; i++) out[i] = total[i] + term[i];
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, part, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) { return gr_is_f32(s) ? run_f32 : NULL; }

// Partial sums are accumulated without a reduction; the micro-batch index is replicated.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  int n = 0;
  memset(&rule[n++], GR_REPLICATE, sizeof *rule);
  for (int d = 0; d < s->in[0].rank; d++) memset(&rule[n++], d, sizeof *rule);
  if (gr_dtypes[s->in[0].dtype].is_float) memset(&rule[n++], GR_PARTIAL, sizeof *rule);
  for (int i = 0; i < n; i++) rule[i].in[2] = GR_REPLICATE;
  *out_n = n;
  return GR_OK;
}

GR_CU(accumulate);

static gr_status gpu(gr_gpu_call *g) {
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_int(gr_gpu_kernel_add(g, gr_cu_accumulate, "accumulate", gr_gpu_items(n), GR_GPU_BLOCK),
             n);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "i32[]"}, .fill = "nnz"},
    {{"f32[6,3000]", "f32[6,3000]", "i32[]"}, .fill = "nn1"},
    {{"i32[5]", "i32[5]", "i32[]"}, .fill = "ii1"},
    {{"f32[5]", "i32[5]", "i32[]"}, .fails = "a gradient of i32"},
    {{"f32[5]", "f32[5]", "f32[]"}, .fails = "must be i32"},
    {{0}},
};

const gr_op gr_op_accumulate = {
    .name = "accumulate",
    .doc = "accumulator + gradient; for micro-batch 0, the gradient alone.",
    .n_in = 3,
    .n_out = 1,
    .index_spec = "...,...,->...",
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .sharding_rules = rules,
    .cpu = cpu,
    .fast = fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1},
    .cases = cases,
};
