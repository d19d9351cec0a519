// epilogue.c - products with what GPUs' libraries do as they write the result: a vector that is
// added to each row, and relu; and beside a gradient of weights that of the vector, the sum of the
// rows of one operand.
//
// It runs after sharding, when a sum over ranks stands between a product and its vector if the
// product is a partial sum. A product that anything else reads stays without its vector.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

enum { MANY = UINT32_MAX };
typedef struct uses {
  const gr_graph *g;
  uint32_t *reader;  // by value: 1 + the only node that reads it; MANY: several, or it is kept
} uses;

static void find_readers(uses *u) {
  const gr_graph *g = u->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      uint32_t *reader = &u->reader[g->nodes[i].in[k].id];
      *reader = *reader ? MANY : i + 1;
    }
  bool *kept = GR_NEW(g->tables, bool, g->n_values);
  gr_mark_links(g, kept);
  gr_mark_gradients(g, kept);
  for (uint32_t i = 1; i < g->n_values; i++)
    if (kept[i]) u->reader[i] = MANY;
}

// The only node that reads a node's result, if its op is `op` and the result is its first operand.
static const gr_node *next_of(const uses *u, const gr_node *n, const gr_op *op) {
  uint32_t reader = u->reader[n->out.id];
  if (!reader || reader == MANY) return NULL;
  const gr_node *next = &u->g->nodes[reader - 1];
  return next->op == op && next->in[0].id == n->out.id ? next : NULL;
}

// A product that is joined with what follows it or stands beside it. Where they stand in the graph,
// one node says which is emitted there, and the others none.
typedef struct joined {
  const gr_node *product;
  const gr_node *add, *last;   // the vector that is added, and the node whose result it has
  const gr_node *sums, *wide;  // the sums beside it, and their cast to the type of the product
} joined;
typedef struct found {
  const uses *u;
  joined *by_node;  // by node: what is emitted where it stands
  bool *inside;     // by node: a part of one that is emitted elsewhere
} found;

static void find_added(found *f, const gr_node *n) {
  const gr_graph *g = f->u->g;
  if (!gr_matmul_takes_bias(n) || gr_layout_is_partial(&gr_at(g, n->out)->layout, &g->mesh)) return;
  const gr_node *add = next_of(f->u, n, &gr_op_bias_add);
  if (!add) return;
  const gr_node *relu = next_of(f->u, add, &gr_op_relu), *last = relu ? relu : add;
  f->by_node[last - g->nodes] = (joined){n, .add = add, .last = last};
  f->inside[n - g->nodes] = true;
  if (relu) f->inside[add - g->nodes] = true;
}

static bool stands_before(const gr_graph *g, gr_val v, const gr_node *n) {
  return gr_at(g, v)->role != GR_TEMP || gr_at(g, v)->node < (uint32_t)(n - g->nodes);
}

static bool is_read_before(const gr_graph *g, gr_val v, const gr_node *end) {
  for (const gr_node *n = &g->nodes[gr_at(g, v)->node]; n < end; n++)
    for (int k = 0; k < n->n_in; k++)
      if (n->in[k].id == v.id) return true;
  return false;
}

// The library writes sums in the type of the product. Narrow ones that are only cast to it lose
// nothing: they are not rounded in between.
static bool sums_fit(const uses *u, joined *j) {
  gr_dtype product = gr_at(u->g, j->product->out)->type.dtype;
  if (gr_at(u->g, j->sums->out)->type.dtype == product) return true;
  j->wide = product == GR_F32 ? next_of(u, j->sums, &gr_op_cast) : NULL;
  return j->wide && gr_at(u->g, j->wide->out)->type.dtype == product;
}

