// moments.c - the two readings of x for the statistics of a batch norm, of its sums and, once the
// mean of all ranks is known, of its squares, as one: channel_moments gives the squares about the
// mean of a rank's rows, which are a group of their own, and channel_shift makes of them those
// about the mean of all. Not where statistics are of several groups or channels are split.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

typedef struct pairs {
  const gr_graph *g;
  uint32_t *sums;     // by value: 1 + the node that sums it
  uint32_t *squares;  // by node of sums: 1 + a node of squares; by node of squares the other way
  gr_val *made;       // by node of sums: the first result of channel_moments
} pairs;

static bool is_whole(const gr_graph *g, gr_val v, bool samples) {
  for (int a = 0; a < g->mesh.n_axes; a++) {
    gr_axis_placement p = gr_at(g, v)->layout.placement[a];
    if (p != GR_REPLICATE && !(samples && p == 0)) return false;
  }
  return true;
}

static bool takes(const gr_graph *g, const gr_node *squares) {
  return gr_at(g, squares->out)->type.dim[0] == 1 && is_whole(g, squares->in[0], true) &&
         is_whole(g, squares->in[2], false);
}

static void find_pairs(pairs *p, bool *any) {
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const gr_node *n = &p->g->nodes[i];
    if (n->op == &gr_op_channel_sums && !p->sums[n->in[0].id]) p->sums[n->in[0].id] = i + 1;
    uint32_t of = n->op == &gr_op_channel_squares ? p->sums[n->in[0].id] : 0;
    const gr_node *sums = of ? &p->g->nodes[of - 1] : NULL;
    if (!of || !takes(p->g, n) || sums->in[1].id != n->in[1].id ||
        !gr_attr_same(sums->op, sums->attr, n->attr))
      continue;
    p->squares[of - 1] = i + 1, p->squares[i] = of;
    *any = true;
  }
}

// What all groups have together, in place of a result of channel_sums.
static gr_val add_groups(gr_rewrite *rw, gr_val groups, const gr_value *result) {
  gr_ints shape = {.n = 2, .items = {1, -1}};
  gr_val sum = gr_sum(&rw->b, groups, 0), v = gr_reshape(&rw->b, sum, shape);
  if (gr_is(v)) gr_at(rw->b.g, sum)->layout = gr_at(rw->b.g, v)->layout = result->layout;
  return v;
}

static void emit_moments(gr_rewrite *rw, pairs *p, uint32_t i) {
  const gr_node *n = &p->g->nodes[i];
  gr_val out =
      GR_EMIT(&rw->b, &gr_op_channel_moments, n->attr, rw->map[n->in[0].id], rw->map[n->in[1].id]);
  if (!gr_is(out)) return;
  p->made[i] = out;
  for (uint32_t k = 0; k < 3; k++)
    gr_at(rw->b.g, (gr_val){out.id + k})->layout = gr_at(p->g, n->in[0])->layout;
  for (int k = 0; k < 2; k++)
    rw->map[gr_out(n, k).id] =
        add_groups(rw, (gr_val){out.id + (uint32_t)k}, gr_at(p->g, gr_out(n, k)));
}

static void emit_shift(gr_rewrite *rw, const pairs *p, uint32_t i) {
  const gr_node *n = &p->g->nodes[i];
  gr_val made = p->made[p->squares[i] - 1];
  gr_val out = GR_EMIT(&rw->b, &gr_op_channel_shift, NULL, made, (gr_val){made.id + 1},
                       (gr_val){made.id + 2}, rw->map[n->in[2].id]);
  rw->map[n->out.id] = out;
  if (gr_is(out)) gr_at(rw->b.g, out)->layout = gr_at(p->g, n->out)->layout;
}

gr_status gr_pass_moments(gr_rewrite *rw) {
  const gr_graph *g = rw->old;
  gr_arena *tables = rw->b.g->tables;
  pairs p = {g, GR_NEW(tables, uint32_t, g->n_values), GR_NEW(tables, uint32_t, g->n_nodes + 1),
             GR_NEW(tables, gr_val, g->n_nodes + 1)};
  bool any = false;
  find_pairs(&p, &any);
  if (!any) return gr_keep(rw);
  gr_copy_leaves(rw);
  rw->b.distinct = true;
  for (uint32_t i = 0; i < g->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &g->nodes[i];
    rw->b.loc = n->loc, rw->b.scope = n->scope;
    if (!p.squares[i])
      gr_copy_node(rw, n);
    else if (n->op == &gr_op_channel_sums)
      emit_moments(rw, &p, i);
    else
      emit_shift(rw, &p, i);
  }
  gr_copy_links(rw);
  return GR_OK;
}
