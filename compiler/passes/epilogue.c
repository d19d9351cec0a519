// epilogue.c - products with what follows them and GPUs' libraries do as they write the result: a
// vector that is added to each row, and relu.
//
// It runs after sharding, when a sum over ranks stands between a product and its vector if the
// product is a partial sum. A product that anything else reads stays as it is.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

enum { MANY = UINT32_MAX };
typedef struct uses {
  const gr_graph *g;
  uint32_t *reader;  // by value: 1 + the only node that reads it; MANY: several, or it is kept
} uses;

static void keep(uses *u, gr_val v) { u->reader[v.id] = MANY; }

static void find_readers(uses *u) {
  const gr_graph *g = u->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      uint32_t *reader = &u->reader[g->nodes[i].in[k].id];
      *reader = *reader ? MANY : i + 1;
    }
  keep(u, g->loss), keep(u, g->loss_denominator);
  for (uint32_t i = 0; i < g->n_results; i++) keep(u, g->results[i]);
  for (uint32_t i = 1; i < g->n_values; i++) keep(u, g->values[i].next), keep(u, g->values[i].grad);
}

static bool is_partial(const gr_graph *g, gr_val v) {
  const gr_layout *l = &gr_at(g, v)->layout;
  for (int a = 0; a < g->mesh.n_axes; a++)
    if (l->at[a] == GR_PARTIAL) return true;
  return false;
}

// The only node that reads a node's result, if its op is `op` and the result is its first operand.
static const gr_node *next_of(const uses *u, const gr_node *n, const gr_op *op) {
  uint32_t reader = u->reader[n->out.id];
  if (!reader || reader == MANY) return NULL;
  const gr_node *next = &u->g->nodes[reader - 1];
  return next->op == op && next->in[0].id == n->out.id ? next : NULL;
}

// A product that is joined with what follows it, by the node that stands last.
typedef struct joined {
  const gr_node *product, *add;
} joined;

// Finds them, by last node; and the nodes that are inside of one, but not last.
static void find_joined(const uses *u, joined *by_last, bool *inside) {
  const gr_graph *g = u->g;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i], *add = NULL;
    if (gr_matmul_takes_bias(n) && !is_partial(g, n->out)) add = next_of(u, n, &gr_op_bias_add);
    if (!add) continue;
    const gr_node *relu = next_of(u, add, &gr_op_relu), *last = relu ? relu : add;
    by_last[last - g->nodes] = (joined){n, add};
    inside[i] = true;
    if (relu) inside[add - g->nodes] = true;
  }
}

// Emits one where its last node stands: there all operands are.
static void emit(gr_rewrite *rw, const joined *j, const gr_node *last) {
  gr_builder *b = &rw->b;
  const gr_node *n = j->product;
  b->loc = n->loc, b->scope = n->scope;
  gr_val out = gr_matmul_bias(b, n, rw->map[n->in[0].id], rw->map[n->in[1].id],
                              rw->map[j->add->in[1].id], last != j->add);
  rw->map[last->out.id] = out;
  if (gr_is(out)) gr_at(b->g, out)->layout = gr_at(rw->old, last->out)->layout;
}

gr_status gr_pass_epilogue(gr_rewrite *rw) {
  const gr_graph *g = rw->old;
  uses u = {g, GR_NEW(g->arena, uint32_t, g->n_values)};
  joined *by_last = GR_NEW(g->arena, joined, g->n_nodes + 1);
  bool *inside = GR_NEW(g->arena, bool, g->n_nodes + 1);
  find_readers(&u);
  find_joined(&u, by_last, inside);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < g->n_nodes && !rw->b.err; i++) {
    if (by_last[i].product)
      emit(rw, &by_last[i], &g->nodes[i]);
    else if (!inside[i])
      gr_copy_node(rw, &g->nodes[i]);
  }
  gr_copy_links(rw);
  return GR_OK;
}
