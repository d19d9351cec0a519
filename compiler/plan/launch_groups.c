// launch_groups.c - the nodes that a GPU launches together, as "multi-tensor" kernels do: updates
// of many small weights take less time than their launches would. See gr_plan_frame.group_size.
//
// Candidates are nodes of one op (gr_op.multi_tensor) that follow each other and do not read each
// other's results. While memory is assigned, all that a candidate group reads and writes is live
// for as long as the group. What still shares memory afterwards, such as a result in the place of
// an operand that another node of the group reads, divides the group.
#include "compiler/plan/launch_groups.h"
#include "base/arena.h"

enum { MOST = 512 };  // nodes of a group: pairs of them are compared

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

// ---- What a node accesses -----------------------------------------------------------------------

typedef struct range {
  bool in_states, written;
  size_t begin, bytes;
} range;
typedef struct ranges {
  range items[2 * GR_MAX_ARGS + 1];
  int n;
} ranges;

static void add(ranges *r, const gr_plan_frame *f, gr_val v, bool written) {
  size_t bytes = gr_type_bytes(&gr_at(f->g, v)->type);
  r->items[r->n++] = (range){f->in_states[v.id], written, f->offset[v.id], bytes};
}

static void find_ranges(const gr_plan_frame *f, const size_t *scratch_bytes, uint32_t i,
                        ranges *r) {
  const gr_node *n = &f->g->nodes[i];
  r->n = 0;
  for (int k = 0; k < n->n_in; k++) add(r, f, n->in[k], false);
  for (int k = 0; k < n->n_out; k++) add(r, f, gr_out(n, k), true);
  r->items[r->n++] = (range){false, true, f->scratch[i], scratch_bytes[i]};
}

static bool conflict(const ranges *a, const ranges *b) {
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n; k++) {
      const range *x = &a->items[i], *y = &b->items[k];
      if ((x->written || y->written) && x->in_states == y->in_states && x->bytes && y->bytes &&
          x->begin < y->begin + y->bytes && y->begin < x->begin + x->bytes)
        return true;
    }
  return false;
}

// How many nodes, from `first` to at most `last`, access no memory that another of them writes.
static uint32_t apart(const gr_plan_frame *f, const size_t *scratch_bytes, uint32_t first,
                      uint32_t last, ranges *r) {
  uint32_t n = 0;
  for (uint32_t i = first; i <= last; i++, n++) {
    find_ranges(f, scratch_bytes, i, &r[n]);
    for (uint32_t k = 0; k < n; k++)
      if (conflict(&r[k], &r[n])) return n;
  }
  return n;
}

void gr_launch_groups_choose(gr_arena *arena, const gr_launch_groups *candidates,
                             const size_t *scratch_bytes, gr_plan_frame *f) {
  gr_arena *work = gr_arena_create();
  uint32_t most = 1;
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    if (candidates->last[i] - i >= most) most = candidates->last[i] - i + 1;
  ranges *r = most > 1 ? GR_NEW(work, ranges, most) : NULL;
  f->group_size = GR_NEW(arena, uint32_t, f->g->n_nodes + 1);
  for (uint32_t i = 0; i < f->g->n_nodes; i += f->group_size[i]) {
    uint32_t last = candidates->last[i];
    f->group_size[i] = i == last ? 1 : apart(f, scratch_bytes, i, last, r);
  }
  gr_arena_destroy(work);
}
