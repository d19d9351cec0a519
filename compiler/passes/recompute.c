// recompute.c - values of the forward pass that the backward pass computes again instead of keeping
// them: activation checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
// 2016), by the parts of the model that training.recompute names.
//
// Of such a part only the values that nodes outside of it read are kept, its results, and those
// from outside that it reads. Before the first node of the backward pass that reads another one,
// the nodes that made it are emitted again, on the kept values behind an optimization_barrier,
// which keeps the builder from finding the equal nodes of the forward pass. They are the same ops
// on the same operands, so the bits are the same; random ops count their numbers by step and
// element, so these are, too. A loop is computed again as a whole, or with `scan` in chunks, beside
// its gradient (chunk_loops.c); what is read for its sequences alone, such as a product with all of
// its inputs, is then computed again too.
//
// Nothing here depends on layouts, so the collectives of what is computed again, and FSDP's gathers
// of the weights that it reads, are inserted by the shard pass as for all nodes.
#include "compiler/pass.h"
#include "compiler/passes/chunk_loops.h"
#include "compiler/passes/passes.h"

typedef struct recompute {
  gr_rewrite *rw;
  uint32_t loss_at;  // the node of the loss: those of the backward pass come after it
  bool *backward;    // by node
  uint32_t *part;    // by node of the forward pass: 1 + the part of the model that it is in, or 0
  bool *varies;      // by value: it is computed from a batch, directly or not
  bool *dropped;     // by value: it is computed again where the backward pass reads it
  gr_val *again;     // by old value: what the backward pass reads in its place, or GR_NONE
  gr_recomputed *parts;                    // as in the notes
  uint32_t word_part[GR_RECOMPUTE_WORDS];  // 1 + that of what it finds; 0: it is not given
  bool *saved;                             // by value: the backward pass reads it
  gr_chunk_loops *loops;                   // those that run in chunks; or NULL
  bool *counted;                           // by value: it is counted as not kept
  uint32_t *unfinished;  // nodes whose results are needed and whose operands may be missing yet
} recompute;

// ---- What is dropped ------------------------------------------------------------------------

static void find_backward(recompute *r) {
  const gr_graph *g = r->rw->old;
  bool *live = GR_NEW(r->rw->b.g->arena, bool, g->n_values);
  gr_mark_gradients(g, live);
  gr_mark_live(g, live, NULL);
  for (uint32_t i = r->loss_at + 1; i < g->n_nodes; i++)
    if ((r->backward[i] = gr_any_out(&g->nodes[i], live)))
      for (int k = 0; k < g->nodes[i].n_in; k++) r->saved[g->nodes[i].in[k].id] = true;
}

static void find_varying(recompute *r) {
  const gr_graph *g = r->rw->old;
  for (uint32_t i = 1; i < g->n_values; i++) r->varies[i] = g->values[i].role == GR_INPUT;
  gr_mark_dependents(g, r->varies);
}

// Whether a node reads a value that can stand behind a barrier, so that the node can be emitted
// again: leaves and what is computed of weights alone cannot, which would be copied or gathered.
static bool can_repeat(const recompute *r, const gr_node *n) {
  bool any = false;
  for (int k = 0; k < n->n_in; k++)
    any |= r->varies[n->in[k].id] && gr_at(r->rw->old, n->in[k])->role == GR_TEMP;
  return any && !n->op->collective;
}

// Whether a node makes its result of values that are kept anyway, or made so, by few operations for
// each element, such as a norm, or the activation behind a product.
static bool is_light(const recompute *r, const gr_node *n) {
  enum { FEW = 16 };
  gr_op_call call;
  gr_op_call_of(r->rw->old, n, &call);
  bool light = n->op != &gr_op_scan && !gr_op_contracts(&call) &&
               gr_op_flops(&call) <= FEW * gr_type_count(&call.out[0]);
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(r->rw->old, n->in[k]);
    light &= v->role != GR_TEMP || !r->varies[n->in[k].id] || r->saved[n->in[k].id] ||
             r->part[v->node] == r->word_part[GR_RECOMPUTE_ELEMENTWISE];
  }
  return light;
}

static void keep(recompute *r, gr_val v) { r->dropped[v.id] = false; }

static gr_chunked_loop *loop_of(const recompute *r, uint32_t node) {
  return r->loops ? r->loops->of[node] : NULL;
}

