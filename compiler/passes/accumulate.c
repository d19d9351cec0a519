// accumulate.c - gradient accumulation: splits the graph of a step into two programs.
//
// Losses, metrics and gradients are sums over a batch, so those of a batch are the sums over its
// micro-batches. The first program computes them for one micro-batch and adds them to accumulator
// states. The second runs once at the end of the step and starts from the accumulators: norm,
// clipping, optimizer, and all communication of gradients. Accumulators are Partial where the
// gradients are, so ranks all_reduce once per step. With options.sharding.scatter gradients are
// reduce_scattered in every micro-step instead: more communication, a fraction of the memory.
//
// With virtual shards (canonical numerics) a micro-batch is a shard of each rank, and all sums over
// a batch are accumulated as one binary tree over the shards: of a rank's first, which the ranks'
// sums continue, or the other way round where gradients are scattered in every micro-step.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/comm/collective.h"

typedef struct halves {
  gr_rewrite *rw;
  const char **accumulator;    // by old value: the name of its accumulator state, or NULL
  bool *after_totals;          // by old value: it depends on an accumulated value, or is one
  bool *in_micro, *in_update;  // by old value: the program computes or reads it
  gr_val micro;                // the input with the micro-batch's index
  int virtual_axis;            // the mesh axis of virtual shards, or -1
} halves;

// ---- Where to divide -----------------------------------------------------------------------

// Whether a collective waits for the end of the step, so that it runs once and not for every
// micro-batch: its operand is accumulated instead of its result.
static bool is_deferred(const halves *c, const gr_node *n) {
  if (!n || (n->op != &gr_op_all_reduce && n->op != &gr_op_reduce_scatter)) return false;
  if (((const struct gr_coll *)n->attr)->mesh_axis == c->virtual_axis) return true;
  return !c->rw->opt->sharding.scatter || (n->op == &gr_op_all_reduce && c->virtual_axis < 0);
}

// What is accumulated in place of v: the operand of a collective that waits, before it was cast to
// be sent (options.precision.sent).
static gr_val find_term(const halves *c, gr_val v) {
  const gr_graph *g = c->rw->old;
  gr_val term = v;
  const gr_node *n = gr_maker(g, v);
  if (n && n->op == &gr_op_cast) v = n->in[0];
  while (is_deferred(c, gr_maker(g, v))) term = v = gr_maker(g, v)->in[0];
  n = gr_is_narrow(gr_at(g, term)->type.dtype) ? gr_maker(g, term) : NULL;
  return n && n->op == &gr_op_cast ? n->in[0] : term;
}

static void name_accumulator(halves *c, gr_val v, const char *name) {
  const gr_graph *g = c->rw->old;
  if (!gr_is(v)) return;
  v = find_term(c, v);
  if (!c->accumulator[v.id]) c->accumulator[v.id] = gr_arena_printf(g->arena, "%s.total", name);
}

// What is a sum over the batch: gradients, metrics, the loss and its denominator.
static void find_accumulators(halves *c) {
  const gr_graph *g = c->rw->old;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE) name_accumulator(c, g->values[i].grad, g->values[i].name);
  for (uint32_t i = 0; i < g->n_results; i++) {
    const char *name = g->result_names[i];
    if (name && !strncmp(name, "metric.", 7)) name_accumulator(c, g->results[i], name);
  }
  name_accumulator(c, g->loss, "loss");
  name_accumulator(c, g->loss_denominator, "norm");
  for (uint32_t i = 0, others = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool sums = n->op == &gr_op_all_reduce &&
                ((const struct gr_coll *)n->attr)->mesh_axis == c->virtual_axis;
    if (!sums || c->accumulator[find_term(c, n->out).id]) continue;
    name_accumulator(c, n->out, gr_arena_printf(g->arena, "sum.%u", others++));
  }
}

// Every micro-batch would add to it what is there once.
static gr_status check_accumulated(const halves *c) {
  const gr_graph *g = c->rw->old;
  for (uint32_t i = 1; i < g->n_values && c->virtual_axis >= 0; i++) {
    const gr_value *v = &g->values[i];
    if (!c->accumulator[i] || v->layout.placement[c->virtual_axis] == GR_PARTIAL) continue;
    return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, gr_loc_of(g, (gr_val){i}),
                           "training.numerics=canonical: '%s' is no sum over the samples of a "
                           "batch, and each of its virtual shards would add it",
                           c->accumulator[i]),
                   "a loss and metrics that depend on the samples; or training.numerics=native");
  }
  return GR_OK;
}

