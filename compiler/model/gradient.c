// gradient.c - {gradient: [y, x]}: the gradient of the sum of y with respect to x, in the shape of
// x, as nodes of the model: forces as the slope of an energy, the residual of a differential
// equation (Raissi, Perdikaris and Karniadakis, 2019), the gradient penalty of a critic (Gulrajani
// et al., 2017). Gradients of what it gives flow through these nodes as through all others, where
// the ops between x and y have second ones.
#include "compiler/model/parts.h"
#include "ops/ops.h"

const char gr_model_gradient_maker[] = "gradient";

// Which values of a graph depend on x and are what y depends on.
static bool *between(const gr_graph *g, gr_val y, gr_val x) {
  bool *from_x = GR_NEW(g->tables, bool, g->n_values), *live = GR_NEW(g->tables, bool, g->n_values);
  from_x[x.id] = live[y.id] = true;
  gr_mark_differentiable(g, from_x);
  gr_mark_live(g, live, NULL);
  for (uint32_t i = 1; i < g->n_values; i++) from_x[i] &= live[i];
  return from_x;
}

static gr_val *each_itself(const gr_graph *g) {
  gr_val *map = GR_NEW(g->tables, gr_val, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) map[i] = (gr_val){i};
  return map;
}

// y, where the nodes that lead to it from x are ones that save what their rules need: the builder
// finds all that need nothing.
static gr_val with_residuals(gr_builder *b, gr_val y, gr_val x) {
  const gr_graph g = *b->g;  // as it is now
  const bool *want = between(&g, y, x);
  gr_val *map = each_itself(&g);
  for (uint32_t i = 0; i < g.n_nodes && !b->err; i++)
    if (gr_any_out(&g.nodes[i], want)) gr_emit_with_residuals(b, &g, &g.nodes[i], map, want);
  return map[y.id];
}

static gr_status backward(gr_builder *b, gr_val y, gr_val x, gr_val *out) {
  const gr_graph g = *b->g;
  const gr_type of_y = gr_at(&g, y)->type, of_x = gr_at(&g, x)->type;
  gr_val *gradient = GR_NEW(g.tables, gr_val, g.n_values);
  gradient[y.id] = gr_fill(b, &of_y, 1);
  GR_TRY(gr_backward(b, &gr_op_add, &g, each_itself(&g), between(&g, y, x), gradient));
  *out = gr_is(gradient[x.id]) ? gradient[x.id] : gr_fill(b, &of_x, 0);
  return GR_OK;
}

static gr_status differentiate(gr_build_context *a, gr_val y, gr_val x, gr_val *out) {
  gr_builder *b = gr_model_builder(a);
  const gr_loc loc = b->loc;
  const char *scope = b->scope, *self = b->created_by;
  y = with_residuals(b, y, x);
  b->loc = loc, b->scope = scope, b->created_by = gr_model_gradient_maker;
  gr_status s = b->err ? GR_OK : backward(b, y, x, out);
  b->loc = loc, b->scope = scope, b->created_by = self;
  gr_status stuck = gr_model_take_error(a);  // it may be the same
  return s ? s : stuck;
}

static gr_status check(gr_build_context *a, const gr_conf *operands, const gr_binding *given) {
  gr_builder *b = gr_model_builder(a);
  for (int i = 0; i < 2; i++) {
    if (given[i].n != 1)
      return gr_hint(gr_fail(GR_ERR_CONFIG, operands->items[i]->loc,
                             "gradient: takes single tensors, '%s' is %d", operands->items[i]->text,
                             given[i].n),
                     "name each result where it is defined: '- a, b: {...}'");
    if (!gr_is_differentiable(gr_at(b->g, given[i].v[0])))
      return gr_hint(gr_fail(GR_ERR_TYPE, operands->items[i]->loc,
                             "gradient: takes floats, '%s' is none", operands->items[i]->text),
                     "no gradient flows through integers, which 'cast' converts to f32");
  }
  bool *from_x = GR_NEW(a->scratch, bool, b->g->n_values);
  from_x[given[1].v[0].id] = true;
  gr_mark_differentiable(b->g, from_x);
  if (from_x[given[0].v[0].id]) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, operands->loc, "'%s' does not depend on '%s'",
                         operands->items[0]->text, operands->items[1]->text),
                 "gradient: [y, x] is that of the sum of y, and x is a value of which y is "
                 "computed");
}

gr_status gr_model_gradient(gr_build_context *a, gr_conf *use, gr_binding *out) {
  gr_conf *operands = use->items[0], rest = *use;
  gr_binding given[2];
  int n = 0;
  rest.keys++, rest.items++, rest.n--;
  GR_TRY(gr_model_keys_of_node(a, &rest, "gradient", NULL, 0));
  if (operands->kind != GR_CONF_LIST || operands->n != 2)
    return gr_hint(gr_fail(GR_ERR_CONFIG, operands->loc, "gradient: takes a list of two names"),
                   "{gradient: [y, x]} is the gradient of the sum of y by x");
  GR_TRY(gr_model_operands(a, operands, false, given, 2, &n));
  GR_TRY(check(a, operands, given));
  *out = (gr_binding){.depth = a->depth, .n = 1};
  return differentiate(a, given[0].v[0], given[1].v[0], &out->v[0]);
}
