// comm.c - communicators by mesh axis. See comm.h.
#include "runtime/comm.h"

// Ranks of one axis differ in no other coordinate: those are the colour.
static int colour_of(const gr_mesh *m, int rank, int axis) {
  int colour = 0;
  for (int a = 0; a < m->n_axes; a++)
    if (a != axis) colour = colour * m->axis[a].size + gr_mesh_coord(m, rank, a);
  return colour;
}

gr_status gr_comm_mesh(gr_comm *world, const gr_mesh *m, gr_comm *out[GR_MAX_MESH]) {
  for (int a = 0; a < GR_MAX_MESH; a++) out[a] = NULL;
  if (gr_mesh_ranks(m) != world->ranks)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the plan is for %d ranks, but there are %d",
                   gr_mesh_ranks(m), world->ranks);
  for (int a = 0; a < m->n_axes; a++) {
    gr_status s = world->does->split(world, colour_of(m, world->rank, a),
                                     gr_mesh_coord(m, world->rank, a), &out[a]);
    if (!s) continue;
    gr_comm_mesh_close(out, m);
    return gr_note(s, GR_NOWHERE, "while opening mesh axis '%s'", m->axis[a].name);
  }
  return GR_OK;
}

void gr_comm_mesh_close(gr_comm *axes[GR_MAX_MESH], const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++) {
    if (axes[a]) axes[a]->does->close(axes[a]);
    axes[a] = NULL;
  }
}