// Keeps what a node reads, unless the backward pass, a node of the same part or a loop in chunks
// does, or it is light.
static void keep_operands(recompute *r, uint32_t i) {
  const gr_graph *g = r->rw->old;
  const gr_node *n = &g->nodes[i];
  for (int k = 0; k < n->n_in && !r->backward[i]; k++) {
    const gr_value *v = gr_at(g, n->in[k]);
    uint32_t part = v->role == GR_TEMP ? r->part[v->node] : r->part[i];
    bool fed = part == r->word_part[GR_RECOMPUTE_SCAN] && loop_of(r, i);
    if (part != r->part[i] && part != r->word_part[GR_RECOMPUTE_ELEMENTWISE] && !fed)
      keep(r, n->in[k]);
  }
}

static void find_dropped(recompute *r) {
  const gr_graph *g = r->rw->old;
  gr_arena *arena = r->rw->b.g->arena;
  for (uint32_t i = 0; i < r->loss_at; i++) {
    const gr_node *n = &g->nodes[i];
    r->part[i] = gr_part_of(arena, r->rw->opt->memory.recomputed, n->scope);
    if (!r->part[i] && r->loops && r->loops->feeds[i]) r->part[i] = r->word_part[GR_RECOMPUTE_SCAN];
    if (!r->part[i] && r->word_part[GR_RECOMPUTE_ELEMENTWISE] && is_light(r, n))
      r->part[i] = r->word_part[GR_RECOMPUTE_ELEMENTWISE];
    bool drops = r->part[i] && can_repeat(r, n);
    for (int k = 0; k < n->n_out; k++) r->dropped[gr_out(n, k).id] = drops;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) keep_operands(r, i);
  for (uint32_t i = 0; i < g->n_results; i++) keep(r, g->results[i]);
  for (uint32_t i = 1; i < g->n_values; i++) keep(r, g->values[i].next);
  keep(r, g->loss), keep(r, g->loss_denominator);
  for (uint32_t i = 1; r->loops && i < g->n_values; i++)
    if (r->loops->local[i]) keep(r, (gr_val){i});  // there is no such value
}

// ---- Emitting -------------------------------------------------------------------------------

// Puts what a node reads behind barriers, unless it has been emitted again.
static void put_barriers(recompute *r, const gr_node *n) {
  gr_rewrite *rw = r->rw;
  for (int k = 0; k < n->n_in; k++) {
    uint32_t id = n->in[k].id;
    bool behind = r->varies[id] && gr_at(rw->old, n->in[k])->role == GR_TEMP;
    rw->b.loc = n->loc, rw->b.scope = n->scope;
    if (!gr_is(r->again[id]))
      r->again[id] =
          behind ? GR_EMIT(&rw->b, &gr_op_optimization_barrier, NULL, rw->map[id]) : rw->map[id];
  }
}

static void count_flops(recompute *r, const gr_node *n, uint32_t part) {
  gr_op_call call;
  gr_op_call_of(r->rw->old, n, &call);
  r->parts[part - 1].flops += (double)gr_op_flops(&call);
}

// Emits a node of the forward pass again; what is dropped of its operands has been.
static void emit_again(recompute *r, const gr_node *n) {
  gr_rewrite *rw = r->rw;
  uint32_t i = (uint32_t)(n - rw->old->nodes);
  put_barriers(r, n);
  count_flops(r, n, r->part[i]);
  if (loop_of(r, i)) {
    gr_chunk_loops_forward(rw, r->loops, loop_of(r, i), 1, r->again);
    return;
  }
  gr_node copy = *n;
  copy.created_by = rw->b.created_by;
  gr_emit_copy(&rw->b, rw->old, &copy, r->again);
}

// The node that makes the first operand that is dropped and has not been emitted again, or NULL.
static const gr_node *missing_operand(const recompute *r, const gr_node *n) {
  const gr_graph *g = r->rw->old;
  for (int k = 0; k < n->n_in; k++)
    if (r->dropped[n->in[k].id] && !gr_is(r->again[n->in[k].id]))
      return &g->nodes[gr_at(g, n->in[k])->node];
  return NULL;
}

static void emit_missing(recompute *r, const gr_node *n) {
  const gr_graph *g = r->rw->old;
  const gr_node *missing;
  while ((missing = missing_operand(r, n)) && !r->rw->b.err) {
    uint32_t depth = 0;
    for (r->unfinished[depth++] = (uint32_t)(missing - g->nodes); depth && !r->rw->b.err;) {
      const gr_node *last = &g->nodes[r->unfinished[depth - 1]], *more = missing_operand(r, last);
      if (more)
        r->unfinished[depth++] = (uint32_t)(more - g->nodes);
      else
        emit_again(r, last), depth--;
    }
  }
}

