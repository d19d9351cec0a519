// prove_memory.c - no value is written over while something still reads it. Nothing here is
// shared with the planner: each node's results and working memory are compared, one by one,
// with all that is alive at that node.
#include "compiler/plan/memory.h"
#include "compiler/plan/prove.h"
#include "compiler/plan/span_set.h"

// Addresses of the states block come first, those of the arena (or of the body's piece) behind.
typedef struct walk {
  const gr_plan_frame *f;
  const gr_graph *g;
  size_t limit, state_limit;
  uint32_t *last;     // by value: 1 + the last node that reads it; 0: none does
  uint32_t *dying;    // values in order of `last`
  uint32_t n_dying;   // how many of them are dead
  bool *becomes;      // by value: the state that it becomes has the same address
  gr_span *spans;     // by value
  gr_span_set alive;  // of values
} walk;

static bool overlap(gr_span a, gr_span b) { return a.from < b.to && b.from < a.to; }

static gr_span span_at(const walk *w, bool in_states, size_t at, size_t bytes) {
  size_t from = in_states ? at : w->state_limit + at;
  return (gr_span){from, from + bytes};
}

// Does this frame say where v lies? A body's leaves and stacked values lie elsewhere.
static bool placed(const walk *w, uint32_t v) {
  return !w->f->stacked || (w->g->values[v].role == GR_TEMP && !w->f->stacked[v]);
}

static void find_last(walk *w) {
  const gr_graph *g = w->g;
  for (uint32_t i = 1; i < g->n_values; i++)
    w->last[i] = g->values[i].role == GR_TEMP ? g->values[i].node + 1 : 0;
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; k < g->nodes[i].n_in; k++)
      if (w->last[g->nodes[i].in[k].id] <= i) w->last[g->nodes[i].in[k].id] = i + 1;
  for (uint32_t i = 0; i < g->n_results; i++) w->last[g->results[i].id] = g->n_nodes + 1;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (gr_is(g->values[i].next)) w->last[g->values[i].next.id] = g->n_nodes + 1;
}

static gr_status clash(const walk *w, const gr_node *n, uint32_t v, const char *what) {
  return gr_fail(GR_ERR_BUG, n->loc, "%s of '%s' (%%%u) lies on %%%u, which is still read", what,
                 n->op->name, n->out.id, v < w->g->n_values ? v : 0);
}

static bool may_be_placed_on(const walk *w, uint32_t i, int k, uint32_t v) {
  const gr_node *n = &w->g->nodes[i];
  if (w->last[v] != i + 1 || w->f->offset[gr_out(n, k).id] != w->f->offset[v]) return false;
  for (int j = 0; j < n->n_in; j++)
    if (n->in[j].id == v && gr_memory_may_reuse(w->g, n, k, j)) return true;
  return false;
}

// By value, those of `last` first: so that a walk drops each value once.
static void sort_by_last(gr_arena *arena, walk *w) {
  uint32_t n = w->g->n_values, *from = GR_NEW(arena, uint32_t, w->g->n_nodes + 3);
  w->dying = GR_NEW(arena, uint32_t, n);
  for (uint32_t i = 1; i < n; i++) from[w->last[i] + 1]++;
  for (uint32_t i = 1; i < w->g->n_nodes + 3; i++) from[i] += from[i - 1];
  for (uint32_t i = 1; i < n; i++) w->dying[from[w->last[i]]++] = i;
}

static void find_places(gr_arena *arena, walk *w) {
  const gr_graph *g = w->g;
  w->spans = GR_NEW(arena, gr_span, g->n_values);
  w->becomes = GR_NEW(arena, bool, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (placed(w, i))
      w->spans[i] = span_at(w, w->f->in_states[i], w->f->offset[i], gr_type_bytes(&v->type));
    if (v->role == GR_STATE && w->f->offset[i] == w->f->offset[v->next.id])
      w->becomes[v->next.id] = true;
  }
  w->alive = gr_span_set_make(arena, w->spans, g->n_values);
}

static gr_status check_span(const walk *w, const gr_node *n, bool in_states, gr_span s) {
  size_t limit = in_states ? w->state_limit : w->state_limit + w->limit;
  if (s.from <= s.to && s.to <= limit) return GR_OK;
  return gr_fail(GR_ERR_BUG, n->loc, "'%s' (%%%u) lies outside its block", n->op->name, n->out.id);
}

