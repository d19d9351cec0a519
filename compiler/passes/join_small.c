// join_small.c - small nodes that may follow each other as one kernel, on GPUs, where a launch
// takes longer than what they compute.
//
// Small nodes are put off until another node reads what one of them makes, so that as many as can
// be are together. Those are then a loop of one step, whose carries are what others read of them;
// that is a kernel of one block (ops/loop/scan_block.c), in which the text of each node is that of
// its own kernel: the values are the same bits. What the loop's op does not take as a kernel stays
// as it is.
//
// Bodies of loops that are no kernel are walked in the same way. In a program, nodes that may be
// launched together otherwise (gr_op.multi_tensor) stay where they are, and so do those that write
// a state's next value in its place.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan_block.h"

// A node is small if the block reads so many bytes for it: an eighth of what it could in the time
// of a launch, because it waits for the memory, and has few threads. And the most nodes of a run.
enum { MAX_SMALL = 32 << 10, MAX_NODES = 96 };

typedef struct joiner {
  gr_builder *b;
  const gr_graph *g;
  gr_val *map;
  bool program;            // not a body
  uint32_t *of;            // by value: the state or carry whose next value it is, or 0
  bool *kept;              // by value: the graph's links name it
  bool *put_off;           // by node: it is one of
  uint32_t *reads;         // by value: how many operands it is
  gr_val *inside, *carry;  // by value: in the loop that is emitted; none between two loops
  uint32_t nodes[MAX_NODES], n;
  int launches[MAX_NODES];
} joiner;

// ---- Which nodes are small ----------------------------------------------------------------------

static size_t bytes_of(const gr_graph *g, gr_val v) { return gr_type_bytes(&gr_at(g, v)->type); }

// Whether it writes the next value of a state where the state is.
static bool writes_in_place(const joiner *j, const gr_node *n) {
  for (int o = 0; o < n->n_out; o++)
    for (int k = 0; k < n->n_in; k++)
      if (gr_is(n->in[k]) && j->of[gr_out(n, o).id] == n->in[k].id) return true;
  return false;
}

// Large values are not kept for longer because a small node reads them later.
static bool is_small(const joiner *j, const gr_node *n, int *launches) {
  if (n->op->collective || n->op == &gr_op_scan || n->op == &gr_op_fetch) return false;
  if (j->program && (n->op->multi_tensor || writes_in_place(j, n))) return false;
  size_t out = 0;
  for (int k = 0; k < n->n_out; k++) out += bytes_of(j->g, gr_out(n, k));
  for (int k = 0; k < n->n_in; k++)
    if (gr_at(j->g, n->in[k])->role == GR_TEMP) out += bytes_of(j->g, n->in[k]);
  if (out > MAX_SMALL) return false;
  gr_arena *work = gr_arena_create();
  double reads = gr_scan_block_reads(work, j->g, n, launches);
  gr_arena_destroy(work);
  return reads >= 0 && reads <= MAX_SMALL;
}

// ---- Emitting -----------------------------------------------------------------------------------

// Whether anything but the n nodes reads a value that one of them makes.
static bool is_read_outside(const joiner *j, const uint32_t *nodes, uint32_t n, gr_val v) {
  uint32_t reads = 0;
  if (j->kept[v.id]) return true;
  for (uint32_t i = 0; i < n; i++)
    for (int k = 0; k < j->g->nodes[nodes[i]].n_in; k++)
      reads += j->g->nodes[nodes[i]].in[k].id == v.id;
  return reads < j->reads[v.id];
}

// Emits a node in the loop, with leaves for what it reads that is not made there.
static void emit_inside(const joiner *j, gr_loop *l, const gr_node *n, const gr_val *map,
                        gr_val *inside) {
  for (int k = 0; k < n->n_in; k++) {
    gr_val v = n->in[k];
    if (!gr_is(v) || gr_is(inside[v.id])) continue;
    inside[v.id] = gr_loop_const(l, map[v.id]);
    gr_at(l->b.g, inside[v.id])->layout = gr_at(j->g, v)->layout;
  }
  gr_emit_placed(&l->b, j->g, n, inside);
}

// What others read of the n nodes leaves the loop.
static void emit_carries(const joiner *j, gr_loop *l, const uint32_t *nodes, uint32_t n) {
  for (uint32_t i = 0; i < n && !l->b.err; i++)
    for (int k = 0; k < j->g->nodes[nodes[i]].n_out; k++) {
      gr_val v = gr_out(&j->g->nodes[nodes[i]], k);
      if (!is_read_outside(j, nodes, n, v)) continue;
      j->carry[v.id] = gr_loop_zero(l, gr_at(j->g, v)->type, "made");
      gr_at(l->b.g, j->carry[v.id])->layout = gr_at(j->g, v)->layout;
      gr_loop_next(l, j->carry[v.id], j->inside[v.id]);
    }
}

static void take_carries(const joiner *j, gr_builder *b, gr_loop *l, const gr_node *n,
                         gr_val *map) {
  for (int k = 0; k < n->n_out && !b->err; k++) {
    gr_val v = gr_out(n, k);
    if (!gr_is(j->carry[v.id])) continue;
    map[v.id] = gr_loop_last(l, j->carry[v.id]);
    gr_at(b->g, map[v.id])->layout = gr_at(j->g, v)->layout;
  }
}

static void forget(const joiner *j, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++) j->inside[n->in[k].id] = GR_NONE;
  for (int k = 0; k < n->n_out; k++)
    j->inside[gr_out(n, k).id] = j->carry[gr_out(n, k).id] = GR_NONE;
}

