// prove_memory.c - no value is written over while something still reads it. Nothing here is
// shared with the planner: each node's results and working memory are compared, one by one,
// with all that is alive at that node.
#include "compiler/memory.h"
#include "compiler/prove.h"

typedef struct span {
  bool in_states;
  size_t from, to;
} span;

typedef struct walk {
  const gr_plan_frame *f;
  const gr_graph *g;
  size_t limit, state_limit;
  uint32_t *last;   // by value: 1 + the last node that reads it; 0: none does
  uint32_t *alive;  // values
  uint32_t n_alive;
} walk;

static bool overlap(span a, span b) {
  return a.in_states == b.in_states && a.from < b.to && b.from < a.to;
}

static span span_of(const walk *w, uint32_t v) {
  size_t from = w->f->offset[v];
  return (span){w->f->in_states[v], from, from + gr_type_bytes(&w->g->values[v].type)};
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

static bool may_lie_on(const walk *w, uint32_t i, int k, uint32_t v) {
  const gr_node *n = &w->g->nodes[i];
  if (w->last[v] != i + 1 || w->f->offset[gr_out(n, k).id] != w->f->offset[v]) return false;
  for (int j = 0; j < n->n_in; j++)
    if (n->in[j].id == v && gr_memory_may_take(w->g, n, k, j)) return true;
  return false;
}

// In the states' block a result may only be made where the state is that it becomes.
static gr_status check_in_states(const walk *w, const gr_node *n, uint32_t v) {
  for (uint32_t s = 1; s < w->g->n_values; s++) {
    const gr_value *state = &w->g->values[s];
    if (state->role == GR_STATE && state->next.id == v && w->f->offset[s] == w->f->offset[v])
      return GR_OK;
  }
  return gr_fail(GR_ERR_BUG, n->loc, "a result of '%s' lies on a state it does not become",
                 n->op->name);
}

static gr_status check_span(const walk *w, const gr_node *n, span s) {
  if (s.to <= (s.in_states ? w->state_limit : w->limit)) return GR_OK;
  return gr_fail(GR_ERR_BUG, n->loc, "'%s' (%%%u) lies outside its block", n->op->name, n->out.id);
}

static gr_status check_results(walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  for (int k = 0; k < n->n_out; k++) {
    uint32_t v = gr_out(n, k).id;
    if (!placed(w, v)) continue;
    span s = span_of(w, v);
    GR_TRY(check_span(w, n, s));
    if (s.in_states) GR_TRY(check_in_states(w, n, v));
    for (uint32_t a = 0; a < w->n_alive; a++)
      if (overlap(s, span_of(w, w->alive[a])) && !may_lie_on(w, i, k, w->alive[a]))
        return clash(w, n, w->alive[a], "a result");
  }
  for (int k = 0; k < n->n_out; k++)  // only now: results of one node against each other too
    for (int j = 0; j < k; j++)
      if (placed(w, gr_out(n, j).id) && placed(w, gr_out(n, k).id) &&
          overlap(span_of(w, gr_out(n, j).id), span_of(w, gr_out(n, k).id)))
        return clash(w, n, gr_out(n, j).id, "a result");
  for (int k = 0; k < n->n_out; k++)
    if (placed(w, gr_out(n, k).id)) w->alive[w->n_alive++] = gr_out(n, k).id;
  return GR_OK;
}

static gr_status check_apart(const walk *w, const gr_node *n, span s, const char *what) {
  GR_TRY(check_span(w, n, s));
  for (uint32_t a = 0; a < w->n_alive; a++)
    if (overlap(s, span_of(w, w->alive[a]))) return clash(w, n, w->alive[a], what);
  return GR_OK;
}

static gr_status check_scratch(const walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  gr_site site = gr_site_of(w->g, n);
  size_t bytes = n->op->scratch ? n->op->scratch(&site) : 0, at = w->f->scratch[i];
  const gr_plan_frame *body = w->f->body[i];
  span scratch = {false, at, at + bytes};
  span piece = {false, w->f->body_at[i], w->f->body_at[i] + (body ? body->bytes : 0)};
  if (bytes) GR_TRY(check_apart(w, n, scratch, "the working memory"));
  if (body && body->bytes) GR_TRY(check_apart(w, n, piece, "the body"));
  if (bytes && body && overlap(scratch, piece)) return clash(w, n, 0, "the working memory");
  return GR_OK;
}

static void drop_read(walk *w, uint32_t i) {
  uint32_t n = 0;
  for (uint32_t a = 0; a < w->n_alive; a++)
    if (w->last[w->alive[a]] > i) w->alive[n++] = w->alive[a];
  w->n_alive = n;
}

static gr_status start(walk *w) {
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    if (w->g->values[i].role == GR_TEMP || !placed(w, i)) continue;
    for (uint32_t a = 0; a < w->n_alive; a++)
      if (overlap(span_of(w, i), span_of(w, w->alive[a])))
        return gr_fail(GR_ERR_BUG, w->g->values[i].loc, "%s and %s share memory",
                       w->g->values[i].name, w->g->values[w->alive[a]].name);
    w->alive[w->n_alive++] = i;
  }
  return GR_OK;
}

static gr_status prove_frame(gr_arena *arena, const gr_plan *p, const gr_plan_frame *f,
                             size_t limit) {
  walk w = {.f = f, .g = f->g, .limit = limit, .state_limit = p->state_bytes};
  w.last = GR_NEW(arena, uint32_t, f->g->n_values);
  w.alive = GR_NEW(arena, uint32_t, f->g->n_values);
  find_last(&w);
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

gr_status gr_prove_states_apart(const gr_plan *p) {
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