static void find_after_totals(halves *c) {
  const gr_graph *g = c->rw->old;
  for (uint32_t i = 1; i < g->n_values; i++) c->after_totals[i] = c->accumulator[i] != NULL;
  gr_mark_dependents(g, c->after_totals);
}

// Whether the update program computes a state's next value. A buffer's is computed by the forward
// pass, of every micro-batch, and a counter counts steps; any other belongs to the program that
// knows all it depends on. With virtual shards a step sets each state once.
static bool is_set_by_update(const halves *c, const gr_value *state) {
  if (state->kind == GR_KIND_COUNTER || c->virtual_axis >= 0) return true;
  return state->kind != GR_KIND_BUFFER && c->after_totals[state->next.id];
}

// By old value: whether the update program (or that of a micro-batch) computes it. A result belongs
// to the program in which all that it depends on is known. The update program reads accumulated
// values from their states, so it needs nothing that they depend on.
static bool *find_needs(const halves *c, bool end) {
  const gr_graph *g = c->rw->old;
  bool *need = GR_NEW(g->tables, bool, g->n_values), *given = GR_NEW(g->tables, bool, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) {
    given[i] = end && c->accumulator[i];
    gr_val next = g->values[i].next;
    if (!end && c->accumulator[i]) need[i] = true;
    if (gr_is(next) && is_set_by_update(c, &g->values[i]) == end) need[i] = need[next.id] = true;
  }
  for (uint32_t i = 0; i < g->n_results; i++)
    if (c->after_totals[g->results[i].id] == end) need[g->results[i].id] = true;
  if (end) need[g->loss.id] = need[g->loss_denominator.id] = true;
  need[0] = false;
  gr_mark_live(g, need, given);
  return need;
}

static gr_status divide(halves *c) {
  const gr_graph *g = c->rw->old;
  c->accumulator = GR_NEW(g->tables, const char *, g->n_values);
  c->after_totals = GR_NEW(g->tables, bool, g->n_values);
  find_accumulators(c);
  find_after_totals(c);
  GR_TRY(check_accumulated(c));
  c->in_micro = find_needs(c, false), c->in_update = find_needs(c, true);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (v->role == GR_INPUT && c->in_micro[i] && c->in_update[i])
      return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, v->loc,
                             "the end of a step needs all of input '%s', of which each micro-step "
                             "has a part",
                             v->name),
                     "training.accumulate=1");
    if (v->kind == GR_KIND_BUFFER && gr_is(v->next) && c->in_update[i] && c->virtual_axis < 0)
      return gr_hint(
          gr_fail(GR_ERR_UNSUPPORTED, v->loc,
                  "the end of a step needs buffer '%s', which every micro-step changes", v->name),
          "training.accumulate=1");
  }
  return GR_OK;
}

// ---- The halves -------------------------------------------------------------------------

static gr_val emit_accumulator(halves *c, uint32_t i, const char *name) {
  const gr_value *v = &c->rw->old->values[i];
  gr_builder *b = &c->rw->b;
  b->loc = gr_loc_of(c->rw->old, (gr_val){i});
  return gr_leaf(b, GR_STATE, GR_KIND_GRAD_ACCUMULATOR, name, v->type, v->layout);
}

// Adds value i to its accumulators, of which `total` is the last.
static void emit_tree(halves *c, uint32_t i, gr_val total) {
  gr_builder *b = &c->rw->b;
  gr_val in[34];
  int n = 0;
  for (int k = 0; 2 << k < c->rw->opt->sharding.shards_each; k++)
    in[n++] =
        emit_accumulator(c, i, gr_arena_printf(c->rw->old->arena, "%s.%d", c->accumulator[i], k));
  in[n++] = total, in[n] = c->rw->map[i], in[n + 1] = c->micro;
  gr_val next = gr_emit(b, &gr_op_accumulate_tree, NULL, n + 2, in);
  for (int k = 0; k < n && !b->err; k++) {
    gr_val of = {next.id + (uint32_t)k};
    gr_at(b->g, of)->layout = gr_at(b->g, in[k])->layout;
    gr_at(b->g, in[k])->next = of;
  }
}

// Adds value i to its accumulator as soon as it is computed, so that its memory is free early.
static void emit_accumulate(halves *c, uint32_t i, gr_val total) {
  gr_builder *b = &c->rw->b;
  if (c->virtual_axis >= 0) {
    emit_tree(c, i, total);
    return;
  }
  gr_val next = GR_EMIT(b, &gr_op_accumulate, NULL, total, c->rw->map[i], c->micro);
  if (b->err) return;
  gr_at(b->g, next)->layout = gr_at(b->g, total)->layout;
  gr_at(b->g, total)->next = next;
}

