// same.c - structural equality of graphs and attributes, and op calls of nodes (graph.h, op.h).
#include <assert.h>
#include <string.h>
#include "ir/formula.h"

int gr_op_inplace(const gr_op *op, int k) {
  const gr_formula *f = gr_formula_last(op);
  if (op->inplace_each) return k;
  if (f && f->if_ok) return gr_formula_place(f, k);
  return k < GR_MAX_INPLACE ? op->inplace[k] - 1 : -1;
}

gr_kernel gr_op_fast(const gr_op_call *s) {
  const gr_op *op = s->op;
  if (op->fast || !op->fast_f32) return op->fast ? op->fast(s) : NULL;
  gr_dtype d = s->in[0].dtype;
  return d == GR_F32 ? op->fast_f32 : gr_is_narrow(d) ? op->fast_narrow : NULL;
}

void gr_op_call_of(const gr_graph *g, const gr_node *n, gr_op_call *s) {
  assert(n->n_in <= GR_MAX_ARGS);
  s->op = n->op, s->attr = n->attr, s->n_in = n->n_in, s->n_out = n->n_out;
  s->names = NULL, s->loc = n->loc;
  for (int k = 0; k < n->n_in; k++) s->in[k] = gr_at(g, n->in[k])->type;
  gr_op_call_clear_missing(s);
  for (int k = 0; k < n->n_out; k++) s->out[k] = gr_at(g, gr_out(n, k))->type;
}

// Compares bytes, except graphs, which are compared by content.
bool gr_attr_same(const gr_op *op, const void *a, const void *b) {
  const char *p = a, *q = b;
  size_t offset = 0;
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    if (f->kind != GR_ATTR_GRAPH) continue;
    if (memcmp(p + offset, q + offset, f->offset - offset)) return false;
    if (!gr_graph_same(gr_attr_graph(a, f), gr_attr_graph(b, f))) return false;
    offset = f->offset + sizeof(gr_graph *);
  }
  return op->attr_size == offset || !memcmp(p + offset, q + offset, op->attr_size - offset);
}

static bool same_leaves(const gr_graph *a, const gr_graph *b) {
  for (uint32_t i = 1; i < a->n_values; i++) {
    const gr_value *v = &a->values[i], *w = &b->values[i];
    if (v->role != w->role || v->next.id != w->next.id || !gr_type_same(&v->type, &w->type) ||
        !gr_layout_same(&v->layout, &w->layout))
      return false;
  }
  return true;
}

bool gr_graph_same(const gr_graph *a, const gr_graph *b) {
  if (a == b) return true;
  if (a->n_nodes != b->n_nodes || a->n_values != b->n_values || a->n_results != b->n_results ||
      !same_leaves(a, b))
    return false;
  for (uint32_t i = 0; i < a->n_nodes; i++) {
    const gr_node *n = &a->nodes[i], *m = &b->nodes[i];
    if (n->op != m->op || n->n_in != m->n_in ||
        memcmp(n->in, m->in, sizeof(gr_val) * (size_t)n->n_in) ||
        !gr_attr_same(n->op, n->attr, m->attr))
      return false;
  }
  return !a->n_results || !memcmp(a->results, b->results, sizeof(gr_val) * a->n_results);
}
