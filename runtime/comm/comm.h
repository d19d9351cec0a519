// comm.h - making communicators. What they do is in ops/comm/comm.h.
//
// A communicator is used by one thread at a time. When a rank fails it says so by abort, before
// it closes: closing is a meeting of all ranks, as any collective is.
#pragma once
#include "base/arena.h"
#include "ops/comm/comm.h"

// ---- Loopback: ranks are threads of this process -------------------------------------
typedef struct gr_loopback gr_loopback;
GR_MUST_USE gr_status gr_loopback_create(int ranks, double timeout_s, gr_loopback **out);
gr_comm *gr_loopback_comm(gr_loopback *, int rank);  // owned by the loopback
void gr_loopback_destroy(gr_loopback *);

// ---- MPI: ranks are processes; those of one machine share memory --------------
typedef struct gr_mpi_module {  // the table of module "mpi" (base/module.h): mpi.c
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

// ---- What all ranks have in common (broadcast.c); all of them call these together -------
// Rank 0's bytes, for all: on the others *bytes is set to a copy in the arena, and *n to its size.
GR_MUST_USE gr_status gr_comm_share(gr_comm *, gr_arena *, char **bytes, size_t *n);
// The first rank whose value is not that of rank 0, on every rank; -1: all are the same.
GR_MUST_USE gr_status gr_comm_compare(gr_comm *, uint64_t value, int *out_rank);
// GR_OK where no rank has an error. Else the first that has one returns it, and the others
// GR_ERR_RANK, so that one message is shown. Takes the status over.
GR_MUST_USE gr_status gr_comm_all_ok(gr_comm *, gr_status own);