// The number of the step that random numbers and minibatches of the forward pass depend on.
static gr_val find_step(const halves *c) {
  const gr_graph *g = c->rw->old;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE && g->values[i].kind == GR_KIND_COUNTER &&
        g->values[i].type.dtype == GR_I32 && c->in_micro[i])
      return (gr_val){i};
  return (gr_val){0};
}

// Each micro-step has a step number of its own, so that it draws other random numbers and another
// part of the step's minibatch. Virtual shards differ by their place in the batch.
static void emit_draw_count(halves *c) {
  gr_builder *b = &c->rw->b;
  gr_type scalar = {.dtype = GR_I32};
  b->loc = GR_NOWHERE, b->scope = "micro-steps";
  c->micro = gr_leaf(b, GR_INPUT, GR_KIND_COUNTER, "micro", scalar, gr_layout_replicated);
  gr_val step = find_step(c);
  if (!gr_is(step) || c->virtual_axis >= 0) return;
  gr_val parts = gr_fill(b, &scalar, c->rw->opt->batch.micro_batches);
  c->rw->map[step.id] = gr_add(b, gr_mul(b, c->rw->map[step.id], parts), c->micro);
}

static void copy_leaves(halves *c, const bool *need) {
  for (uint32_t i = 1; i < c->rw->old->n_values; i++) {
    const gr_value *v = &c->rw->old->values[i];
    if (v->role != GR_TEMP && need[i]) gr_copy_leaf(c->rw, i, &v->type, v->layout);
  }
}

// Whether a node has a result that is needed and not yet available.
static bool is_missing(const halves *c, const gr_node *n, const bool *need) {
  for (int k = 0; k < n->n_out; k++)
    if (need[gr_out(n, k).id] && !gr_is(c->rw->map[gr_out(n, k).id])) return true;
  return false;
}

static void emit_micro_batch(halves *c) {
  gr_rewrite *rw = c->rw;
  gr_val *total = GR_NEW(rw->old->tables, gr_val, rw->old->n_values);
  copy_leaves(c, c->in_micro);
  for (uint32_t i = 1; i < rw->old->n_values; i++)
    if (c->accumulator[i]) total[i] = emit_accumulator(c, i, c->accumulator[i]);
  emit_draw_count(c);
  for (uint32_t i = 1; i < rw->old->n_values && !rw->b.err; i++) {
    const gr_node *n = gr_maker(rw->old, (gr_val){i});
    if (n && n->out.id == i && is_missing(c, n, c->in_micro)) gr_copy_node(rw, n);
    rw->b.scope = n ? n->scope : NULL, rw->b.loc = gr_loc_of(rw->old, (gr_val){i});
    if (c->accumulator[i]) emit_accumulate(c, i, total[i]);
  }
}

static void emit_update(halves *c) {
  gr_rewrite *rw = c->rw;
  copy_leaves(c, c->in_update);
  for (uint32_t i = 1; i < rw->old->n_values; i++)
    if (c->accumulator[i] && c->in_update[i])
      rw->map[i] = emit_accumulator(c, i, c->accumulator[i]);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    if (is_missing(c, &rw->old->nodes[i], c->in_update)) gr_copy_node(rw, &rw->old->nodes[i]);
}

static void link_half(halves *c, bool end) {
  const gr_graph *old = c->rw->old;
  gr_builder *b = &c->rw->b;
  if (end)
    b->g->loss = c->rw->map[old->loss.id],
    b->g->loss_denominator = c->rw->map[old->loss_denominator.id];
  for (uint32_t i = 0; i < old->n_results; i++)
    if (c->after_totals[old->results[i].id] == end)
      gr_result(b, old->result_names[i], c->rw->map[old->results[i].id]);
  for (uint32_t i = 1; i < old->n_values && !b->err; i++) {
    const gr_value *v = &old->values[i];
    if (v->role != GR_STATE || !gr_is(c->rw->map[i])) continue;
    gr_value *now = gr_at(b->g, c->rw->map[i]);
    if (gr_is(v->grad)) now->grad = c->rw->map[v->grad.id];
    if (gr_is(v->next) && is_set_by_update(c, v) == end) now->next = c->rw->map[v->next.id];
  }
}

gr_status gr_pass_accumulate(gr_rewrite *rw) {
  halves c = {.rw = rw, .virtual_axis = gr_mesh_virtual(&rw->old->mesh)};
  bool end = rw->opt->program.phase == GR_PHASE_UPDATE;
  GR_TRY(divide(&c));
  if (end)
    emit_update(&c);
  else
    emit_micro_batch(&c);
  link_half(&c, end);
  return GR_OK;
}
