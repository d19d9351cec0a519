// comm.h - making communicators. What they do is in ops/comm.h.
//
// A communicator is used by one thread at a time. When a rank fails it says so by abort, before
// it closes: closing is a meeting of all ranks, as any collective is.
#pragma once
#include "ops/comm.h"

// ---- Loopback: ranks are threads of this process -------------------------------------
typedef struct gr_loopback gr_loopback;
GR_MUST_USE gr_status gr_loopback_create(int ranks, double timeout_s, gr_loopback **out);
gr_comm *gr_loopback_comm(gr_loopback *, int rank);  // owned by the loopback
void gr_loopback_destroy(gr_loopback *);

// ---- MPI: ranks are processes; those of one machine share memory --------------
typedef struct gr_mpi_module {  // the table of module "mpi" (base/module.h): comm_mpi.c
  gr_status (*open)(double timeout_s, int ranks_per_machine, gr_comm **out_world);
} gr_mpi_module;
// Without MPI in the build these fail with GR_ERR_LAUNCH. So does a launcher that started several
// processes without MPI knowing: each would be a world of its own.
GR_MUST_USE gr_status gr_mpi_open(double timeout_s, gr_comm **out_world);  // calls MPI_Init
void gr_mpi_close(gr_comm *world);  // and MPI_Finalize, unless a rank has failed; NULL is fine
// As if every so many ranks were a machine; 0: as it is. For tests, and machines of many sockets.
GR_MUST_USE gr_status gr_mpi_open_machines(double timeout_s, int ranks_per_machine,
                                           gr_comm **out_world);

// One communicator for each mesh axis, for this rank of `world`, by split.
GR_MUST_USE gr_status gr_comm_mesh(gr_comm *world, const gr_mesh *, gr_comm *out[GR_MAX_MESH]);
void gr_comm_mesh_close(gr_comm *axes[GR_MAX_MESH], const gr_mesh *);
