// comm.c - opens the MPI world and splits it by mesh axis. See comm.h.
#include "runtime/comm/comm.h"
#include "base/module.h"
#include "runtime/launch/launch.h"

#if GR_HAVE_MPI
static gr_status open_world(double timeout_s, int ranks_per_machine, gr_comm **out) {
  const gr_mpi_module *mpi;
  GR_TRY(gr_module_open("mpi", &mpi));
  return mpi->open(timeout_s, ranks_per_machine, out);
}
#else
static gr_status open_world(double timeout_s, int ranks_per_machine, gr_comm **out) {
  (void)timeout_s, (void)ranks_per_machine, (void)out;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "this graphrun was built without MPI"),
                 "install it (Debian: libopenmpi-dev openmpi-bin) and build again");
}
#endif

// Under a launcher that MPI does not know of, MPI_Init succeeds and every rank is alone in a world
// of size 1.
static gr_status check_size(const gr_comm *world) {
  const char *by;
  int started = gr_launch_started(NULL, &by);
  if (started == world->ranks || !started) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "%s started %d ranks, but MPI sees %d: independent trainings would start", by,
              started, world->ranks),
      "run graphrun directly (it starts its own ranks), or under mpirun or srun --mpi=pmix; if "
      "the variables PMI_*, OMPI_* or SLURM_* are left over from another job, unset them");
}

gr_status gr_mpi_open_machines(double timeout_s, int ranks_per_machine, gr_comm **out) {
  *out = NULL;
  GR_TRY(open_world(timeout_s, ranks_per_machine, out));
  gr_status s = check_size(*out);
  if (!s) return GR_OK;
  gr_comm_close(*out);
  *out = NULL;
  return s;
}

gr_status gr_mpi_open(double timeout_s, gr_comm **out) {
  return gr_mpi_open_machines(timeout_s, 0, out);
}

void gr_comm_close(gr_comm *world) {
  if (world) world->ops->close(world);
}

gr_status gr_comm_mesh(gr_comm *world, const gr_mesh *m, gr_comm *out[GR_MAX_MESH]) {
  for (int a = 0; a < GR_MAX_MESH; a++) out[a] = NULL;
  if (gr_mesh_ranks(m) != world->ranks)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the plan is for %d ranks, but %d are running",
                   gr_mesh_ranks(m), world->ranks);
  for (int a = 0; a < m->n_axes; a++) {
    gr_status s = world->ops->split(world, gr_mesh_group_of(m, world->rank, a).first,
                                    gr_mesh_coord(m, world->rank, a), &out[a]);
    if (!s) continue;
    gr_comm_mesh_close(out, m);
    return gr_note(s, GR_NOWHERE, "while opening mesh axis '%s'", m->axis[a].name);
  }
  return GR_OK;
}

void gr_comm_mesh_close(gr_comm *axes[GR_MAX_MESH], const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++) {
    if (axes[a]) axes[a]->ops->close(axes[a]);
    axes[a] = NULL;
  }
}
