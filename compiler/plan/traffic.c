// traffic.c - see traffic.h.
#include "compiler/plan/traffic.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"

static double sent(const gr_node *n, double bytes, double ranks) {
  if (n->op == &gr_op_all_gather) return (ranks - 1) * bytes;  // bytes: of one rank's slice
  double once = (ranks - 1) / ranks * bytes;
  return n->op == &gr_op_all_reduce ? 2 * once : once;
}

void gr_traffic_add(gr_traffic *t, const gr_graph *g, const gr_node *n) {
  double bytes = 0;
  for (int k = 0; k < n->n_in; k++) bytes += (double)gr_type_bytes(&gr_at(g, n->in[k])->type);
  t->collectives++, t->values += n->n_in;
  t->operands += bytes, t->sent += sent(n, bytes, (double)((const struct gr_coll *)n->attr)->ranks);
}

void gr_traffic_count(const gr_program *p, gr_traffic by_axis[GR_MAX_MESH]) {
  const gr_graph *g = p->frame.g;
  for (int a = 0; a < GR_MAX_MESH; a++) by_axis[a] = (gr_traffic){0};
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->collective)
      gr_traffic_add(&by_axis[((const struct gr_coll *)g->nodes[i].attr)->mesh_axis], g,
                     &g->nodes[i]);
}
