// prove_memory.c - proves that no value is overwritten before its last read. It shares no code with
// the planner: the results and working memory of each node are compared with all values that are
// live at that node. The same holds for one step of a scan's body: prove_carry.c derives the
// addresses of carries and covers the transition between steps.
#include "compiler/plan/calls.h"
#include "compiler/plan/memory.h"
#include "compiler/plan/prove.h"
#include "ops/ops.h"

// Addresses of the block of states come first, then those of the arena (or of the body's block),
// and then those of a body's values outside its block.
typedef struct walk {
  const gr_plan_frame *f;
  const gr_graph *g;
  size_t limit, state_limit;
  uint32_t *last;     // by value: 1 + the last node that reads it; 0: no node does
  uint32_t *by_last;  // values in order of `last`
  uint32_t n_dead;    // number of them that are dead
  bool *is_next;      // by value: it is the next value of a state at the same address
  bool *held;         // by value of a body: its memory is reserved for the whole step
  gr_span *spans;     // by value
  gr_span_set live;   // of values
  gr_scratch_sizes *scratch_sizes;
} walk;

static bool overlap(gr_span a, gr_span b) { return a.begin < b.end && b.begin < a.end; }

static gr_span span_at(const walk *w, bool in_states, size_t offset, size_t bytes) {
  size_t begin = in_states ? offset : w->state_limit + offset;
  return (gr_span){begin, begin + bytes};
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

static gr_status overwrites(const walk *w, const gr_node *n, uint32_t v, const char *what) {
  return gr_fail(GR_ERR_BUG, n->loc, "%s of '%s' (%%%u) overwrites %%%u, which is still read", what,
                 n->op->name, n->out.id, v < w->g->n_values ? v : 0);
}

static bool may_be_placed_on(const walk *w, uint32_t i, int k, uint32_t v) {
  const gr_node *n = &w->g->nodes[i];
  if (w->last[v] != i + 1 || w->spans[gr_out(n, k).id].begin != w->spans[v].begin) return false;
  for (int j = 0; j < n->n_in; j++)
    if (n->in[j].id == v && gr_memory_may_reuse(w->g, n, k, j)) return true;
  return false;
}

// Sorts the values by `last`, so that a walk drops each value once.
static void sort_by_last(gr_arena *arena, walk *w) {
  uint32_t n = w->g->n_values, *start = GR_NEW(arena, uint32_t, w->g->n_nodes + 3);
  w->by_last = GR_NEW(arena, uint32_t, n);
  for (uint32_t i = 1; i < n; i++) start[w->last[i] + 1]++;
  for (uint32_t i = 1; i < w->g->n_nodes + 3; i++) start[i] += start[i - 1];
  for (uint32_t i = 1; i < n; i++) w->by_last[start[w->last[i]]++] = i;
}

// Checks that a value is inside its block and aligned.
static bool fits(size_t offset, size_t bytes, size_t limit) {
  return offset % GR_PLAN_ALIGN == 0 && offset <= limit && bytes <= limit - offset;
}

static gr_status check_bounds(const walk *w, uint32_t i) {
  const gr_value *v = &w->g->values[i];
  size_t offset = w->f->offset[i], limit = w->f->in_states[i] ? w->state_limit : w->limit;
  if (fits(offset, gr_type_bytes(&v->type), limit)) return GR_OK;
  const char *what = offset % GR_PLAN_ALIGN ? "is not aligned" : "is outside its block";
  if (v->role != GR_TEMP) return gr_fail(GR_ERR_BUG, v->loc, "%s %s", v->name, what);
  const gr_node *n = &w->g->nodes[v->node];
  return gr_fail(GR_ERR_BUG, n->loc, "'%s' (%%%u) %s", n->op->name, i, what);
}

// loop: the node of this body, or NULL.
static gr_status find_spans(gr_arena *arena, walk *w, const gr_node *loop) {
  const gr_graph *g = w->g;
  w->spans = GR_NEW(arena, gr_span, g->n_values);
  w->is_next = GR_NEW(arena, bool, g->n_values);
  w->held = GR_NEW(arena, bool, g->n_values);
  if (loop) GR_TRY(gr_prove_carries(loop, w->f, w->state_limit + w->limit, w->spans, w->held));
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (w->spans[i].end) continue;  // not in the body's block
    GR_TRY(check_bounds(w, i));
    w->spans[i] = span_at(w, w->f->in_states[i], w->f->offset[i], gr_type_bytes(&v->type));
    if (v->role == GR_STATE && w->f->offset[i] == w->f->offset[v->next.id])
      w->is_next[v->next.id] = true;
  }
  w->live = gr_span_set_make(arena, w->spans, g->n_values);
  return GR_OK;
}

