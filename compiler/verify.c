// verify.c - the IR verifier: invariants of a graph.
#include <string.h>
#include "compiler/pass.h"
#include "ops/comm/collective.h"

// The last nodes whose types were inferred, and are as stated, and whose bodies hold, by a hash:
// layers repeat their calls, and inference is most of the work.
enum { KNOWN = 512 };
typedef struct known_calls {
  struct known_call {
    const gr_graph *g;
    const gr_node *node;
  } like[KNOWN][2];  // the one that was found last, and the newest
} known_calls;

static gr_status verify_nodes(const gr_graph *, unsigned facts, known_calls *);

// No collectives in loops: their order would not be part of the schedule that all ranks share, and
// thousands of small ones are never intended.
static gr_status verify_body(const gr_node *n, const gr_graph *body, known_calls *known) {
  GR_TRY(gr_note(verify_nodes(body, 0, known), n->loc, "in the body of '%s'", n->op->name));
  GR_TRY(gr_graph_verify_leaves(body, 0));
  for (uint32_t i = 0; i < body->n_nodes; i++)
    if (body->nodes[i].op->collective)
      return gr_fail(GR_ERR_BUG, n->loc, "the body of '%s' holds a collective, '%s'", n->op->name,
                     body->nodes[i].op->name);
  return GR_OK;
}

// Whether such a call is known. It is then the first of its pair, where those that are looked for
// once, such as dropout's with streams of their own, do not replace it.
static bool is_known(known_calls *known, uint32_t i, const gr_graph *g, const gr_node *n) {
  for (int k = 0; k < 2; k++) {
    struct known_call *like = &known->like[i][k];
    if (!like->node || !gr_call_same(g, n, like->g, like->node)) continue;
    if (k) *like = known->like[i][0];
    known->like[i][0] = (struct known_call){g, n};
    return true;
  }
  return false;
}

static gr_status verify_types(const gr_graph *g, const gr_node *n) {
  gr_op_call s;
  gr_op_call_of(g, n, &s);
  GR_TRY(gr_op_infer(&s));
  for (int k = 0; k < n->n_out; k++) {
    char want[96], got[96];
    const gr_type *stated = &gr_at(g, gr_out(n, k))->type;
    if (!gr_type_same(&s.out[k], stated))
      return gr_fail(GR_ERR_BUG, n->loc, "result %d of '%s' is %s, its op makes %s", k, n->op->name,
                     gr_type_text(stated, got), gr_type_text(&s.out[k], want));
  }
  return GR_OK;
}

// Types, and bodies.
static gr_status verify_call(const gr_graph *g, const gr_node *n, known_calls *known) {
  uint32_t i = gr_call_hash(g, n) % KNOWN;
  if (is_known(known, i, g, n)) return GR_OK;
  for (const gr_attr *a = n->op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_GRAPH) GR_TRY(verify_body(n, gr_attr_graph(n->attr, a), known));
  GR_TRY(verify_types(g, n));
  known->like[i][1] = (struct known_call){g, n};
  return GR_OK;
}

// ---- Padding --------------------------------------------------------------------------
// Unevenly sharded values end in zero padding. That padding stays zero, and that no op reads it as
// data, follows from what ops declare (gr_padding) and from these checks.

static gr_status disturbs(const gr_node *n, const char *what) {
  return gr_fail(GR_ERR_BUG, n->loc, "'%s' %s", n->op->name, what);
}

// Value k of operands and then results.
static gr_val value_of(const gr_node *n, int k) {
  return k < n->n_in ? n->in[k] : gr_out(n, k - n->n_in);
}

// GR_PADDING_PRESERVED: all values that are not scalars are padded alike. A collective moves each
// of its values separately, as copies from host memory do.
static gr_status verify_kept(const gr_graph *g, const gr_node *n, int i) {
  const gr_value *v = gr_at(g, value_of(n, i));
  bool each = n->op->collective || n->op == &gr_op_fetch;
  for (int k = 0; k < n->n_in + n->n_out; k++) {
    const gr_value *w = gr_at(g, value_of(n, k));
    bool alike = !memcmp(v->layout.pad, w->layout.pad, sizeof v->layout.pad);
    bool meets = each ? k % n->n_in == i % n->n_in : w->type.rank > 0;
    if (meets && !alike) return disturbs(n, "has values of different padding");
  }
  return GR_OK;
}