static gr_status check_result(const walk *w, uint32_t i, int k) {
  const gr_node *n = &w->g->nodes[i];
  uint32_t v = gr_out(n, k).id, other;
  GR_TRY(check_span(w, n, w->f->in_states[v], w->spans[v]));
  // In the states' block a result may only be made where the state is that it becomes.
  if (w->f->in_states[v] && !w->becomes[v])
    return gr_fail(GR_ERR_BUG, n->loc, "a result of '%s' lies on a state it does not become",
                   n->op->name);
  for (uint32_t at = 0; gr_span_set_next(&w->alive, w->spans[v], &at, &other);)
    if (!may_be_placed_on(w, i, k, other)) return clash(w, n, other, "a result");
  return GR_OK;
}

static gr_status check_results(walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  for (int k = 0; k < n->n_out; k++)
    if (placed(w, gr_out(n, k).id)) GR_TRY(check_result(w, i, k));
  for (int k = 0; k < n->n_out; k++)  // only now: results of one node against each other too
    for (int j = 0; j < k; j++)
      if (overlap(w->spans[gr_out(n, j).id], w->spans[gr_out(n, k).id]))
        return clash(w, n, gr_out(n, j).id, "a result");
  for (int k = 0; k < n->n_out; k++) gr_span_set_add(&w->alive, gr_out(n, k).id);
  return GR_OK;
}

static gr_status check_apart(const walk *w, const gr_node *n, gr_span s, const char *what) {
  uint32_t at = 0, other;
  GR_TRY(check_span(w, n, false, s));
  return gr_span_set_next(&w->alive, s, &at, &other) ? clash(w, n, other, what) : GR_OK;
}

static gr_status check_scratch(const walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  size_t bytes = 0;
  if (n->op->scratch) {
    gr_op_call call;
    gr_op_call_of(w->g, n, &call);
    bytes = n->op->scratch(&call);
  }
  const gr_plan_frame *body = w->f->body[i];
  gr_span scratch = span_at(w, false, w->f->scratch[i], bytes);
  gr_span piece = span_at(w, false, w->f->body_at[i], body ? body->bytes : 0);
  if (bytes) GR_TRY(check_apart(w, n, scratch, "the working memory"));
  if (body && body->bytes) GR_TRY(check_apart(w, n, piece, "the body"));
  if (bytes && body && overlap(scratch, piece)) return clash(w, n, 0, "the working memory");
  return GR_OK;
}

static void drop_read(walk *w, uint32_t i) {
  for (; w->n_dying + 1 < w->g->n_values && w->last[w->dying[w->n_dying]] <= i; w->n_dying++)
    gr_span_set_remove(&w->alive, w->dying[w->n_dying]);
}

static gr_status start(walk *w) {
  uint32_t other;
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    if (w->g->values[i].role == GR_TEMP || !placed(w, i)) continue;
    uint32_t at = 0;
    if (gr_span_set_next(&w->alive, w->spans[i], &at, &other))
      return gr_fail(GR_ERR_BUG, w->g->values[i].loc, "%s and %s share memory",
                     w->g->values[i].name, w->g->values[other].name);
    gr_span_set_add(&w->alive, i);
  }
  return GR_OK;
}

static gr_status prove_frame(gr_arena *arena, const gr_plan *p, const gr_plan_frame *f,
                             size_t limit) {
  walk w = {.f = f, .g = f->g, .limit = limit, .state_limit = p->state_bytes};
  w.last = GR_NEW(arena, uint32_t, f->g->n_values);
  find_last(&w);
  sort_by_last(arena, &w);
  find_places(arena, &w);
  GR_TRY(start(&w));
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    drop_read(&w, i);
    GR_TRY(check_results(&w, i));
    GR_TRY(check_scratch(&w, i));
    if (f->body[i])
      GR_TRY(gr_note(prove_frame(arena, p, f->body[i], f->body[i]->bytes), f->g->nodes[i].loc,
                     "in the body of '%s'", f->g->nodes[i].op->name));
  }
  return GR_OK;
}

gr_status gr_prove_states_disjoint(const gr_plan *p) {
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (s->offset + s->bytes > p->state_bytes || s->bytes != gr_type_bytes(&s->type))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "state %s lies outside its block", s->name);
    if (i && p->states[i - 1].offset + p->states[i - 1].bytes > s->offset)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "states %s and %s share memory", p->states[i - 1].name,
                     s->name);
  }
  return GR_OK;
}

gr_status gr_prove_memory(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  return prove_frame(arena, p, &program->frame, p->arena_bytes);
}
