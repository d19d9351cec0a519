// traffic.c - see traffic.h.
#include "compiler/plan/traffic.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"

// A slice is as large on every rank: where the ranks do not divide a dimension, it is padded.
static double sent(const gr_node *n, double in, double out, double ranks) {
  if (n->op == &gr_op_all_reduce) return 2 * (ranks - 1) / ranks * in;
  return (ranks - 1) * (n->op == &gr_op_all_gather ? in : out);
}

void gr_traffic_add(gr_traffic *t, const gr_graph *g, const gr_node *n) {
  double in = 0, out = 0, ranks = (double)((const struct gr_coll *)n->attr)->ranks;
  for (int k = 0; k < n->n_in; k++) in += (double)gr_type_bytes(&gr_at(g, n->in[k])->type);
  for (int k = 0; k < n->n_out; k++) out += (double)gr_type_bytes(&gr_at(g, gr_out(n, k))->type);
  t->collectives++, t->values += n->n_in;
  t->operands += in, t->sent += sent(n, in, out, ranks);
}

void gr_traffic_count(const gr_program *p, gr_traffic by_axis[GR_MAX_MESH]) {
  const gr_graph *g = p->frame.g;
  for (int a = 0; a < GR_MAX_MESH; a++) by_axis[a] = (gr_traffic){0};
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->collective)
      gr_traffic_add(&by_axis[((const struct gr_coll *)g->nodes[i].attr)->mesh_axis], g,
                     &g->nodes[i]);
}

const char *gr_plan_idle_axis(const gr_plan *p) {
  int used[GR_MAX_MESH] = {0};
  for (uint32_t i = 0; i < p->n_programs; i++) {
    gr_traffic by_axis[GR_MAX_MESH];
    gr_traffic_count(&p->programs[i], by_axis);
    for (int a = 0; a < GR_MAX_MESH; a++) used[a] += by_axis[a].collectives;
  }
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (p->mesh.axis[a].size > 1 && !used[a] && a != gr_mesh_virtual(&p->mesh))
      return p->mesh.axis[a].name;
  return NULL;
}