// Joins a product with the sums of the rows of an operand, where the first of the two stands if its
// operands are there. Of narrow operands where the second does, if nothing needs the first before:
// what the weight was cast to has been read for the last time then.
static void find_summed(found *f, const gr_node *product, const gr_node *sums) {
  const gr_graph *g = f->u->g;
  joined j = {.product = product, .sums = sums};
  bool late = gr_is_narrow(gr_at(g, product->in[0])->type.dtype);
  const gr_node *stand = late == (product < sums) ? sums : product;
  if (!sums || f->inside[sums - g->nodes] || f->inside[product - g->nodes]) return;
  if (gr_matmul_sums(g, product, sums->in[0]) < 0 || !sums_fit(f->u, &j)) return;
  for (int k = 0; k < product->n_in; k++)
    if (!stands_before(g, product->in[k], stand)) return;
  if (is_read_before(g, product->out, stand) ||
      is_read_before(g, (j.wide ? j.wide : sums)->out, stand))
    return;
  f->inside[product - g->nodes] = f->inside[sums - g->nodes] = true;
  if (j.wide) f->inside[j.wide - g->nodes] = true;
  f->by_node[stand - g->nodes] = j;
}

static void find_joined(found *f) {
  const gr_graph *g = f->u->g;
  const gr_node **sums = GR_NEW(g->tables, const gr_node *, g->n_values);  // of a value's rows
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op == &gr_op_bias_add_grad && !sums[n->in[0].id]) sums[n->in[0].id] = n;
    find_added(f, n);
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = g->nodes[i].op == &gr_op_matmul ? 1 : -1; k >= 0; k--)
      find_summed(f, &g->nodes[i], sums[g->nodes[i].in[k].id]);
}

// An added vector: where the last node stands, all operands are.
static void emit_added(gr_builder *b, const gr_graph *g, const joined *j, gr_val *map) {
  const gr_node *n = j->product;
  gr_val out = gr_matmul_bias(b, n, map[n->in[0].id], map[n->in[1].id], map[j->add->in[1].id],
                              j->last != j->add);
  map[j->last->out.id] = out;
  if (gr_is(out)) gr_at(b->g, out)->layout = gr_at(g, j->last->out)->layout;
}

static void emit_sums(gr_builder *b, const gr_graph *g, const joined *j, gr_val *map) {
  const gr_node *n = j->product, *last = j->wide ? j->wide : j->sums;
  int summed = gr_matmul_sums(g, n, j->sums->in[0]);
  gr_val out = gr_matmul_bias_grad(b, n, map[n->in[0].id], map[n->in[1].id], summed);
  if (!gr_is(out)) return;
  const gr_val outs[] = {n->out, last->out};
  for (uint32_t k = 0; k < 2; k++) {
    gr_val v = map[outs[k].id] = (gr_val){out.id + k};
    gr_at(b->g, v)->layout = gr_at(g, outs[k])->layout;
  }
}

static void emit_joined(gr_builder *b, const gr_graph *g, const joined *j, gr_val *map) {
  b->loc = j->product->loc, b->scope = j->product->scope;
  if (j->add)
    emit_added(b, g, j, map);
  else
    emit_sums(b, g, j, map);
}

static void emit_nodes(gr_builder *, const gr_graph *, gr_val *map);

static void write_body(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  (void)operands;
  emit_nodes(&l->b, s->body, map);
}

// A loop with others in it is no kernel of all blocks, whose products have nothing beside them.
static void emit_node(gr_builder *b, const gr_graph *g, const gr_node *n, gr_val *map) {
  if (n->op == &gr_op_scan && gr_has_scan(((const gr_scan *)n->attr)->body))
    gr_emit_loop(b, g, n, write_body, map);
  else
    gr_emit_placed(b, g, n, map);
}

static void emit_nodes(gr_builder *b, const gr_graph *g, gr_val *map) {
  uses u = {g, GR_NEW(b->g->tables, uint32_t, g->n_values)};
  found f = {&u, GR_NEW(b->g->tables, joined, g->n_nodes + 1),
             GR_NEW(b->g->tables, bool, g->n_nodes + 1)};
  find_readers(&u);
  find_joined(&f);
  for (uint32_t i = 0; i < g->n_nodes && !b->err; i++) {
    if (f.by_node[i].product)
      emit_joined(b, g, &f.by_node[i], map);
    else if (!f.inside[i])
      emit_node(b, g, &g->nodes[i], map);
  }
}

gr_status gr_pass_epilogue(gr_rewrite *rw) {
  gr_copy_leaves(rw);
  emit_nodes(&rw->b, rw->old, rw->map);
  gr_copy_links(rw);
  return GR_OK;
}
