// localize.c - per-rank versions of nodes (localize.h), scans with their bodies included.
#include "compiler/passes/localize.h"
#include <string.h>
#include "ops/loop/scan.h"

// The layouts of a body's values if the batch is sharded over the mesh axes of `split`.
static gr_layout *body_layouts(gr_arena *arena, const gr_scan *s, const gr_mesh *mesh,
                               const bool *split) {
  const gr_graph *g = s->body;
  gr_layout *out = GR_NEW(arena, gr_layout, g->n_values);
  gr_axis_placement *lay = GR_NEW(arena, gr_axis_placement, g->n_values);
  gr_scan_layouts(s, lay);
  for (uint32_t i = 1; i < g->n_values; i++) {
    out[i] = g->values[i].layout;
    for (int a = 0; a < mesh->n_axes && a < GR_MAX_MESH; a++)
      if (split[a]) out[i].placement[a] = lay[i];
  }
  return out;
}

// A node of a body on the values of map[]; loops in it are split too.
static void place_node(gr_rewrite *rw, const gr_graph *body, const gr_node *n, const gr_layout *lay,
                       gr_val *map) {
  gr_val args[GR_MAX_ARGS];
  gr_layout in[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) args[k] = map[n->in[k].id], in[k] = lay[n->in[k].id];
  rw->b.loc = n->loc, rw->b.scope = n->scope, rw->b.created_by = n->created_by;
  gr_val v = gr_emit_local(rw, body, n, args, in, &lay[n->out.id]);
  for (int k = 0; k < n->n_out && !rw->b.err; k++) {
    map[gr_out(n, k).id] = (gr_val){v.id + (uint32_t)k};
    gr_at(rw->b.g, map[gr_out(n, k).id])->layout = lay[gr_out(n, k).id];
  }
}

// Its tables are in `work`.
static const gr_graph *local_body(gr_rewrite *outer, const gr_scan *s, const bool *split,
                                  gr_arena *work) {
  const gr_graph *g = s->body;
  const gr_mesh *mesh = &outer->old->mesh;
  gr_rewrite rw = {.old = outer->old, .opt = outer->opt};
  rw.b = (gr_builder){.g = gr_graph_create_in(work, outer->b.g->arena, mesh)};
  gr_graph_reserve(rw.b.g, g->n_values, g->n_nodes);
  gr_val *map = GR_NEW(rw.b.g->tables, gr_val, g->n_values);
  const gr_layout *lay = body_layouts(rw.b.g->tables, s, mesh, split);
  for (uint32_t i = 1, n = gr_graph_leaves(g); i <= n && !rw.b.err; i++) {
    const gr_value *v = &g->values[i];
    map[i] =
        gr_leaf(&rw.b, v->role, v->kind, v->name, gr_type_local(&v->type, &lay[i], mesh), lay[i]);
  }
  for (uint32_t i = 0; i < g->n_nodes && !rw.b.err; i++) place_node(&rw, g, &g->nodes[i], lay, map);
  for (uint32_t i = 1; i < g->n_values && !rw.b.err; i++)
    if (gr_is(g->values[i].next)) gr_at(rw.b.g, map[i])->next = map[g->values[i].next.id];
  for (uint32_t i = 0; i < g->n_results; i++) gr_result(&rw.b, NULL, map[g->results[i].id]);
  outer->b.err = gr_note(rw.b.err, outer->b.loc, "while splitting the body of a scan");
  return rw.b.g;
}

gr_val gr_emit_local(gr_rewrite *rw, const gr_graph *of, const gr_node *n, const gr_val *args,
                     const gr_layout *in, const gr_layout *out) {
  if (rw->b.err) return GR_NONE;
  if (n->op->localize) {
    void *attr = gr_arena_alloc(rw->b.g->tables, n->op->attr_size);
    memcpy(attr, n->attr, n->op->attr_size);
    n->op->localize(attr, out, &rw->old->mesh);
    return gr_emit(&rw->b, n->op, attr, n->n_in, args);
  }
  if (n->op != &gr_op_scan) return gr_emit_same(&rw->b, of, n, args);
  gr_scan s = *(const gr_scan *)n->attr;
  bool split[GR_MAX_MESH] = {0};
  for (int a = 0; a < rw->old->mesh.n_axes; a++) {
    for (int k = 0; k < n->n_in; k++) split[a] |= in[k].placement[a] != GR_REPLICATE;
    for (int k = 0; k < n->n_out; k++) split[a] |= out[k].placement[a] != GR_REPLICATE;
  }
  gr_arena *work = gr_arena_create();
  s.body = local_body(rw, &s, split, work);
  gr_val made = gr_emit(&rw->b, n->op, &s, n->n_in, args);
  gr_arena_destroy(work);
  return made;
}

gr_val gr_cast_local(gr_builder *b, gr_val v, gr_dtype to) {
  gr_val w = gr_cast(b, v, to);
  if (!b->err) gr_at(b->g, w)->layout = gr_at(b->g, v)->layout;
  return b->err ? GR_NONE : w;
}
