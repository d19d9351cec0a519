// prove_groups.c - proves that nodes that are launched together (gr_plan_frame.group_size) may run
// in any order, or at once: none reads or overwrites what another of them writes.
#include "compiler/plan/calls.h"
#include "compiler/plan/prove.h"

// What a node accesses: its results and working memory first, which it writes, then its operands.
typedef struct accesses {
  gr_span span[2 * GR_MAX_ARGS + 1];
  int written, n;
} accesses;

static gr_span span_of(const gr_plan *p, const gr_plan_frame *f, gr_val v) {
  size_t begin = f->in_states[v.id] ? f->offset[v.id] : gr_plan_states_end(p) + f->offset[v.id];
  return (gr_span){begin, begin + gr_type_bytes(&gr_at(f->g, v)->type)};
}

static void find_accesses(const gr_plan *p, const gr_plan_frame *f, gr_scratch_sizes *sizes,
                          uint32_t i, accesses *a) {
  const gr_node *n = &f->g->nodes[i];
  size_t scratch = gr_plan_states_end(p) + f->scratch[i], bytes = gr_node_scratch(sizes, f->g, n);
  a->n = 0;
  for (int k = 0; k < n->n_out; k++) a->span[a->n++] = span_of(p, f, gr_out(n, k));
  if (bytes) a->span[a->n++] = (gr_span){scratch, scratch + bytes};
  a->written = a->n;
  for (int k = 0; k < n->n_in; k++) a->span[a->n++] = span_of(p, f, n->in[k]);
}

// Whether a writes what b accesses.
static bool disturbs(const accesses *a, const accesses *b) {
  for (int i = 0; i < a->written; i++)
    for (int k = 0; k < b->n; k++)
      if (a->span[i].begin < b->span[k].end && b->span[k].begin < a->span[i].end) return true;
  return false;
}

static gr_status disturb(const gr_node *a, const gr_node *b) {
  return gr_fail(GR_ERR_BUG, b->loc,
                 "'%s' (%%%u) and '%s' (%%%u) are launched together, but one writes what the other "
                 "accesses",
                 a->op->name, a->out.id, b->op->name, b->out.id);
}

// The spans of all nodes of a group, and which of them those before a node read or write.
typedef struct group {
  accesses *nodes;
  gr_span *spans;
  uint32_t n_spans;
  gr_span_set all, written;
} group;

static bool is_met(const gr_span_set *s, gr_span x) {
  uint32_t cursor = 0, id;
  return gr_span_set_next(s, x, &cursor, &id);
}

// Adds what a node accesses, whose spans are from `id` on; whether one before it is disturbed, or
// disturbs it.
static bool add_node(group *w, const accesses *a, uint32_t id) {
  bool met = false;
  for (int k = 0; k < a->n; k++)
    met |= is_met(&w->written, a->span[k]) || (k < a->written && is_met(&w->all, a->span[k]));
  for (int k = 0; k < a->n; k++) {
    gr_span_set_add(&w->all, id + (uint32_t)k);
    if (k < a->written) gr_span_set_add(&w->written, id + (uint32_t)k);
  }
  return met;
}

static gr_status prove_apart(gr_arena *arena, const gr_node *nodes, uint32_t n, group *w) {
  w->all = gr_span_set_make(arena, w->spans, w->n_spans);
  w->written = gr_span_set_make(arena, w->spans, w->n_spans);
  for (uint32_t i = 0, id = 0; i < n; id += (uint32_t)w->nodes[i++].n) {
    if (!add_node(w, &w->nodes[i], id)) continue;
    for (uint32_t k = 0; k < i; k++)
      if (disturbs(&w->nodes[k], &w->nodes[i]) || disturbs(&w->nodes[i], &w->nodes[k]))
        return disturb(&nodes[k], &nodes[i]);
  }
  return GR_OK;
}

static gr_status prove_group(const gr_plan *p, const gr_plan_frame *f, gr_scratch_sizes *sizes,
                             uint32_t first, uint32_t n) {
  gr_arena *work = gr_arena_create();
  const gr_node *nodes = &f->g->nodes[first];
  group w = {.nodes = GR_TAKE(work, accesses, n),
             .spans = GR_TAKE(work, gr_span, n * (2 * GR_MAX_ARGS + 1))};
  gr_status s = GR_OK;
  uint32_t alone = n;  // one that cannot be launched with others
  for (uint32_t i = 0; i < n && alone == n; i++) {
    if (f->body[first + i] || nodes[i].op->collective || (i && f->group_size[first + i])) alone = i;
    find_accesses(p, f, sizes, first + i, &w.nodes[i]);
    for (int k = 0; k < w.nodes[i].n; k++) w.spans[w.n_spans++] = w.nodes[i].span[k];
  }
  s = prove_apart(work, nodes, alone, &w);
  if (!s && alone < n)
    s = gr_fail(GR_ERR_BUG, nodes[alone].loc, "'%s' (%%%u) cannot be launched with others",
                nodes[alone].op->name, nodes[alone].out.id);
  return gr_arena_end(work, s);
}

gr_status gr_prove_groups(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  const gr_plan_frame *f = &program->frame;
  gr_scratch_sizes sizes = gr_scratch_sizes_make(arena, f->gpu);
  for (uint32_t i = 0, n; i < f->g->n_nodes; i += n) {
    n = f->group_size[i];
    if (!n || n > f->g->n_nodes - i)
      return gr_fail(GR_ERR_BUG, f->g->nodes[i].loc, "the plan has no group for '%s' (%%%u)",
                     f->g->nodes[i].op->name, f->g->nodes[i].out.id);
    if (n > 1) GR_TRY(prove_group(p, f, &sizes, i, n));
  }
  return GR_OK;
}
