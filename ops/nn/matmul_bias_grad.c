// matmul_bias_grad.c - the gradient of weights, a product that is summed over all rows, and beside
// it the gradient of the vector that was added: the sum of the rows of one operand. GPUs' libraries
// do that as they read the operand. Only the pass `epilogue` emits it, for GPUs.
#include <string.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/reduce.h"
#include "ops/nn/matmul.h"

typedef struct matmul_bias_grad {
  int64_t left, wide;
} matmul_bias_grad;

static const struct matmul product = {.ta = true, .sum = true};

int gr_matmul_columns(const gr_graph *g, const gr_node *n) {
  const struct matmul *a = n->attr;
  bool plain = n->op == &gr_op_matmul && !a->ta && !a->sum && gr_at(g, n->in[0])->type.rank == 2;
  return plain && gr_at(g, n->in[1])->type.rank == 2 ? !a->tb : -1;
}

int gr_matmul_sums(const gr_graph *g, const gr_node *n, gr_val summed) {
  const struct matmul *a = n->attr;
  if (n->op != &gr_op_matmul || !a->ta || a->tb) return -1;
  bool rows = a->sum || (gr_at(g, n->in[0])->type.rank == 2 && gr_at(g, n->in[1])->type.rank == 2);
  return !rows ? -1 : n->in[1].id == summed.id ? 1 : n->in[0].id == summed.id ? 0 : -1;
}

gr_val gr_matmul_bias_grad(gr_builder *b, const gr_node *matmul, gr_val x, gr_val y, int summed) {
  const struct matmul *m = matmul->attr;
  matmul_bias_grad a = {summed == 0, m->wide};
  return GR_EMIT(b, &gr_op_matmul_bias_grad, &a, x, y);
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  snprintf(buf, 128, "...km,...kn->mn,%s", ((const matmul_bias_grad *)s->attr)->left ? "m" : "n");
}

// Of the notation, a result without an axis would be a partial sum; but the sums do not depend on
// the other operand at all.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *r, int *out_n) {
  gr_axis_placement last = (gr_axis_placement)(s->in[0].rank - 1), none = GR_REPLICATE;
  bool left = ((const matmul_bias_grad *)s->attr)->left;
  int n = 0;
  memset(r, GR_REPLICATE, sizeof *r * (size_t)(last + 3));
  for (gr_axis_placement d = 0; d < last; d++)
    r[++n] = (gr_sharding_rule){.in = {d, d}, .out = {GR_PARTIAL, GR_PARTIAL}};
  r[++n] = (gr_sharding_rule){.in = {last, none}, .out = {0, left ? 0 : none}};
  r[++n] = (gr_sharding_rule){.in = {none, last}, .out = {1, left ? none : 0}};
  *out_n = n + 1;
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  if (((const matmul_bias_grad *)s->attr)->wide && gr_is_narrow(s->out[0].dtype))
    s->out[0].dtype = s->out[1].dtype = GR_F32;
  return gr_require_float(s, 1, "the second operand");
}

static gr_status matmul_bias_grad_cpu(const gr_launch *l) {
  gr_matmul_shape p = gr_matmul_shape_of(l->in_type, l->in_type + 1, &product);
  int of = ((const matmul_bias_grad *)l->attr)->left ? 0 : 1;
  int64_t m = p.g.m, n = p.g.n, columns = of ? n : m;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double s = 0;
      for (int64_t k = 0; k < p.g.k; k++) s += IN(0, k * m + i) * IN(1, k * n + j);
      OUT(0, i * n + j, s);
    }
  for (int64_t j = 0; j < columns; j++) {
    double s = 0;
    for (int64_t k = 0; k < p.g.k; k++) s += IN(of, k * columns + j);
    OUT(1, j, s);
  }
  return GR_OK;
}

// The launches of the sums by kernels. A library that does them takes the same working memory.
static void add_sums(gr_gpu_call *g, int of, bool by_library) {
  int before = g->n;
  gr_reduce_axes rows = {.axes.n = g->call->in[of].rank - 1};
  for (int d = 0; d < GR_MAX_RANK; d++) rows.axes.items[d] = d;
  gr_gpu_reduce_operand(g, of, 1, &rows, "sum", "v", 1);
  if (by_library) g->n = before;
}

static gr_status gpu(gr_gpu_call *g) {
  int of = ((const matmul_bias_grad *)g->call->attr)->left ? 0 : 1;
  gr_matmul_shape p = gr_matmul_shape_of(g->call->in, g->call->in + 1, &product);
  gr_gpu_gemm gemm = gr_matmul_gpu(g->call, &p);
  gemm.bias = gr_gpu_out(g, 1, 0);
  gemm.epilogue = of ? GR_GPU_SUMS_OF_B : GR_GPU_SUMS_OF_A;
  bool taken = !g->takes || g->takes(g->device, &gemm);
  if (!taken) gemm.epilogue = GR_GPU_PLAIN;
  gr_gpu_gemm_add(g, &gemm);
  add_sums(g, of, taken);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(matmul_bias_grad, left, GR_ATTR_BOOL, "false", "sum the rows of x, not of y"),
    GR_ATTR(matmul_bias_grad, wide, GR_ATTR_BOOL, "false", "the results of bf16 or f16 are f32"),
    {0}};
#define WITH(...) .attr = (&(matmul_bias_grad){__VA_ARGS__})
static const gr_case cases[] = {
    {{"f32[6,4]", "f32[6,8]"}, WITH(0)},
    {{"f32[2,6,4]", "f32[2,6,8]"}, WITH(1)},
    {{"f32[130,70]", "f32[130,1]"}, WITH(0)},
    {{"bf16[2,40,96]", "bf16[2,40,70]"}, WITH(0, 1)},
    {{"f16[40,96]", "f16[40,72]"}, WITH(1)},
    {{"f32[5,4]", "f32[6,8]"}, WITH(0), .fails = "sizes 5 and 6 differ"},
    {{"f32[6,4]", "i32[6,8]"}, WITH(0), .fails = "must be a float type"},
    {{0}},
};

const gr_op gr_op_matmul_bias_grad = {
    .name = "matmul_bias_grad",
    .doc = "x' y, and the sum of the rows of y or of x: leading axes are more rows.",
    .effort = GR_EFFORT_MATMUL,
    .n_in = 2,
    .attr_size = sizeof(matmul_bias_grad),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .sharding_rules = rules,
    .cpu = matmul_bias_grad_cpu,
    .gpu = gpu,
    .cases = cases,
};
