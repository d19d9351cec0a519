// scan_part.c - the body of a loop for some of the rows of its batch (scan.h). Rows that depend on
// no other rows are those that ranks may have for themselves (gr_scan_layouts).
#include <string.h>
#include "ops/kernels/fused.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

// Sizes in attributes are localized as for a rank on a mesh of one axis, which has all parts.
typedef struct part {
  gr_arena *arena;
  gr_mesh mesh;
} part;

static gr_graph *body_of(const part *, const gr_scan *, gr_axis_placement *lay);

static gr_layout layout_of(gr_axis_placement placement) {
  gr_layout l = gr_layout_replicated;
  l.placement[0] = placement;
  return l;
}

// A fused node's body on operands of other sizes.
static const gr_graph *fused_of(const part *p, const gr_builder *b, const gr_graph *g,
                                const gr_val *in) {
  gr_builder inner = {.g = gr_graph_create(p->arena, NULL), .distinct = true};
  gr_val *map = GR_NEW(p->arena, gr_val, g->n_values);
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++)
    map[i] = gr_leaf(&inner, GR_INPUT, g->values[i].kind, g->values[i].name,
                     gr_at(b->g, in[i - 1])->type, gr_layout_replicated);
  for (uint32_t i = 0; i < g->n_nodes; i++) gr_emit_copy(&inner, g, &g->nodes[i], map);
  for (uint32_t j = 0; j < g->n_results; j++) gr_result(&inner, NULL, map[g->results[j].id]);
  gr_status_drop(inner.err);
  return inner.err ? NULL : inner.g;
}

// The loop in a body whose rows are divided, too, if what it reads of that is.
static bool inner_of(const part *p, gr_scan *s, const gr_node *n, const gr_axis_placement *lay) {
  bool divided = false;
  for (int k = 0; k < n->n_in; k++) divided |= lay[n->in[k].id] >= 0;
  for (int k = 0; k < n->n_out; k++) divided |= lay[gr_out(n, k).id] >= 0;
  gr_axis_placement *inside = GR_NEW(p->arena, gr_axis_placement, s->body->n_values);
  if (!divided) return true;
  s->body = gr_scan_layouts(s, inside) ? body_of(p, s, inside) : NULL;
  return s->body != NULL;
}

static gr_val emit(const part *p, gr_builder *b, const gr_graph *g, const gr_node *n,
                   const gr_axis_placement *lay, const gr_val *in) {
  if (n->op == &gr_op_fused) {
    gr_fused f = {fused_of(p, b, ((const gr_fused *)n->attr)->body, in)};
    return f.body ? gr_emit(b, n->op, &f, n->n_in, in) : GR_NONE;
  }
  if (n->op == &gr_op_scan) {
    gr_scan s = *(const gr_scan *)n->attr;
    return inner_of(p, &s, n, lay) ? gr_emit(b, n->op, &s, n->n_in, in) : GR_NONE;
  }
  if (!n->op->localize) return gr_emit_same(b, g, n, in);
  void *attr = gr_arena_alloc(p->arena, n->op->attr_size);
  gr_layout out = layout_of(lay[n->out.id]);
  memcpy(attr, n->attr, n->op->attr_size);
  n->op->localize(attr, &out, &p->mesh);
  return gr_emit(b, n->op, attr, n->n_in, in);
}

// The body with rows of a part; NULL if some value would have no whole number of them.
static gr_graph *body_of(const part *p, const gr_scan *s, gr_axis_placement *lay) {
  const gr_graph *g = s->body;
  gr_builder b = {.g = gr_graph_create(p->arena, &p->mesh), .distinct = true};
  gr_val in[GR_MAX_ARGS];
  bool same = true;
  for (uint32_t i = 1; i <= gr_graph_leaves(g) && same; i++) {
    const gr_value *v = &g->values[i];
    gr_layout layout = layout_of(lay[i]);
    same = lay[i] < 0 || v->type.dim[lay[i]] % p->mesh.axis[0].size == 0;
    if (same)
      gr_leaf(&b, v->role, v->kind, v->name, gr_type_local(&v->type, &layout, &p->mesh), layout);
  }
  for (uint32_t i = 0; i < g->n_nodes && same && !b.err; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; k++) in[k] = n->in[k];
    b.loc = n->loc, b.scope = n->scope;
    same = emit(p, &b, g, n, lay, in).id == n->out.id;
  }
  for (uint32_t i = 1; i < g->n_values && same && !b.err; i++)
    gr_at(b.g, (gr_val){i})->next = g->values[i].next;
  for (uint32_t j = 0; j < g->n_results && same; j++) gr_result(&b, NULL, g->results[j]);
  same &= !b.err && b.g->n_values == g->n_values;
  gr_status_drop(b.err);
  return same ? b.g : NULL;
}

static bool draws(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op->random) return true;
    for (const gr_attr *a = n->op->attrs; a && a->name; a++)
      if (a->kind == GR_ATTR_GRAPH && draws(gr_attr_graph(n->attr, a))) return true;
  }
  return false;
}

// The rows of the batch, of which the leaves that have some have multiples; 0: there is none.
static int64_t rows_of(const gr_scan *s, const gr_axis_placement *lay) {
  int64_t rows = 0;
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++) {
    int64_t n = lay[i] >= 0 ? s->body->values[i].type.dim[lay[i]] : 0;
    for (int64_t rest; rows && n && (rest = rows % n) > 0;) rows = n, n = rest;
    if (n) rows = n;
  }
  return rows;
}

int64_t gr_scan_parts(const gr_scan *s, int64_t most, gr_axis_placement *lay) {
  if (s->until || draws(s->body) || !gr_scan_layouts(s, lay)) return 1;
  for (uint32_t j = 0; j < s->body->n_results; j++)
    if (lay[s->body->results[j].id] != 0) return 1;
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++) {
    bool sum = gr_scan_is_carry(s, i) && gr_scan_operand(s, i) < 0;
    if (lay[i] > 0 || (lay[i] == GR_PARTIAL && !sum)) return 1;
  }
  int64_t rows = rows_of(s, lay), parts = most < rows ? most : rows;
  while (parts > 1 && rows % parts) parts--;
  return parts > 1 ? parts : 1;
}

const gr_graph *gr_scan_part(gr_arena *arena, const gr_scan *s, int64_t parts,
                             gr_axis_placement *lay) {
  part p = {.arena = arena, .mesh = {.n_axes = 1}};
  p.mesh.axis[0].name = "part", p.mesh.axis[0].size = (int)parts;
  return body_of(&p, s, lay);
}
