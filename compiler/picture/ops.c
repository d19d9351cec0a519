// ops.c - lists the ops of a program as its model has them, with the phase of each, and the values
// that pass between them. Fused nodes are taken apart again.
#include "ops/ops.h"
#include "base/grow.h"
#include "compiler/picture/parts.h"
#include "ops/kernels/fused.h"

// ---- Phases ---------------------------------------------------------------------

// Marks operands of a node whose results are marked; a collective moves each operand by itself.
static void mark_operands(const gr_node *n, bool *marked) {
  bool any = gr_any_out(n, marked);
  for (int k = 0; k < n->n_in; k++) {
    bool needed = n->op->collective && n->n_out == n->n_in ? marked[gr_out(n, k).id] : any;
    if (needed) marked[n->in[k].id] = true;
  }
}

static void mark_ancestors(const gr_graph *g, bool *marked) {
  for (uint32_t i = g->n_nodes; i--;) mark_operands(&g->nodes[i], marked);
}

// The values that the loss is computed from; and those that gradients are computed from.
static bool *mark_loss(const gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  bool *marked = GR_NEW(p->arena, bool, g->n_values);
  marked[g->loss.id] = marked[g->loss_denominator.id] = true;
  mark_ancestors(g, marked);
  marked[0] = false;
  return marked;
}
static bool *mark_gradients(const gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  bool *marked = GR_NEW(p->arena, bool, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (v->role != GR_STATE) continue;
    marked[v->grad.id] = true;
    if (v->kind == GR_KIND_GRAD_ACCUMULATOR) marked[v->next.id] = true;
  }
  mark_ancestors(g, marked);
  marked[0] = false;
  return marked;
}

static bool all_marked(const gr_node *n, const bool *marked) {
  for (int k = 0; k < n->n_out; k++)
    if (!marked[gr_out(n, k).id]) return false;
  return true;
}

// By node. What neither the loss nor a gradient needs is an update if it follows from a gradient,
// and else belongs to the forward pass: metrics, next values of buffers.
static gr_picture_phase *read_phases(const gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  gr_picture_phase *phase = GR_NEW(p->arena, gr_picture_phase, g->n_nodes + 1);
  if (!p->program->trains) return phase;
  const bool *loss = mark_loss(p), *gradient = mark_gradients(p);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool forward = n->op->collective ? all_marked(n, loss) : gr_any_out(n, loss), follows = false;
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(g, n->in[k]);
      follows |= v->role == GR_TEMP && phase[v->node] != GR_PICTURE_FORWARD;
    }
    if (forward || (!gr_any_out(n, gradient) && !follows))
      phase[i] = GR_PICTURE_FORWARD;
    else
      phase[i] = gr_any_out(n, gradient) ? GR_PICTURE_BACKWARD : GR_PICTURE_UPDATE;
  }
  return phase;
}

// ---- Ops ------------------------------------------------------------------------

typedef struct reader {
  gr_picture *p;
  const gr_picture_phase *phase;  // by node
  uint32_t *maker;                // by value of the program: 1 + the op that makes it, or 0
  uint32_t cap_edges;
} reader;

static void add_edge(reader *r, uint32_t maker, uint32_t target, const gr_type *type) {
  gr_picture_ops *ops = &r->p->ops;
  if (!maker) return;
  GR_GROW(r->p->arena, ops->edge, ops->n_edges, r->cap_edges);
  bool narrows = !gr_dtypes[type->dtype].is_float || type->rank == 0;
  ops->edge[ops->n_edges++] =
      (gr_picture_edge){maker - 1, target, (double)gr_type_bytes(type), narrows};
}

// Adds node i, or the part of it that `n` of graph g is, and returns 1 + its index.
static uint32_t add_op(reader *r, const gr_graph *g, const gr_node *n, uint32_t i,
                       const uint32_t *maker) {
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  uint32_t index = r->p->ops.n++;
  r->p->ops.op[index] = (gr_picture_op){
      .op = n->op,
      .attr = n->attr,
      .scope = n->scope ? n->scope : "",
      .loc = n->loc,
      .type = gr_at(g, n->out)->type,
      .phase = r->phase[i],
      .node = i,
      .flops = n->op->collective ? 0 : (double)gr_op_flops(&call),
  };
  for (int k = 0; k < n->n_in; k++)
    add_edge(r, maker[n->in[k].id], index, &gr_at(g, n->in[k])->type);
  return index + 1;
}

static void add_parts(reader *r, const gr_node *fused, uint32_t i) {
  const gr_graph *body = ((const gr_fused *)fused->attr)->body;
  uint32_t *maker = GR_NEW(r->p->arena, uint32_t, body->n_values);
  for (int k = 0; k < fused->n_in; k++) maker[k + 1] = r->maker[fused->in[k].id];
  for (uint32_t b = 0; b < body->n_nodes; b++) {
    uint32_t op = add_op(r, body, &body->nodes[b], i, maker);
    for (int k = 0; k < body->nodes[b].n_out; k++) maker[gr_out(&body->nodes[b], k).id] = op;
  }
  for (int k = 0; k < fused->n_out; k++) r->maker[gr_out(fused, k).id] = maker[body->results[k].id];
}

static uint32_t count_ops(const gr_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *node = &g->nodes[i];
    n += node->op == &gr_op_fused ? ((const gr_fused *)node->attr)->body->n_nodes : 1;
  }
  return n;
}

void gr_picture_read_ops(gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  p->ops.op = GR_NEW(p->arena, gr_picture_op, count_ops(g) + 1);
  reader r = {.p = p, .phase = read_phases(p), .maker = GR_NEW(p->arena, uint32_t, g->n_values)};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op == &gr_op_fused) {
      add_parts(&r, n, i);
      continue;
    }
    uint32_t op = add_op(&r, g, n, i, r.maker);
    for (int k = 0; k < n->n_out; k++) r.maker[gr_out(n, k).id] = op;
  }
}
