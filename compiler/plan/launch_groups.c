// launch_groups.c - the nodes that a GPU launches together, as "multi-tensor" kernels do: updates
// of many small weights take less time than their launches would. See gr_plan_frame.group_size.
//
// Candidates are nodes of one op (gr_op.multi_tensor) that follow each other and do not read each
// other's results. While memory is assigned, all that a candidate group reads and writes is live
// for as long as the group. What still shares memory afterwards, such as a result in the place of
// an operand that another node of the group reads, divides the group.
#include "compiler/plan/launch_groups.h"
#include <string.h>
#include "base/grow.h"
#include "compiler/plan/span_set.h"

enum { MOST = 512 };  // nodes of a group

static bool reads_from(const gr_graph *g, uint32_t i, uint32_t first) {
  const gr_node *n = &g->nodes[i];
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(g, n->in[k]);
    if (v->role == GR_TEMP && v->node >= first) return true;
  }
  return false;
}

static bool may_follow(const gr_graph *g, uint32_t i, uint32_t first) {
  return g->nodes[i].op == g->nodes[first].op && g->nodes[i].op->multi_tensor && i - first < MOST &&
         !reads_from(g, i, first);
}

void gr_launch_groups_find(gr_arena *arena, const gr_graph *g, bool gpu, gr_launch_groups *out) {
  out->first = GR_NEW(arena, uint32_t, g->n_nodes + 1);
  out->last = GR_NEW(arena, uint32_t, g->n_nodes + 1);
  for (uint32_t first = 0, end; first < g->n_nodes; first = end) {
    for (end = first + 1; gpu && end < g->n_nodes && may_follow(g, end, first);) end++;
    for (uint32_t i = first; i < end; i++) out->first[i] = first, out->last[i] = end - 1;
  }
  out->first[g->n_nodes] = out->last[g->n_nodes] = g->n_nodes;
}

// ---- What nodes access --------------------------------------------------------------------------

// Addresses in order; those that touch are joined, so there are few.
typedef struct spans {
  gr_span *items;
  uint32_t n, cap;
} spans;
// By whether it is the block of states.
typedef struct accesses {
  spans read[2], written[2];
} accesses;

// The first that ends at `begin` or after.
static uint32_t first_from(const spans *s, size_t begin) {
  uint32_t i = 0, end = s->n;
  while (i < end) {
    uint32_t middle = i + (end - i) / 2;
    if (s->items[middle].end < begin)
      i = middle + 1;
    else
      end = middle;
  }
  return i;
}

static bool overlaps(const spans *s, gr_span x) {
  uint32_t i = first_from(s, x.begin + 1);
  return i < s->n && s->items[i].begin < x.end;
}

static void add(gr_arena *arena, spans *s, gr_span x) {
  uint32_t i = first_from(s, x.begin), end = i;
  for (; end < s->n && s->items[end].begin <= x.end; end++) {
    if (s->items[end].begin < x.begin) x.begin = s->items[end].begin;
    if (s->items[end].end > x.end) x.end = s->items[end].end;
  }
  if (end == i) GR_GROW(arena, s->items, s->n, s->cap);
  memmove(s->items + i + 1, s->items + end, sizeof *s->items * (s->n - end));
  s->n = s->n + 1 - (end - i);
  s->items[i] = x;
}

// What one node accesses.
typedef struct range {
  bool in_states, written;
  gr_span of;
} range;
typedef struct ranges {
  range items[2 * GR_MAX_ARGS + 1];
  int n;
} ranges;

static void add_range(ranges *r, bool in_states, bool written, size_t begin, size_t bytes) {
  if (bytes) r->items[r->n++] = (range){in_states, written, {begin, begin + bytes}};
}

static void add_value(ranges *r, const gr_plan_frame *f, gr_val v, bool written) {
  add_range(r, f->in_states[v.id], written, f->offset[v.id], gr_type_bytes(&gr_at(f->g, v)->type));
}

static void find_ranges(const gr_plan_frame *f, const size_t *scratch_bytes, uint32_t i,
                        ranges *r) {
  const gr_node *n = &f->g->nodes[i];
  r->n = 0;
  for (int k = 0; k < n->n_in; k++) add_value(r, f, n->in[k], false);
  for (int k = 0; k < n->n_out; k++) add_value(r, f, gr_out(n, k), true);
  add_range(r, false, true, f->scratch[i], scratch_bytes[i]);
}

static bool conflict(const accesses *a, const ranges *r) {
  for (const range *x = r->items; x < r->items + r->n; x++)
    if (overlaps(&a->written[x->in_states], x->of) ||
        (x->written && overlaps(&a->read[x->in_states], x->of)))
      return true;
  return false;
}

// How many nodes, from `first` to at most `last`, access no memory that another of them writes.
static uint32_t apart(gr_arena *arena, const gr_plan_frame *f, const size_t *scratch_bytes,
                      uint32_t first, uint32_t last, accesses *a) {
  uint32_t n = 0;
  ranges r;
  for (int k = 0; k < 2; k++) a->read[k].n = a->written[k].n = 0;
  for (uint32_t i = first; i <= last; i++, n++) {
    find_ranges(f, scratch_bytes, i, &r);
    if (conflict(a, &r)) return n;
    for (const range *x = r.items; x < r.items + r.n; x++)
      add(arena, &(x->written ? a->written : a->read)[x->in_states], x->of);
  }
  return n;
}

void gr_launch_groups_choose(gr_arena *arena, const gr_launch_groups *candidates,
                             const size_t *scratch_bytes, gr_plan_frame *f) {
  gr_arena *work = gr_arena_create();
  accesses a = {0};
  f->group_size = GR_NEW(arena, uint32_t, f->g->n_nodes + 1);
  for (uint32_t i = 0; i < f->g->n_nodes; i += f->group_size[i]) {
    uint32_t last = candidates->last[i];
    f->group_size[i] = i == last ? 1 : apart(work, f, scratch_bytes, i, last, &a);
  }
  gr_arena_destroy(work);
}
