// dce.c - dead code elimination: keeps what the loss, the results and the states' next values need,
// and of nodes that are the identity what they read.
// A program that reads nothing of a batch takes none, so its inputs are dropped, too.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/loop/scan.h"

// Emits a scan without its unused yields.
static void copy_scan(gr_rewrite *rw, const gr_node *n, const bool *live) {
  const gr_scan *s = n->attr;
  gr_val in[GR_MAX_ARGS], *map = GR_NEW(rw->b.g->tables, gr_val, s->body->n_values);
  gr_loop l;
  rw->b.loc = n->loc, rw->b.scope = n->scope, rw->b.created_by = n->created_by;
  for (int k = 0; k < n->n_in; k++) in[k] = rw->map[n->in[k].id];
  gr_loop_clone(&l, &rw->b, s, in, NULL, map);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    if (live[gr_out(n, (int)s->n_carry + (int)j).id])
      gr_loop_yield(&l, map[s->body->results[j].id]);
  gr_loop_close(&l);
  for (int k = 0, yield = 0; k < n->n_out; k++) {
    gr_val old_out = gr_out(n, k), *now = &rw->map[old_out.id];
    if (k < s->n_carry)
      *now = gr_loop_last(&l, map[gr_scan_carry(s, k).id]);
    else if (live[old_out.id])
      *now = gr_loop_stack(&l, yield++);
    if (gr_is(*now)) gr_at(rw->b.g, *now)->layout = gr_at(rw->old, old_out)->layout;
  }
}

static bool is_of_batch(const gr_value *v) {
  return v->role == GR_INPUT && v->kind == GR_KIND_BUFFER;
}

static bool reads_batch(const gr_graph *g, const bool *live) {
  for (uint32_t i = 1; i < g->n_values; i++)
    if (live[i] && is_of_batch(&g->values[i])) return true;
  return false;
}

bool gr_reads_batch(const gr_graph *g) { return reads_batch(g, gr_graph_live(g)); }

// What becomes of a node. Of the results of a loop, yields can be left out, carries cannot. What is
// linked, as a state's next value, is the result of a node of its own.
typedef enum fate { KEPT, TRIMMED, DROPPED, REPLACED } fate;
typedef struct uses {
  const bool *live, *linked;
} uses;
static fate fate_of(const gr_node *n, const uses *u) {
  const bool *live = u->live;
  const gr_scan *s = n->op == &gr_op_scan ? n->attr : NULL;
  bool any = false, trims = false;
  if (n->op->identity && live[n->out.id] && !u->linked[n->out.id]) return REPLACED;
  for (int k = 0; k < n->n_out; k++) {
    any |= live[gr_out(n, k).id];
    trims |= s && k >= s->n_carry && !live[gr_out(n, k).id];
  }
  return !any ? DROPPED : trims ? TRIMMED : KEPT;
}

static bool any_of(const gr_graph *g, const uses *u, fate f) {
  for (const gr_node *n = g->nodes; n < g->nodes + g->n_nodes; n++)
    if (fate_of(n, u) == f) return true;
  return false;
}

static bool drops_leaves(const gr_graph *g) {
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role != GR_TEMP && is_of_batch(&g->values[i])) return true;
  return false;
}

gr_status gr_pass_dce(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  const bool *live = gr_graph_live(old);
  bool *linked = GR_NEW(old->tables, bool, old->n_values);
  gr_mark_links(old, linked);
  const uses u = {live, linked};
  bool batch = reads_batch(old, live);
  bool merges = any_of(old, &u, TRIMMED) || any_of(old, &u, REPLACED);
  if (!merges && !any_of(old, &u, DROPPED) && (batch || !drops_leaves(old))) return gr_keep(rw);
  for (uint32_t i = 1; i < old->n_values; i++) {
    const gr_value *v = &old->values[i];
    if (v->role != GR_TEMP && (batch || !is_of_batch(v))) gr_copy_leaf(rw, i, &v->type, v->layout);
  }
  rw->b.distinct = !merges;  // two nodes that differ may be equal without what is left out
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &old->nodes[i];
    switch (fate_of(n, &u)) {
      case KEPT:
        gr_copy_node(rw, n);
        break;
      case TRIMMED:
        copy_scan(rw, n, live);
        break;
      case REPLACED:
        rw->map[n->out.id] = rw->map[n->in[0].id];
        break;
      case DROPPED:
        break;
    }
  }
  gr_copy_links(rw);
  return GR_OK;
}
