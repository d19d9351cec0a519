// explain_moves.c - every collective, and why it is there. Nobody writes the reasons down: the
// graph says where a value comes from and who reads it.
#include <string.h>
#include "compiler/explain.h"
#include "ops/collective.h"
#include "ops/ops.h"

static bool moves(const gr_node *n) { return n->op->collective || n->op == &gr_op_slice; }

static const gr_node *maker(const gr_graph *g, gr_val v) {
  const gr_value *value = gr_at(g, v);
  return value->role == GR_TEMP ? &g->nodes[value->node] : NULL;
}

static const gr_node *reader(const gr_graph *g, gr_val v) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++)
      if (g->nodes[i].in[k].id == v.id) return &g->nodes[i];
  return NULL;
}

// What was moved, back to before any move; and what became of it, after all of them.
static gr_val before(const gr_graph *g, gr_val v) {
  const gr_node *n = maker(g, v);
  return n && moves(n) ? before(g, n->in[0]) : v;
}
static gr_val after(const gr_graph *g, gr_val v) {
  const gr_node *n = reader(g, v);
  return n && moves(n) ? after(g, n->out) : v;
}

static const char *state_reason(gr_arena *a, const gr_graph *g, gr_val v) {
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *s = &g->values[i];
    if (s->role != GR_STATE) continue;
    if (s->grad.id == v.id) return gr_arena_printf(a, "gradient of %s", s->name);
    if (s->next.id == v.id) return gr_arena_printf(a, "%s, updated in parts", s->name);
  }
  return NULL;
}

static const char *result_reason(gr_arena *a, const gr_graph *g, gr_val v) {
  if (v.id == g->loss.id) return "the loss is over the whole batch";
  if (v.id == g->norm.id) return "what the loss is divided by is of the whole batch";
  for (uint32_t i = 0; g->result_names && i < g->n_results; i++)
    if (g->results[i].id == v.id)
      return gr_arena_printf(a, "result %s is of the whole batch", g->result_names[i]);
  return NULL;
}

static const char *reason(gr_arena *a, const gr_graph *g, const gr_node *n) {
  gr_val v = after(g, n->out), from = before(g, n->in[0]);
  const char *why = state_reason(a, g, v);
  if (!why) why = result_reason(a, g, v);
  if (why) return why;
  const gr_node *r = reader(g, v);
  const char *op = r ? r->op->name : "nothing", *scope = r && r->scope ? r->scope : "the graph";
  const gr_value *leaf = gr_at(g, from);
  if (leaf->role != GR_TEMP)
    return gr_arena_printf(a, "%s is split, '%s' in %s needs it whole", leaf->name, op, scope);
  if (scope && !strcmp(scope, "guard")) return "the length of the gradient, of all parts";
  return gr_arena_printf(a, "'%s' in %s needs all of it", op, scope);
}

void gr_explain_moves(FILE *f, gr_arena *arena, const gr_program *p) {
  const gr_graph *g = p->frame.g;
  uint32_t n = 0;
  double sum = 0;
  char type[96], b[32];
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    if (!g->nodes[i].op->collective) continue;
    n++;
    sum += (double)gr_type_bytes(&gr_at(g, g->nodes[i].in[0])->type);
  }
  fprintf(f, "  collectives: %u, of %s on each rank\n", n, gr_bytes_text(sum, b));
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *node = &g->nodes[i];
    if (!node->op->collective) continue;
    const gr_type *t = &gr_at(g, node->in[0])->type;
    const struct gr_coll *c = node->attr;
    fprintf(f, "    %-14s %-4s %10s  %-18s %s\n", node->op->name, g->mesh.axis[c->mesh_axis].name,
            gr_bytes_text((double)gr_type_bytes(t), b), gr_type_text(t, type),
            reason(arena, g, node));
  }
}
