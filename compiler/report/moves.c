// moves.c - lists every collective and the reason for it, which is derived from the graph: where
// the value comes from and which node reads it.
#include <string.h>
#include "compiler/report/parts.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"

static bool moves(const gr_node *n) { return n->op->collective || n->op == &gr_op_shard_slice; }

// The users of every value, collected once, since there may be thousands of collectives.
typedef struct uses {
  gr_arena *arena;
  const gr_graph *g;
  uint32_t *reader;  // by value: 1 + the first node that reads it, or 0
  uint32_t *state;   // by value: the first state whose gradient or next value it is, or 0
} uses;

static uses find_uses(gr_arena *arena, const gr_graph *g) {
  uses u = {.arena = arena, .g = g};
  u.reader = GR_NEW(arena, uint32_t, g->n_values);
  u.state = GR_NEW(arena, uint32_t, g->n_values);
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; k < g->nodes[i].n_in; k++) u.reader[g->nodes[i].in[k].id] = i + 1;
  for (uint32_t i = g->n_values; i-- > 1;)
    if (g->values[i].role == GR_STATE)
      u.state[g->values[i].grad.id] = u.state[g->values[i].next.id] = i;
  return u;
}

static const gr_node *reader(const uses *u, gr_val v) {
  return u->reader[v.id] ? &u->g->nodes[u->reader[v.id] - 1] : NULL;
}

// The origin of a value before a chain of collectives, and the result after it.
static gr_val before(const gr_graph *g, gr_val v) {
  const gr_node *n = gr_maker(g, v);
  return n && moves(n) ? before(g, n->in[v.id - n->out.id]) : v;
}
static gr_val after(const uses *u, gr_val v) {
  const gr_node *n = reader(u, v);
  for (int k = 0; n && moves(n) && k < n->n_in; k++)
    if (n->in[k].id == v.id) return after(u, gr_out(n, k));
  return v;
}

static const char *state_reason(const uses *u, gr_val v) {
  const gr_value *s = gr_is(v) && u->state[v.id] ? &u->g->values[u->state[v.id]] : NULL;
  if (!s) return NULL;
  return s->grad.id == v.id ? gr_arena_printf(u->arena, "gradient of %s", s->name)
                            : gr_arena_printf(u->arena, "%s, updated in parts", s->name);
}

static const char *result_reason(const uses *u, gr_val v) {
  const gr_graph *g = u->g;
  if (v.id == g->loss.id) return "the loss is over the whole batch";
  if (v.id == g->loss_denominator.id) return "what the loss is divided by is of the whole batch";
  for (uint32_t i = 0; g->result_names && i < g->n_results; i++)
    if (g->results[i].id == v.id)
      return gr_arena_printf(u->arena, "result %s is of the whole batch", g->result_names[i]);
  return NULL;
}

// The reason for the collective on its value k.
static const char *reason(const uses *u, const gr_node *n, int k) {
  gr_val v = after(u, gr_out(n, k)), operand = before(u->g, n->in[k]);
  const char *why = state_reason(u, v);
  if (!why) why = result_reason(u, v);
  if (why) return why;
  const gr_node *r = reader(u, v);
  const char *op = r ? r->op->name : "nothing", *scope = r && r->scope ? r->scope : "the graph";
  gr_val origin = gr_cast_from(u->g, operand);
  const gr_value *leaf = gr_at(u->g, origin);
  bool cast = origin.id != operand.id;
  if (leaf->role != GR_TEMP)
    return gr_arena_printf(u->arena, "%s is split, '%s' in %s needs it whole%s%s", leaf->name, op,
                           scope, cast ? ", as " : "",
                           cast ? gr_dtypes[gr_at(u->g, operand)->type.dtype].name : "");
  if (scope && !strcmp(scope, "finite_check")) return "the length of the gradient, of all parts";
  return gr_arena_printf(u->arena, "'%s' in %s needs all of it", op, scope);
}

// The state whose slices, gradient or next value operand k is; or NULL.
static const char *state_name(const uses *u, const gr_node *n, int k) {
  gr_val v = after(u, gr_out(n, k));
  const gr_value *source = gr_at(u->g, before(u->g, n->in[k]));
  if (gr_is(v) && u->state[v.id]) return u->g->values[u->state[v.id]].name;
  return source->role == GR_STATE ? source->name : NULL;
}

static size_t common(const char *a, const char *b, size_t most) {
  size_t n = 0, dot = 0;
  for (; n < most && a[n] && a[n] == b[n]; n++)
    if (a[n] == '.') dot = n;
  return dot;
}

// The common scope of all values of a collective; empty: they have several.
static const char *part_of(const uses *u, const gr_node *n) {
  const char *first = state_name(u, n, 0);
  size_t len = first ? strlen(first) : 0;
  for (int k = 1; k < n->n_in && len; k++) {
    const char *name = state_name(u, n, k);
    len = name ? common(first, name, len + 1) : 0;
  }
  return gr_arena_strndup(u->arena, first ? first : "", len);
}

// Prints one line; for coalesced values one line for all and one for each.
static void explain_move(FILE *f, const uses *u, const gr_node *n) {
  const gr_graph *g = u->g;
  char type[96], b[32];
  const char *axis = g->mesh.axis[((const struct gr_coll *)n->attr)->mesh_axis].name;
  const char *part = n->n_in > 1 ? part_of(u, n) : "";
  if (n->n_in > 1)
    fprintf(f, "    %-14s %-4s %10s  %d values%s%s, joined\n", n->op->name, axis,
            gr_bytes_text((double)gr_node_bytes(g, n, false), b), n->n_in, *part ? " of " : "",
            part);
  for (int k = 0; k < n->n_in; k++) {
    const gr_type *t = &gr_at(g, n->in[k])->type;
    fprintf(f, "    %-14s %-4s %10s  %-18s %s\n", n->n_in > 1 ? "" : n->op->name,
            n->n_in > 1 ? "" : axis, gr_bytes_text((double)gr_type_bytes(t), b),
            gr_type_text(t, type), reason(u, n, k));
  }
}

static void explain_traffic(FILE *f, const gr_program_figures *p) {
  const gr_mesh *m = &p->program->frame.g->mesh;
  char b[32];
  for (int a = 0; a < m->n_axes; a++)
    fprintf(f, "    over %-9s %4d collectives, %10s sent by each rank\n", m->axis[a].name,
            p->by_axis[a].collectives, gr_bytes_text(p->by_axis[a].sent, b));
}

void gr_explain_moves(FILE *f, gr_arena *arena, const gr_program_figures *p) {
  const gr_graph *g = p->program->frame.g;
  const gr_traffic *all = &p->all;
  uses u = find_uses(arena, g);
  char b[32], joined[32] = "";
  if (all->values > all->collectives) snprintf(joined, sizeof joined, " of %d values", all->values);
  fprintf(f, "  collectives: %d%s, of %s on each rank\n", all->collectives, joined,
          gr_bytes_text(all->operands, b));
  if (all->collectives) explain_traffic(f, p);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->collective) explain_move(f, &u, &g->nodes[i]);
}