// ---- The walk -------------------------------------------------------------------------------

static gr_status check_result(const walk *w, uint32_t i, int k) {
  const gr_node *n = &w->g->nodes[i];
  uint32_t v = gr_out(n, k).id, other;
  // In the block of states, a result may only be written in the state whose next value it is.
  if (w->f->in_states[v] && !w->is_next[v])
    return gr_fail(GR_ERR_BUG, n->loc,
                   "a result of '%s' overwrites a state of which it is not the next value",
                   n->op->name);
  for (uint32_t leaf = 0; gr_span_set_next(&w->live, w->spans[v], &leaf, &other);)
    if (other != v && !may_be_placed_on(w, i, k, other)) return overwrites(w, n, other, "a result");
  return GR_OK;
}

static gr_status check_results(walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  for (int k = 0; k < n->n_out; k++) GR_TRY(check_result(w, i, k));
  for (int k = 0; k < n->n_out; k++)  // added last, so that results of one node are compared too
    for (int j = 0; j < k; j++)
      if (overlap(w->spans[gr_out(n, j).id], w->spans[gr_out(n, k).id]))
        return overwrites(w, n, gr_out(n, j).id, "a result");
  for (int k = 0; k < n->n_out; k++) gr_span_set_add(&w->live, gr_out(n, k).id);
  return GR_OK;
}

static gr_status check_apart(const walk *w, const gr_node *n, size_t offset, size_t bytes,
                             const char *what) {
  uint32_t leaf = 0, other;
  if (!bytes) return GR_OK;
  if (!fits(offset, bytes, w->limit))
    return gr_fail(GR_ERR_BUG, n->loc, "%s of '%s' (%%%u) %s", what, n->op->name, n->out.id,
                   offset % GR_PLAN_ALIGN ? "is not aligned" : "is outside its block");
  gr_span s = span_at(w, false, offset, bytes);
  return gr_span_set_next(&w->live, s, &leaf, &other) ? overwrites(w, n, other, what) : GR_OK;
}

static gr_status check_scratch(const walk *w, uint32_t i) {
  const gr_node *n = &w->g->nodes[i];
  const gr_plan_frame *body = w->f->body[i];
  size_t scratch = w->f->scratch[i], piece = w->f->body_at[i];
  size_t body_bytes = body ? body->bytes : 0, bytes = gr_node_scratch(w->scratch_sizes, w->g, n);
  GR_TRY(check_apart(w, n, scratch, bytes, "the working memory"));
  GR_TRY(check_apart(w, n, piece, body_bytes, "the body"));
  if (bytes && overlap(span_at(w, false, scratch, bytes), span_at(w, false, piece, body_bytes)))
    return overwrites(w, n, 0, "the working memory");
  return GR_OK;
}

static void drop_dead(walk *w, uint32_t i) {
  for (; w->n_dead + 1 < w->g->n_values && w->last[w->by_last[w->n_dead]] <= i; w->n_dead++)
    gr_span_set_remove(&w->live, w->by_last[w->n_dead]);
}

static gr_status shares_memory(const walk *w, uint32_t v, uint32_t other) {
  const gr_value *a = &w->g->values[v], *b = &w->g->values[other];
  return gr_fail(GR_ERR_BUG, gr_loc_of(w->g, (gr_val){v}), "%%%u %s and %%%u %s share memory", v,
                 a->name ? a->name : "", other, b->name ? b->name : "");
}