// Row by row: slices are padded along their first dimension, and all that are split on that axis of
// the mesh alike.
static gr_status verify_rows(const gr_graph *g, const gr_node *n, int i) {
  const gr_value *v = gr_at(g, value_of(n, i));
  for (int a = 0; a < g->mesh.n_axes; a++) {
    if (!v->layout.pad[a]) continue;
    if (v->layout.placement[a] > 0) return disturbs(n, "looks for rows in slices of columns");
    for (int k = 0; k < n->n_in + n->n_out; k++) {
      const gr_layout *l = &gr_at(g, value_of(n, k))->layout;
      if (l->placement[a] >= 0 && (l->placement[a] || l->pad[a] != v->layout.pad[a]))
        return disturbs(n, "has values of different padding");
    }
  }
  return GR_OK;
}

// A collective changes the padding of its own mesh axis only, on which `whole` has none.
static gr_status verify_moved(const gr_graph *g, const gr_node *n, gr_val whole, gr_val slice) {
  const struct gr_coll *a = n->attr;
  const gr_value *w = gr_at(g, whole), *s = gr_at(g, slice);
  int k = (int)(n->op->padding == GR_PADDING_ADDED ? slice.id - n->out.id : whole.id - n->out.id);
  int64_t d = a->dim.items[k], pad = s->type.dim[d] * a->ranks - w->type.dim[d];
  for (int i = 0; i < GR_MAX_MESH; i++)
    if (w->layout.pad[i]) return disturbs(n, "moves what another axis of the mesh has padded");
  if (a->mesh_axis < 0 || a->mesh_axis >= g->mesh.n_axes) return GR_OK;  // prove.c says so
  if (s->layout.pad[a->mesh_axis] == pad) return GR_OK;
  return disturbs(n, "has slices of another padding than it declares");
}

static gr_status verify_padding(const gr_graph *g, const gr_node *n) {
  gr_padding does = n->op->padding;
  for (int k = 0; k < n->n_in + n->n_out; k++) {
    if (!gr_layout_is_padded(&gr_at(g, value_of(n, k))->layout)) continue;
    if (does == GR_PADDING_REFUSED) return disturbs(n, "would take padding for numbers");
    if (does == GR_PADDING_PRESERVED) GR_TRY(verify_kept(g, n, k));
    if (does == GR_PADDING_ROWS) GR_TRY(verify_rows(g, n, k));
  }
  for (int k = 0; k < n->n_out; k++) {
    if (does == GR_PADDING_ADDED) GR_TRY(verify_moved(g, n, n->in[k], gr_out(n, k)));
    if (does == GR_PADDING_REMOVED) GR_TRY(verify_moved(g, n, gr_out(n, k), n->in[k]));
  }
  return GR_OK;
}

// Inputs and results are not padded.
static gr_status verify_ends(const gr_graph *g) {
  for (uint32_t i = 1; i < g->leaves_end; i++)
    if (g->values[i].role == GR_INPUT && gr_layout_is_padded(&g->values[i].layout))
      return gr_fail(GR_ERR_BUG, g->values[i].loc, "input %s is padded", g->values[i].name);
  for (uint32_t i = 0; i < g->n_results; i++)
    if (gr_layout_is_padded(&gr_at(g, g->results[i])->layout))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "result '%s' is padded", g->result_names[i]);
  return GR_OK;
}

// ---- Nodes ----------------------------------------------------------------------------

static gr_status verify_node(const gr_graph *g, uint32_t i, known_calls *known) {
  const gr_node *n = &g->nodes[i];
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(g, n->in[k]);
    if (!gr_is(n->in[k]) || n->in[k].id >= g->n_values || (v->role == GR_TEMP && v->node >= i))
      return gr_fail(GR_ERR_BUG, n->loc, "'%s' uses %%%u before it is made", n->op->name,
                     n->in[k].id);
  }
  return verify_call(g, n, known);
}

