// fuse_emit.c - emits groups of nodes as fused nodes. See fuse.h.
#include "compiler/passes/fuse.h"
#include "ops/ops.h"

static void add_operand(const gr_fuse *f, gr_fuse_members *m, uint32_t node, int k) {
  gr_val v = gr_fuse_read(f, node, k);
  const gr_value *value = gr_at(f->g, v);
  if (value->role == GR_TEMP && f->group[value->node] == f->group[m->node[0]]) return;
  for (int i = 0; i < m->n_in; i++)
    if (m->in[i].id == v.id) return;
  m->in[m->n_in++] = v;
}

static void sort_nodes(gr_fuse_members *m) {
  for (int i = 1; i < m->n; i++)
    for (int k = i; k && m->node[k - 1] > m->node[k]; k--) {
      uint32_t t = m->node[k];
      m->node[k] = m->node[k - 1], m->node[k - 1] = t;
    }
}

// Sums come last: the others are large, and each may take over the memory of an operand (pair).
static void add_results(const gr_fuse *f, gr_fuse_members *m, bool sums) {
  for (int k = 0; k < m->n; k++) {
    const gr_node *n = &f->g->nodes[m->node[k]];
    for (int j = 0; j < n->n_out; j++)
      if (f->kept[gr_out(n, j).id] && gr_fused_is_sum(f->g, gr_out(n, j)) == sums)
        m->out[m->n_out++] = gr_out(n, j);
  }
}

// The operand, from operand `start` on, whose memory a result should take over: the state that it
// is the next value of, or else a value that nothing reads later; -1: there is none.
static int taken_over(const gr_fuse *f, const gr_fuse_members *m, gr_val result, int start) {
  int found = -1;
  for (int j = start; j < m->n_in; j++) {
    const gr_value *v = gr_at(f->g, m->in[j]);
    uint32_t last = f->last[m->in[j].id];
    if (!gr_type_same(&v->type, &gr_at(f->g, result)->type)) continue;
    if (v->role != GR_TEMP && v->next.id == result.id) return j;
    bool dies = v->role == GR_TEMP && f->group[last] == f->group[m->node[0]];
    if (dies && found < 0) found = j;
  }
  return found;
}

// Result k of a fused node may be made in the memory of operand k.
static void pair(const gr_fuse *f, gr_fuse_members *m) {
  for (int k = 0; k < m->n_out && k < m->n_in; k++) {
    int j = taken_over(f, m, m->out[k], k);
    if (j < 0) continue;
    gr_val t = m->in[k];
    m->in[k] = m->in[j], m->in[j] = t;
  }
}

// Random parts know their place in the global value by the layout of result 0, which a sum does not
// have: where nothing else is read, the numbers that they make are a result too.
static void add_place(const gr_fuse *f, gr_fuse_members *m) {
  bool any = false;
  for (int k = 0; k < m->n; k++) any |= gr_any_out(&f->g->nodes[m->node[k]], f->kept);
  for (int k = 0; any && !m->n_out && k < m->n; k++)
    if (f->g->nodes[m->node[k]].op->random) m->out[m->n_out++] = f->g->nodes[m->node[k]].out;
}

void gr_fuse_find_members(const gr_fuse *f, uint32_t i, gr_fuse_members *m) {
  *m = (gr_fuse_members){0};
  uint32_t first = f->group[i] - 1;
  for (uint32_t k = first;; k = f->next[k]) {
    m->node[m->n++] = k;
    if (k == f->end[first]) break;
  }
  sort_nodes(m);
  for (int k = 0; k < m->n; k++) {
    const gr_node *n = &f->g->nodes[m->node[k]];
    for (int j = 0; j < n->n_in; j++) add_operand(f, m, m->node[k], j);
  }
  add_results(f, m, false);
  if (!m->n_out) add_place(f, m);
  add_results(f, m, true);
  pair(f, m);
}

// Its tables are in `work`.
static const gr_graph *body_of(gr_fuse *f, const gr_fuse_members *m, gr_arena *work) {
  gr_builder b = {.g = gr_graph_create_in(work, f->b->g->arena, NULL),
                  .created_by = f->b->created_by};
  for (int k = 0; k < m->n_in; k++) {
    const gr_value *v = gr_at(f->g, m->in[k]);
    f->inside[m->in[k].id] =
        gr_leaf(&b, GR_INPUT, GR_KIND_WEIGHT, NULL, v->type, gr_layout_replicated);
  }
  for (int k = 0; k < m->n; k++) {
    const gr_node *n = &f->g->nodes[m->node[k]];
    for (int j = 0; j < n->n_in; j++)
      if (gr_fuse_widens(f, m->node[k], j))
        f->inside[n->in[j].id] = gr_cast(&b, f->inside[gr_fuse_read(f, m->node[k], j).id], GR_F32);
    gr_emit_copy(&b, f->g, n, f->inside);
  }
  for (int k = 0; k < m->n_out; k++) gr_result(&b, NULL, f->inside[m->out[k].id]);
  f->b->err = f->b->err ? f->b->err : b.err;
  return b.g;
}

void gr_fuse_emit(gr_fuse *f, const gr_fuse_members *m) {
  const gr_node *last = &f->g->nodes[m->node[m->n - 1]];
  gr_val in[GR_FUSED_VALUES];
  gr_arena *work = gr_arena_create();
  gr_fused attr = {body_of(f, m, work)};
  for (int k = 0; k < m->n_in; k++) in[k] = f->map[m->in[k].id];
  gr_builder saved = *f->b;
  f->b->loc = last->loc, f->b->scope = last->scope;
  gr_val out = gr_emit(f->b, &gr_op_fused, &attr, m->n_in, in);
  gr_arena_destroy(work);
  f->b->loc = saved.loc, f->b->scope = saved.scope;
  for (int k = 0; gr_is(out) && k < m->n_out; k++) {
    gr_val made = f->map[m->out[k].id] = (gr_val){out.id + (uint32_t)k};
    gr_at(f->b->g, made)->layout = gr_at(f->g, m->out[k])->layout;
  }
}