// Emits n nodes as a loop of one step, on the values that `map` has for those of the graph.
static void emit_loop(const joiner *j, gr_builder *b, const uint32_t *nodes, uint32_t n,
                      gr_val *map) {
  const gr_graph *g = j->g;
  gr_loop l;
  b->loc = g->nodes[nodes[0]].loc, b->scope = g->nodes[nodes[0]].scope;
  gr_loop_open(&l, b, 1, false);
  for (uint32_t i = 0; i < n; i++) emit_inside(j, &l, &g->nodes[nodes[i]], map, j->inside);
  emit_carries(j, &l, nodes, n);
  gr_loop_close(&l);
  for (uint32_t i = 0; i < n; i++) take_carries(j, b, &l, &g->nodes[nodes[i]], map);
  for (uint32_t i = 0; i < n; i++) forget(j, &g->nodes[nodes[i]]);
}

// Whether the loop of these nodes is one kernel.
static bool is_kernel(const joiner *j, const uint32_t *nodes, uint32_t n) {
  gr_arena *work = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(work, &j->g->mesh)};
  gr_val *map = GR_NEW(work, gr_val, j->g->n_values);
  for (uint32_t i = 0; i < n; i++)
    for (int k = 0; k < j->g->nodes[nodes[i]].n_in; k++) {
      gr_val v = j->g->nodes[nodes[i]].in[k];
      if (gr_is(v) && !gr_is(map[v.id]))
        map[v.id] = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "in", gr_at(j->g, v)->type,
                            gr_at(j->g, v)->layout);
    }
  emit_loop(j, &b, nodes, n, map);
  gr_op_call call;
  if (!b.err) gr_op_call_of(b.g, &b.g->nodes[b.g->n_nodes - 1], &call);
  gr_status s = b.err ? b.err : gr_gpu_check(&call);
  gr_status_drop(s);
  gr_arena_destroy(work);
  return !s;
}

// Emits nodes that were put off: as one kernel, if they are one, else each half of them.
static void emit_run(joiner *j, uint32_t first, uint32_t n) {
  const uint32_t *nodes = j->nodes + first;
  int launches = 0;
  for (uint32_t i = 0; i < n; i++) launches += j->launches[first + i];
  if (launches > 1 && is_kernel(j, nodes, n))
    emit_loop(j, j->b, nodes, n, j->map);
  else if (launches < 2 || n < 2)
    for (uint32_t i = 0; i < n; i++) gr_emit_placed(j->b, j->g, &j->g->nodes[nodes[i]], j->map);
  else
    emit_run(j, first, n / 2), emit_run(j, first + n / 2, n - n / 2);
}

static void emit_small(joiner *j) {
  emit_run(j, 0, j->n);
  for (uint32_t i = 0; i < j->n; i++) j->put_off[j->nodes[i]] = false;
  j->n = 0;
}

// ---- Walking ------------------------------------------------------------------------------------

// Whether a node has to follow those that were put off: it reads what they make, or may write the
// next value of a state that they read.
static bool follows(const joiner *j, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(j->g, n->in[k]);
    if (gr_is(n->in[k]) && v->role == GR_TEMP && j->put_off[v->node]) return true;
  }
  for (uint32_t i = 0; i < j->n; i++) {
    const gr_node *small = &j->g->nodes[j->nodes[i]];
    for (int k = 0; k < small->n_in; k++)
      for (int o = 0; o < n->n_out; o++)
        if (gr_is(small->in[k]) && small->in[k].id == j->of[gr_out(n, o).id]) return true;
  }
  return false;
}

static void emit_nodes(gr_builder *, const gr_graph *, bool program, gr_val *map);

static void write_body(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  (void)operands;
  emit_nodes(&l->b, s->body, false, map);
}

static void emit_large(joiner *j, const gr_node *n) {
  gr_op_call call;
  bool kernel = true;
  if (n->op == &gr_op_scan) {
    gr_op_call_of(j->g, n, &call);
    gr_status s = gr_gpu_check(&call);
    kernel = !s;
    gr_status_drop(s);
  }
  if (kernel)
    gr_emit_placed(j->b, j->g, n, j->map);
  else
    gr_emit_loop(j->b, j->g, n, write_body, j->map);
}

static void find_links(joiner *j) {
  const gr_graph *g = j->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) j->reads[g->nodes[i].in[k].id]++;
  gr_mark_links(g, j->kept);
  gr_mark_gradients(g, j->kept);
  for (uint32_t i = 1; i < g->n_values; i++) j->of[g->values[i].next.id] = i;
  j->of[0] = 0;
}

static void emit_nodes(gr_builder *b, const gr_graph *g, bool program, gr_val *map) {
  gr_arena *a = b->g->arena;
  joiner *j = GR_NEW(a, joiner, 1);
  *j = (joiner){.b = b, .g = g, .map = map, .program = program};
  j->of = GR_NEW(a, uint32_t, g->n_values), j->kept = GR_NEW(a, bool, g->n_values);
  j->put_off = GR_NEW(a, bool, g->n_nodes + 1), j->reads = GR_NEW(a, uint32_t, g->n_values);
  j->inside = GR_NEW(a, gr_val, g->n_values), j->carry = GR_NEW(a, gr_val, g->n_values);
  find_links(j);
  for (uint32_t i = 0; i < g->n_nodes && !b->err; i++) {
    const gr_node *n = &g->nodes[i];
    int launches;
    if (is_small(j, n, &launches)) {
      if (j->n == MAX_NODES) emit_small(j);
      j->nodes[j->n] = i, j->launches[j->n++] = launches, j->put_off[i] = true;
      continue;
    }
    if (follows(j, n)) emit_small(j);
    emit_large(j, n);
  }
  emit_small(j);
}

gr_status gr_pass_join_small(gr_rewrite *rw) {
  gr_copy_leaves(rw);
  emit_nodes(&rw->b, rw->old, true, rw->map);
  gr_copy_links(rw);
  return GR_OK;
}