static gr_status add_leaves(walk *w) {
  uint32_t other;
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    if (w->g->values[i].role == GR_TEMP && !w->held[i]) continue;
    uint32_t leaf = 0;
    if (gr_span_set_next(&w->live, w->spans[i], &leaf, &other)) return shares_memory(w, i, other);
    gr_span_set_add(&w->live, i);
  }
  return GR_OK;
}

static gr_status prove_frame(gr_arena *, gr_scratch_sizes *, const gr_plan_frame *,
                             size_t state_limit, size_t limit, const gr_node *loop);

static gr_status prove_body(gr_arena *arena, const walk *w, uint32_t i) {
  const gr_plan_frame *f = w->f;
  const gr_node *n = &f->g->nodes[i];
  if ((n->op == &gr_op_scan) != (f->body[i] != NULL))
    return gr_fail(GR_ERR_BUG, n->loc, "the plan has %s for '%s'",
                   f->body[i] ? "the memory of a body" : "no memory for the body", n->op->name);
  if (!f->body[i]) return GR_OK;
  return gr_note(
      prove_frame(arena, w->scratch_sizes, f->body[i], w->state_limit, f->body[i]->bytes, n),
      n->loc, "in the body of '%s'", n->op->name);
}

static gr_status prove_frame(gr_arena *arena, gr_scratch_sizes *sizes, const gr_plan_frame *f,
                             size_t state_limit, size_t limit, const gr_node *loop) {
  walk w = {.f = f, .g = f->g, .limit = limit, .state_limit = state_limit, .scratch_sizes = sizes};
  w.last = GR_NEW(arena, uint32_t, f->g->n_values);
  find_last(&w);
  sort_by_last(arena, &w);
  GR_TRY(find_spans(arena, &w, loop));
  GR_TRY(add_leaves(&w));
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    drop_dead(&w, i);
    GR_TRY(check_results(&w, i));
    GR_TRY(check_scratch(&w, i));
    GR_TRY(prove_body(arena, &w, i));
  }
  return GR_OK;
}

// An upload may come at any time, so that no two inputs share a second place.
static gr_status prove_uploads(const gr_plan *p, const gr_plan_frame *f) {
  size_t end = 0;
  for (uint32_t i = 1; i < f->g->n_values; i++) {
    const gr_value *v = &f->g->values[i];
    if (!gr_plan_uploads(f, i)) continue;
    if (f->upload[i] < end || !fits(f->upload[i], gr_type_bytes(&v->type), p->upload_bytes))
      return gr_fail(GR_ERR_BUG, v->loc, "the second place of input %s is not its own", v->name);
    end = f->upload[i] + gr_type_bytes(&v->type);
  }
  return GR_OK;
}

gr_status gr_prove_memory(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  const gr_plan_frame *f = &program->frame;
  gr_scratch_sizes sizes = gr_scratch_sizes_make(arena, f->gpu);
  GR_TRY(prove_uploads(p, f));
  return prove_frame(arena, &sizes, f, gr_plan_states_end(p), p->arena_bytes, NULL);
}

// ---- States ---------------------------------------------------------------------------------

gr_status gr_prove_states_disjoint(const gr_plan *p) {
  size_t ends[] = {0, p->state_bytes};
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    size_t *end = &ends[s->host], limit = s->host ? gr_plan_states_end(p) : p->state_bytes;
    gr_type global = gr_type_global(&s->type, &s->layout, &p->mesh);
    if (!fits(s->offset, s->bytes, limit) || s->bytes != gr_type_bytes(&s->type))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "state %s is outside its block or not aligned",
                     s->name);
    if (!gr_type_same(&global, &s->global))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the slices of state %s do not cover it exactly",
                     s->name);
    if (s->offset < *end)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "states %s and %s share memory", p->states[i - 1].name,
                     s->name);
    *end = s->offset + s->bytes;
  }
  return GR_OK;
}
