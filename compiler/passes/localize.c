// localize.c - per-rank versions of nodes (localize.h), scans with their bodies included.
#include "compiler/passes/localize.h"
#include <string.h>
#include "ops/loop/scan.h"

// Sets the layout of a body's value if the batch is sharded over the mesh axes of `split`.
static void place(gr_builder *b, const gr_scan *s, uint32_t i, gr_layout l, gr_val *map) {
  const gr_graph *g = s->body;
  const gr_value *v = &g->values[i];
  gr_type local = gr_type_local(&v->type, &l, &b->g->mesh);
  if (v->role != GR_TEMP)
    map[i] = gr_leaf(b, v->role, v->kind, v->name, local, l);
  else if (g->nodes[v->node].out.id == i)
    gr_emit_copy(b, g, &g->nodes[v->node], map);
  if (!b->err) gr_at(b->g, map[i])->layout = l;
}

static const gr_graph *local_body(gr_rewrite *rw, const gr_scan *s, const bool *split) {
  const gr_graph *g = s->body;
  gr_builder b = {.g = gr_graph_create(rw->b.g->arena, &rw->old->mesh),
                  .created_by = rw->b.created_by};
  gr_val *map = GR_NEW(b.g->arena, gr_val, g->n_values);
  gr_axis_placement *lay = GR_NEW(b.g->arena, gr_axis_placement, g->n_values);
  gr_scan_layouts(s, lay);
  for (uint32_t i = 1; i < g->n_values && !b.err; i++) {
    gr_layout l = g->values[i].layout;
    for (int a = 0; a < rw->old->mesh.n_axes && a < GR_MAX_MESH; a++)
      if (split[a]) l.at[a] = lay[i];
    place(&b, s, i, l, map);
  }
  for (uint32_t i = 1; i < g->n_values && !b.err; i++)
    if (gr_is(g->values[i].next)) gr_at(b.g, map[i])->next = map[g->values[i].next.id];
  for (uint32_t i = 0; i < g->n_results; i++) gr_result(&b, NULL, map[g->results[i].id]);
  rw->b.err = gr_note(b.err, rw->b.loc, "while splitting the body of a scan");
  return b.g;
}

gr_val gr_emit_local(gr_rewrite *rw, const gr_node *n, const gr_val *args, const gr_layout *in,
                     const gr_layout *out) {
  if (rw->b.err) return GR_NONE;
  if (n->op->localize) {
    void *attr = gr_arena_alloc(rw->b.g->arena, n->op->attr_size);
    memcpy(attr, n->attr, n->op->attr_size);
    n->op->localize(attr, out, &rw->old->mesh);
    return gr_emit(&rw->b, n->op, attr, n->n_in, args);
  }
  if (n->op != &gr_op_scan) return gr_emit(&rw->b, n->op, n->attr, n->n_in, args);
  gr_scan s = *(const gr_scan *)n->attr;
  bool split[GR_MAX_MESH] = {0};
  for (int a = 0; a < rw->old->mesh.n_axes; a++) {
    for (int k = 0; k < n->n_in; k++) split[a] |= in[k].at[a] != GR_REPLICATE;
    for (int k = 0; k < n->n_out; k++) split[a] |= out[k].at[a] != GR_REPLICATE;
  }
  s.body = local_body(rw, &s, split);
  return gr_emit(&rw->b, n->op, &s, n->n_in, args);
}

gr_val gr_cast_local(gr_builder *b, gr_val v, gr_dtype to) {
  gr_val w = gr_cast(b, v, to);
  if (!b->err) gr_at(b->g, w)->layout = gr_at(b->g, v)->layout;
  return b->err ? GR_NONE : w;
}
