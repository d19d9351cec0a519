// scan_gpu.c - a loop as one kernel that stays on the GPU for all its steps ("persistent"; Diamos
// et al., "Persistent RNNs", 2016): a step costs a few barriers over the grid instead of a launch
// for each node.
//
// The kernel is generated from the body. Nodes have levels: on one level are products whose
// operands are of lower levels, and elementwise nodes of the same sizes on them, which the same
// threads go on to compute, so that what they read from each other stays in registers. Between
// levels all blocks wait for each other. Columns of products are divided over the blocks; a block
// keeps its columns of the matrices that no step changes in shared memory.
//
//   for each step:  for each level:  for each value made on it, in groups of equal sizes:
//     products  a warp for each element: its lanes share the sum, and lane 0 stores
//     others    a thread for each element
//     barrier
//
// What other blocks have written is read past the L1 cache, which is not coherent. A carry has two
// places in working memory that alternate, so that a step may read the last value while it makes
// the next. Bodies of f32 values, products of matrices and elementwise nodes are taken; other loops
// run node by node.
#include "ops/loop/scan_gpu.h"

// 64 kB of shared memory for a block is what all GPUs since compute capability 7.0 have.
enum { BLOCKS = 96, MOST_SHARED = 64 << 10, LEAST_STEPS = 4, COUNTER = 256 };
enum { MOST_BARRIERS = (1 << 30) / BLOCKS };  // the counter of those that have come is 32 bits

// ---- Which loops ------------------------------------------------------------------------------

static bool is_f32(const gr_scan_writer *w, gr_val v) { return type_of(w, v)->dtype == GR_F32; }

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

static bool takes_node(const gr_scan_writer *w, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++)
    if (!is_f32(w, n->in[k])) return false;
  for (int k = 0; k < n->n_out; k++)
    if (!is_f32(w, gr_out(n, k))) return false;
  return product_of(w, n) || n->op == &gr_op_fused || gr_fused_takes(w->g, n);
}

static bool takes(const gr_scan_writer *w) {
  if (w->s->steps < LEAST_STEPS) return false;
  for (int k = 0; k < w->call->n_in; k++)
    if (w->call->in[k].dtype != GR_F32) return false;
  for (int k = 0; k < w->call->n_out; k++)
    if (w->call->out[k].dtype != GR_F32) return false;
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    if (!takes_node(w, &w->g->nodes[i])) return false;
  return w->g->n_nodes > 0;
}

// ---- Levels -----------------------------------------------------------------------------------

static void find_levels(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(w->g, n->in[k]);
      if (v->role != GR_TEMP) continue;
      int least = w->level[v->node] + !reads_in_place(w, n, k);
      if (least > w->level[i]) w->level[i] = least;
    }
    if (w->level[i] >= w->levels) w->levels = w->level[i] + 1;
  }
}

// A carry's next value is copied after the last level unless a node of the body makes it.
static void find_crossing(gr_scan_writer *w) {
  const gr_graph *g = w->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_value *v = gr_at(g, g->nodes[i].in[k]);
      if (v->role == GR_TEMP && w->level[v->node] != w->level[i])
        w->crosses[g->nodes[i].in[k].id] = true;
    }
  for (uint32_t j = 0; j < g->n_results; j++) {
    w->crosses[g->results[j].id] = true;
    if (gr_at(g, g->results[j])->role == GR_TEMP && !w->stack[g->results[j].id])
      w->stack[g->results[j].id] = (int)j + 1;
  }
}

static size_t reserve(gr_scan_writer *w, gr_val v, int times) {
  size_t at = w->scratch;
  w->scratch += ((size_t)times * gr_type_bytes(type_of(w, v)) + 255) / 256 * 256;
  return at;
}

static void find_places(gr_scan_writer *w) {
  w->scratch = COUNTER;
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    w->place[leaf.id] = reserve(w, leaf, 2);
  }
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    for (int k = 0; k < w->g->nodes[i].n_out; k++) {
      gr_val v = gr_out(&w->g->nodes[i], k);
      if (w->crosses[v.id] && !w->stack[v.id]) w->place[v.id] = reserve(w, v, 1);
    }
}

static bool is_constant(const gr_scan_writer *w, gr_val v) {
  return gr_at(w->g, v)->role == GR_INPUT && !gr_scan_is_seq(w->s, v.id);
}

static void find_held(gr_scan_writer *w) {
  int64_t widest = 1;
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    if (product_of(w, &w->g->nodes[i]) && type_of(w, w->g->nodes[i].out)->dim[1] > widest)
      widest = type_of(w, w->g->nodes[i].out)->dim[1];
  int most = w->processors && w->processors < BLOCKS ? w->processors : BLOCKS;
  w->blocks = widest < most ? (int)widest : most;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    if (!product_of(w, n) || !is_constant(w, n->in[1])) continue;
    int64_t columns = (type_of(w, n->out)->dim[1] + w->blocks - 1) / w->blocks;
    size_t floats = (size_t)(columns * product_of(w, n)->k);
    if ((w->floats + floats) * sizeof(float) > MOST_SHARED) continue;  // it stays in the L2 cache
    w->held[i] = w->floats + 1;
    w->floats += floats;
  }
}

gr_status gr_scan_gpu(gr_gpu_call *c) {
  const gr_scan *s = c->call->attr;
  const gr_graph *g = s->body;
  gr_arena *a = c->arena;
  gr_scan_writer *w = GR_NEW(a, gr_scan_writer, 1);
  *w = (gr_scan_writer){.call = c->call,
                        .s = s,
                        .g = g,
                        .arena = a,
                        .processors = c->processors,
                        .text = gr_text_make(a)};
  w->product = GR_NEW(a, const gr_gpu_gemm *, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++) w->product[i] = find_product(w, &g->nodes[i]);
  if (!takes(w) || s->steps * (int64_t)g->n_nodes > MOST_BARRIERS) return gr_gpu_refuse(c->call);
  w->level = GR_NEW(a, int, g->n_nodes + 1), w->held = GR_NEW(a, size_t, g->n_nodes + 1);
  w->crosses = GR_NEW(a, bool, g->n_values), w->stack = GR_NEW(a, int, g->n_values);
  w->place = GR_NEW(a, size_t, g->n_values);
  find_levels(w);
  find_crossing(w);
  find_places(w);
  find_held(w);
  gr_scan_write_kernel(w);
  c->scratch = w->scratch;
  gr_gpu_copy_add(c, (gr_gpu_ref){GR_GPU_SCRATCH, 0, 0}, (gr_gpu_ref){0}, COUNTER);
  gr_gpu_kernel *k = gr_gpu_kernel_add(c, w->text.at, "loop", (int64_t)w->blocks * GR_SCAN_THREADS,
                                       GR_SCAN_THREADS);
  k->barriers = 1 + s->steps * w->levels;
  k->cooperative = true, k->shared = w->floats * sizeof(float);
  gr_gpu_int(k, s->steps);
  return GR_OK;
}