static gr_status verify_state(const gr_graph *g, const gr_value *v, unsigned facts) {
  if (gr_is(v->grad) && !gr_type_same(&v->type, &gr_at(g, v->grad)->type) &&
      !(facts & GR_FACT_LOCAL))
    return gr_fail(GR_ERR_BUG, v->loc, "the gradient of %s has another type", v->name);
  if (!gr_is(v->next)) return GR_OK;
  const gr_value *next = gr_at(g, v->next);
  if (!gr_type_same(&v->type, &next->type))
    return gr_fail(GR_ERR_TYPE, v->loc, "the next value of %s has another type", v->name);
  if ((facts & GR_FACT_LOCAL) && !gr_layout_same(&v->layout, &next->layout))
    return gr_fail(GR_ERR_BUG, v->loc, "the next value of %s has another layout", v->name);
  // States are stored one by one, so one must not become another that has just been stored.
  if ((facts & GR_FACT_LOCAL) && next != v && next->role == GR_STATE)
    return gr_fail(GR_ERR_UNSUPPORTED, v->loc, "the next value of %s is another state", v->name);
  return GR_OK;
}

// Passes name states after weights, so that a parameter may have the name that one of them takes.
static gr_status same_name(const gr_value *v, const gr_value *other) {
  gr_status s = gr_fail(GR_ERR_CONFIG, v->loc.file ? v->loc : other->loc,
                        "two inputs or states are called '%s'", v->name);
  if (v->loc.file && other->loc.file) s = gr_note(s, other->loc, "the other one");
  return gr_hint(s,
                 "the optimizer's states are WEIGHT.m and the like, sums of micro-steps "
                 "WEIGHT.total: choose another 'name:'");
}

// Whether each name is that of one leaf, by the graph's own maps: the usual case, without a new
// one.
static bool names_differ(const gr_graph *g) {
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    if (v->role == GR_TEMP || !v->name) continue;
    if (gr_graph_leaf(g, v->role, v->name).id != i) return false;
    if (v->role == GR_INPUT && gr_is(gr_graph_leaf(g, GR_STATE, v->name))) return false;
  }
  return true;
}

static gr_status check_leaf_names(gr_arena *arena, const gr_graph *g) {
  gr_map names = gr_map_make(arena);
  uint32_t other;
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    if (v->role == GR_TEMP || !v->name) continue;
    if (gr_map_find(&names, v->name, &other)) return same_name(v, &g->values[other]);
    gr_map_put(&names, v->name, i);
  }
  return GR_OK;
}

static gr_status check_result_names(gr_arena *arena, const gr_graph *g) {
  gr_map names = gr_map_make(arena);
  for (uint32_t i = 0; g->result_names && i < g->n_results; i++) {
    if (gr_map_find(&names, g->result_names[i], NULL))
      return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "two results are named '%s'", g->result_names[i]);
    gr_map_put(&names, g->result_names[i], i);
  }
  return GR_OK;
}

static gr_status verify_names(const gr_graph *g) {
  gr_arena *arena = gr_arena_create();
  gr_status s = names_differ(g) ? GR_OK : check_leaf_names(arena, g);
  s = s ? s : check_result_names(arena, g);
  return gr_arena_end(arena, s);
}

static gr_status verify_nodes(const gr_graph *g, unsigned facts, known_calls *known) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    GR_TRY(verify_node(g, i, known));
    if (facts & GR_FACT_LOCAL) GR_TRY(verify_padding(g, &g->nodes[i]));
  }
  return GR_OK;
}

gr_status gr_graph_verify(const gr_graph *g, unsigned facts) {
  known_calls known = {0};
  GR_TRY(verify_nodes(g, facts, &known));
  if (facts & GR_FACT_LOCAL) GR_TRY(verify_ends(g));
  return gr_graph_verify_leaves(g, facts);
}

gr_status gr_graph_verify_leaves(const gr_graph *g, unsigned facts) {
  for (uint32_t i = 1; i < g->leaves_end; i++)
    if (g->values[i].role == GR_STATE) GR_TRY(verify_state(g, &g->values[i], facts));
  return facts ? verify_names(g) : GR_OK;
}
