// host_slice.c - see host_slice.h.
#include "compiler/host_slice.h"
#include <string.h>

static void list_nodes(gr_host_slice *s) {
  const gr_graph *g = s->g;
  s->nodes = GR_NEW(s->arena, const gr_node *, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (gr_any_out(&g->nodes[i], s->wanted)) s->nodes[s->n_nodes++] = &g->nodes[i];
}

bool gr_host_slice_find(gr_host_slice *s, gr_val v, bool (*allowed)(const gr_op *)) {
  s->wanted = GR_NEW(s->arena, bool, s->g->n_values);
  s->wanted[v.id] = true;
  for (uint32_t i = s->g->n_nodes; i--;) {
    const gr_node *n = &s->g->nodes[i];
    if (!gr_any_out(n, s->wanted)) continue;
    if (!n->op->cpu || !allowed(n->op)) return false;
    for (int k = 0; k < n->n_in; k++) s->wanted[n->in[k].id] = true;
  }
  for (uint32_t i = 1; i < s->g->n_values; i++) {
    const gr_value *value = &s->g->values[i];
    if (!s->wanted[i] || value->role == GR_TEMP) continue;
    if (value->role != GR_INPUT || strcmp(value->name, s->input) != 0) return false;
    s->leaf = (gr_val){i};
  }
  list_nodes(s);
  return true;
}

void gr_host_slice_open(gr_host_slice *s) {
  s->data = GR_NEW(s->arena, void *, s->g->n_values);
  for (uint32_t i = 1; i < s->g->n_values; i++)
    if (s->wanted[i])
      s->data[i] = gr_arena_alloc(s->arena, gr_type_bytes(&s->g->values[i].type) + 1);
}

static gr_status run_node(gr_host_slice *s, const gr_node *n) {
  const gr_mesh mesh = {0};
  const void *in[GR_MAX_ARGS];
  void *out[GR_MAX_ARGS];
  gr_layout layout[GR_MAX_ARGS];
  gr_op_call call;
  gr_op_call_of(s->g, n, &call);
  for (int k = 0; k < n->n_in; k++) in[k] = s->data[n->in[k].id];
  for (int k = 0; k < n->n_out; k++)
    out[k] = s->data[gr_out(n, k).id], layout[k] = gr_layout_replicated;
  gr_launch l = {.attr = n->attr, .n_in = n->n_in, .n_out = n->n_out, .in_type = call.in};
  l.out_type = call.out, l.out_layout = layout, l.mesh = &mesh, l.in = in, l.out = out;
  if (n->op->scratch) l.scratch = gr_arena_alloc(s->arena, n->op->scratch(&call) + 1);
  return n->op->cpu(&l);
}

gr_status gr_host_slice_run(gr_host_slice *s) {
  for (uint32_t i = 0; i < s->n_nodes; i++) GR_TRY(run_node(s, s->nodes[i]));
  return GR_OK;
}
