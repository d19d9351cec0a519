// composed.c - see composed.h.
#include "ops/kernels/composed.h"
#include "ops/ops.h"

// The composition alone, in a graph of its own, where all operands are leaves: none of them is
// computed of another one.
typedef struct composed {
  gr_builder b;
  gr_val x[GR_MAX_ARGS], y[GR_MAX_ARGS];
  gr_val *here, *flow;  // by value: what it is in the graph of the rule, and its gradient there
  bool *want, *live;
} composed;

static bool write(composed *c, const gr_grad *g, gr_composition compose) {
  gr_graph *to = g->b->g;
  c->b = (gr_builder){.g = gr_graph_create_in(to->tables, to->arena, NULL),
                      .loc = g->b->loc,
                      .scope = g->b->scope,
                      .created_by = g->b->created_by};
  for (int k = 0; k < g->n_in; k++)
    c->x[k] =
        gr_leaf(&c->b, GR_INPUT, 0, "operand", gr_at(to, g->x[k])->type, gr_layout_replicated);
  compose(&c->b, g, c->x, c->y);
  g->b->err = c->b.err;
  return !c->b.err;
}

// Which values a gradient passes, between the results that have one and the operands that want one.
static void mark(composed *c, const gr_grad *g) {
  const gr_graph *f = c->b.g;
  c->here = GR_NEW(f->tables, gr_val, f->n_values),
  c->flow = GR_NEW(f->tables, gr_val, f->n_values);
  c->want = GR_NEW(f->tables, bool, f->n_values), c->live = GR_NEW(f->tables, bool, f->n_values);
  for (int k = 0; k < g->n_in; k++) c->here[c->x[k].id] = g->x[k], c->want[c->x[k].id] = g->want[k];
  for (int k = 0; k < g->n_out; k++) {
    if (!gr_is(g->dy[k])) continue;
    c->live[c->y[k].id] = true;
    gr_accumulate_grad(g->b, &gr_op_add, &c->flow[c->y[k].id], g->dy[k]);
  }
  gr_mark_differentiable(f, c->want);
  gr_mark_live(f, c->live, NULL);
}

void gr_grad_of_composition(const gr_grad *g, gr_composition compose) {
  gr_builder *b = g->b;
  composed c = {.b = {0}};
  if (b->err || !write(&c, g, compose)) return;
  mark(&c, g);
  const gr_graph *f = c.b.g;
  for (uint32_t i = 0; i < f->n_nodes && !b->err; i++)
    if (gr_any_out(&f->nodes[i], c.live))
      gr_emit_with_residuals(b, f, &f->nodes[i], c.here, c.want);
  gr_status s = b->err ? GR_OK : gr_backward(b, &gr_op_add, f, c.here, c.want, c.flow);
  if (s && !b->err) b->err = s;
  for (int k = 0; k < g->n_in; k++)
    if (g->want[k]) g->dx[k] = c.flow[c.x[k].id];
}
