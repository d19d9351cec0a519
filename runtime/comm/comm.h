// comm.h - creates communicators. The interface they implement is in ops/comm/comm.h.
//
// A communicator is used by one thread at a time, but for `abort`, which may be called while
// another thread runs a collective. A rank that fails must call it before `close`: closing is
// collective, so peers of a rank that merely left would wait for it.
#pragma once
#include "base/arena.h"
#include "ops/comm/comm.h"

// ---- Loopback: ranks are threads of this process -------------------------------------
typedef struct gr_loopback gr_loopback;
// Creates a world of 1 to 1024 ranks. timeout_s bounds every collective: a rank that has not
// arrived by then is GR_ERR_HANG on the others. Called once, before the ranks' threads start.
GR_MUST_USE gr_status gr_loopback_create(int ranks, double timeout_s, gr_loopback **out);
gr_comm *gr_loopback_comm(gr_loopback *, int rank);  // owned by the loopback
// Frees the world, every communicator split from it and every shared allocation. Call it after all
// ranks' threads have been joined. NULL is fine.
void gr_loopback_destroy(gr_loopback *);

// Runs `rank` on so many threads, each with its rank's communicator, and returns the first error
// that is not the consequence of another rank's. A rank that fails aborts (gr_comm_vtable.abort).
GR_MUST_USE gr_status gr_loopback_run(int ranks, double timeout_s,
                                      gr_status (*rank)(gr_comm *, void *arg), void *arg);

// ---- MPI: ranks are processes; those of one machine share memory --------------
typedef struct gr_mpi_module {  // the table of module "mpi" (base/module.h): mpi.c
  gr_status (*open)(double timeout_s, int ranks_per_machine, gr_comm **out_world);
} gr_mpi_module;
// Opens the world of all ranks, and calls MPI_Init unless that is done. Collective. Fails with
// GR_ERR_LAUNCH in a build without MPI, and when a launcher started several processes that MPI does
// not know of, because each of them would train alone.
GR_MUST_USE gr_status gr_mpi_open(double timeout_s, gr_comm **out_world);
// gr_mpi_open with every `ranks_per_machine` consecutive ranks of a machine treated as a machine of
// their own; 0: the real machines. For tests, and for machines with many sockets.
GR_MUST_USE gr_status gr_mpi_open_machines(double timeout_s, int ranks_per_machine,
                                           gr_comm **out_world);

// ---- TCP: ranks are processes that find each other by the store of rank 0 (store.h) -----------
typedef struct gr_store_options gr_store_options;
// Opens the world of all ranks. Ranks of one machine share memory; those of several machines use
// TCP connections. ranks_per_machine: as for gr_mpi_open_machines. Collective. Errors as of
// gr_store_open, whose options must live as long as the world. gr_comm_close closes it.
GR_MUST_USE gr_status gr_tcp_open(const gr_store_options *, int ranks_per_machine,
                                  gr_comm **out_world);

// Closes a world of MPI or TCP. Collective. Calls MPI_Finalize if gr_mpi_open called MPI_Init,
// unless a rank has failed (it would wait for that rank). NULL is fine.
void gr_comm_close(gr_comm *world);

// Splits `world` into one communicator per mesh axis: out[a] holds the ranks that differ from this
// one in coordinate `a` only. Collective over `world`; gr_comm_mesh_close closes them. Fails with
// GR_ERR_LAUNCH when the mesh and the world differ in size.
GR_MUST_USE gr_status gr_comm_mesh(gr_comm *world, const gr_mesh *, gr_comm *out[GR_MAX_MESH]);
// Closes what gr_comm_mesh opened and sets it to NULL. Collective.
void gr_comm_mesh_close(gr_comm *axes[GR_MAX_MESH], const gr_mesh *);

// ---- Agreement between ranks (broadcast.c); each of these is collective ----------------
// Broadcasts rank 0's *n bytes. On the other ranks *bytes becomes a copy in the arena and *n its
// size.
GR_MUST_USE gr_status gr_comm_share(gr_comm *, gr_arena *, char **bytes, size_t *n);
// What each rank has given, of any size, in the arena: that of rank r begins at of_rank[r], and has
// zeros behind it up to a multiple of 4 bytes.
typedef struct gr_comm_gathered {
  int32_t **of_rank;  // NULL: no rank has given any
  int32_t *bytes;     // by rank
} gr_comm_gathered;
// Gathers `n` bytes of this rank on all ranks. GR_ERR_UNSUPPORTED: they are more than 2 GiB.
GR_MUST_USE gr_status gr_comm_gather(gr_comm *, gr_arena *, const void *bytes, size_t n,
                                     gr_comm_gathered *out);
// *out_rank becomes, on every rank, the first rank whose value differs from rank 0's; -1: none.
GR_MUST_USE gr_status gr_comm_compare(gr_comm *, uint64_t value, int *out_rank);
// GR_OK on every rank when every rank's `status` is GR_OK. Otherwise the first rank with an error
// returns it and the others return GR_ERR_RANK, so that one message is shown. Takes ownership of
// `status`.
GR_MUST_USE gr_status gr_comm_all_ok(gr_comm *, gr_status status);
