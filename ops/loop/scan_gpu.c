// scan_gpu.c - a loop as one kernel that stays on the GPU for all its steps ("persistent"; Diamos
// et al., "Persistent RNNs", 2016): a step costs a few barriers over blocks instead of a launch for
// each node.
//
// The kernel is generated from the body. Where the rows of all values depend on no other rows, the
// rows of a batch, they are divided over groups of blocks, which never wait for each other. The
// columns of each value are divided over the blocks of a group, equal sizes alike; a block keeps
// its columns of the matrices that no step changes in shared memory, in their own type. Values of a
// few columns are computed by all blocks of a group, each for itself.
//
// So a block reads what others have written only for the operands of products, whose rows it copies
// to shared memory, 16 bytes at a time. Nodes have levels: such an operand is of a lower one. After
// a level, the blocks of a group wait for each other if what it wrote is read before another such
// barrier, or if what it read is written again (gr_scan_order). Nodes whose results no other block
// waits for run between a block's word that it has come and its waiting for the others.
//
//   for each step:  for each level:  operands of products to shared memory
//     for nodes of equal sizes:      products, a tile for each warp, whose lanes share the sums;
//                                    elementwise nodes on them, by the lanes that have the sums
//     barrier
//
// What other blocks have written is read past the L1 cache, which is not coherent. A carry has two
// places that alternate, so that a step may read the last value while it makes the next. Bodies of
// f32, f64, bf16 and f16 values, products of matrices and elementwise nodes are taken, also such as
// repeat a number of each row; other loops run node by node.
#include "ops/loop/scan_gpu.h"
#include "ops/loop/scan_block.h"

enum { LEAST_STEPS = 4, MAX_VALUES = 512, MAX_COUNT = 1 << 30 };
// While a plan is made, no GPU is known: an A100 has 108 processors with 163 kB of shared memory,
// newer ones have more.
enum { PROCESSORS = 108, SHARED = 160 << 10 };

static bool is_float(gr_dtype d) {
  return d == GR_F32 || d == GR_F64 || d == GR_BF16 || d == GR_F16;
}

// The product that a node is, if it is one of its two operands, dense matrices, and nothing more;
// NULL otherwise.
static const gr_gpu_gemm *find_product(const gr_scan_writer *w, const gr_node *n) {
  gr_op_call call;
  gr_gpu_call d = {.call = &call, .arena = w->arena};
  gr_op_call_of(w->g, n, &call);
  if (!gr_op_contracts(&call)) return NULL;
  d.launch = GR_NEW(w->arena, gr_gpu_launch, GR_GPU_LAUNCHES);
  gr_status s = gr_gpu_describe(&d);
  const gr_gpu_gemm *g = &d.launch[0].gemm;
  bool alone = !s && d.n == 1 && d.launch[0].kind == GR_GPU_GEMM && g->batch == 1 &&
               g->epilogue == GR_GPU_PLAIN && type_of(w, n->out)->rank == 2;
  gr_status_drop(s);
  bool dense = alone && g->lda == (g->ta ? g->m : g->k) && g->ldb == (g->tb ? g->k : g->n) &&
               g->ldc == g->n && g->a.index == 0 && g->b.index == 1;
  return dense ? g : NULL;
}

// Whether all parts of a fused node are of one element, or repeat one of its row.
static bool takes_parts(const gr_scan_writer *w, const gr_node *n) {
  const gr_graph *body = ((const gr_fused *)n->attr)->body;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    const gr_node *part = &body->nodes[i];
    bool repeats = part->op == &gr_op_broadcast && gr_at(body, part->in[0])->role == GR_INPUT &&
                   reads_row(w, n, (int)part->in[0].id - 1);
    if (gr_fused_sees_rows(part) && !repeats) return false;
  }
  return true;
}

static bool takes_elementwise(const gr_scan_writer *w, const gr_node *n) {
  if (n->op == &gr_op_fused) return takes_parts(w, n);
  if (n->op == &gr_op_broadcast) return reads_row(w, n, 0);
  if (!n->op->tile || n->n_out != 1 || !(n->op->tile_formula || n->op->formula)) return false;
  const gr_type *out = type_of(w, n->out);
  for (int k = 0; k < n->n_in; k++)
    if (!gr_fused_is_like(type_of(w, n->in[k]), out) && !gr_fused_is_row(type_of(w, n->in[k]), out))
      return false;
  return true;
}

static bool takes(const gr_scan_writer *w) {
  if (w->s->steps < LEAST_STEPS || !w->g->n_nodes || w->g->n_values > MAX_VALUES) return false;
  for (uint32_t v = 1; v < w->g->n_values; v++) {
    const gr_type *t = &w->g->values[v].type;
    if (!is_float(t->dtype) || gr_type_count(t) < 1 || gr_type_count(t) > MAX_COUNT) return false;
  }
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    if (!w->product[i] && !takes_elementwise(w, &w->g->nodes[i])) return false;
  return true;
}

// What a block reads from its shared memory in all steps.
static int64_t count_reads(const gr_scan_writer *w) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    const gr_gpu_gemm *p = w->product[i];
    int64_t tiles = (gr_scan_rows(w, n->out) + 3) / 4;
    if (p) bytes += p->k * tiles * gr_scan_columns(w, n->out) * (int64_t)gr_scan_size(w, n->in[1]);
  }
  return bytes * w->s->steps;
}

static gr_scan_writer *open_writer(gr_gpu_call *c) {
  const gr_scan *s = c->call->attr;
  gr_arena *a = c->arena;
  gr_scan_writer *w = GR_NEW(a, gr_scan_writer, 1);
  *w = (gr_scan_writer){.call = c->call,
                        .s = s,
                        .g = s->body,
                        .arena = a,
                        .processors = c->processors ? c->processors : PROCESSORS,
                        .most_shared = c->shared ? c->shared : SHARED,
                        .text = gr_text_make(a)};
  w->product = GR_NEW(a, const gr_gpu_gemm *, s->body->n_nodes + 1);
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    w->product[i] = find_product(w, &s->body->nodes[i]);
  return w;
}

gr_status gr_scan_gpu(gr_gpu_call *c) {
  gr_scan_writer *w = open_writer(c);
  const gr_scan *s = w->s;
  size_t repeated = gr_scan_repeat_bytes(s);
  c->scratch = repeated;
  if (!takes(w)) return gr_scan_block(c);
  // A plan is for any GPU, some of which may have no room for the kernel.
  size_t most = gr_scan_most_scratch(w);
  if (!c->processors && most > repeated) c->scratch = most;
  gr_scan_divide(w);
  gr_scan_order(w);
  // A counter of those that have come is 32 bits.
  if ((s->steps * gr_scan_waits(w) + 1) * w->blocks > 1 << 30 || w->shared > w->most_shared)
    return gr_gpu_refuse(c->call);
  gr_scan_write_kernel(w);
  if (c->processors) c->scratch = w->scratch;
  gr_gpu_copy_add(c, (gr_gpu_ref){GR_GPU_SCRATCH, 0, 0}, (gr_gpu_ref){0}, GR_SCAN_COUNTERS);
  gr_gpu_kernel *k = gr_gpu_kernel_add(
      c, w->text.chars, "loop", (int64_t)w->blocks * w->groups * GR_SCAN_THREADS, GR_SCAN_THREADS);
  k->barriers = 1 + s->steps * gr_scan_waits(w);
  k->reads = count_reads(w);
  k->cooperative = true, k->shared = w->shared;
  gr_gpu_int(k, s->steps);
  return GR_OK;
}