static void count_dropped(recompute *r, gr_val v) {
  const gr_value *of = gr_at(r->rw->old, v);
  if (!r->dropped[v.id] || r->counted[v.id]) return;
  r->counted[v.id] = true;
  r->parts[r->part[of->node] - 1].bytes += (double)gr_type_bytes(&of->type);
}

// A node of the backward pass reads what was computed again, or the barrier where there is one, so
// that this is the last reader of the kept value and needs no memory of its own.
static void emit_backward(recompute *r, const gr_node *n) {
  gr_rewrite *rw = r->rw;
  emit_missing(r, n);
  gr_val kept[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) {
    uint32_t id = n->in[k].id;
    kept[k] = rw->map[id];
    count_dropped(r, n->in[k]);
    if (gr_is(r->again[id])) rw->map[id] = r->again[id];
  }
  gr_copy_node(rw, n);
  for (int k = n->n_in; k--;) rw->map[n->in[k].id] = kept[k];
}

// The gradient of a loop, in chunks, behind what feeds the loop and is computed again.
static void emit_loop_backward(recompute *r, const gr_chunked_loop *loop) {
  gr_rewrite *rw = r->rw;
  gr_val *read = GR_NEW(rw->b.g->arena, gr_val, rw->old->n_values);
  emit_missing(r, loop->forward);
  put_barriers(r, loop->forward);
  emit_missing(r, loop->backward);
  for (uint32_t i = 1; i < rw->old->n_values; i++)
    read[i] = gr_is(r->again[i]) ? r->again[i] : rw->map[i];
  count_flops(r, loop->forward, r->word_part[GR_RECOMPUTE_SCAN]);
  gr_chunk_loops_backward(rw, r->loops, loop, read);
}

static void emit_node(recompute *r, uint32_t i) {
  const gr_node *n = &r->rw->old->nodes[i];
  gr_chunked_loop *loop = loop_of(r, i);
  if (loop && r->backward[i])
    emit_loop_backward(r, loop);
  else if (loop)
    gr_chunk_loops_forward(r->rw, r->loops, loop, loop->n, r->rw->map);
  else if (r->backward[i] && !(r->loops && r->loops->local[n->out.id]))
    emit_backward(r, n);
  else if (!r->backward[i])
    gr_copy_node(r->rw, n);
}

static void open_notes(recompute *r) {
  const gr_map *paths = r->rw->opt->memory.recomputed;
  gr_notes *notes = r->rw->opt->notes;
  uint32_t n = paths->n;
  r->parts =
      GR_NEW(notes ? notes->arena : r->rw->b.g->arena, gr_recomputed, n + GR_RECOMPUTE_WORDS);
  for (uint32_t i = 0; i < n; i++) r->parts[i].path = paths->keys[i];
  for (int k = 0; k < GR_RECOMPUTE_WORDS; k++) {
    if (!r->rw->opt->memory.given[k]) continue;
    r->parts[n++].path = gr_recompute_words[k];
    r->word_part[k] = n;
  }
  if (r->loops) r->parts[n - 1].bytes = r->loops->bytes;
  if (notes) notes->recomputed = r->parts, notes->n_recomputed = n;
}

gr_status gr_pass_recompute(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  const gr_node *loss = gr_maker(old, old->loss);
  gr_arena *arena = rw->b.g->arena;
  recompute r = {.rw = rw,
                 .loss_at = gr_is(old->loss) && loss ? (uint32_t)(loss - old->nodes) : 0,
                 .backward = GR_NEW(arena, bool, old->n_nodes + 1),
                 .part = GR_NEW(arena, uint32_t, old->n_nodes + 1),
                 .varies = GR_NEW(arena, bool, old->n_values),
                 .dropped = GR_NEW(arena, bool, old->n_values),
                 .again = GR_NEW(arena, gr_val, old->n_values),
                 .counted = GR_NEW(arena, bool, old->n_values),
                 .unfinished = GR_NEW(arena, uint32_t, old->n_nodes + 1),
                 .saved = GR_NEW(arena, bool, old->n_values)};
  find_backward(&r);
  find_varying(&r);
  if (rw->opt->memory.given[GR_RECOMPUTE_SCAN])
    r.loops = gr_chunk_loops_find(arena, old, r.loss_at, r.backward);
  open_notes(&r);
  find_dropped(&r);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) emit_node(&r, i);
  gr_copy_links(rw);
  return GR_OK;
}
