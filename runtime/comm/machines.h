// machines.h - collectives of ranks on several machines. The ranks of one machine communicate by
// shared memory (shared.h); the first rank of each machine, its leader, communicates with the other
// leaders over a link: MPI (mpi_remote.c) or TCP (tcp_link.c).
//
// A sum has two levels: within each machine in rank order, then over the machines in order, so that
// every rank gets the same bits.
#pragma once
#include "runtime/comm/shared.h"

// How leaders communicate. Each function is called on all leaders. They fail when a rank has failed
// or the time-out is over.
typedef struct gr_machines_link {
  // Every leader's `bytes` bytes, in machine order, on every leader.
  gr_status (*gather)(void *link, const void *data, size_t bytes, void *all);
  // The first machine's bytes, on every leader.
  gr_status (*spread)(void *link, void *data, size_t bytes);
} gr_machines_link;

typedef struct gr_machines {
  gr_shared *node;  // the members on this machine
  const gr_machines_link *ops;
  void *link;
  int rank, ranks;     // of the communicator
  int machines, most;  // most: members of a machine, at most
  int *rank_of;        // [machine * most + member of the machine]: its rank; -1: none
  char *spare;         // one chunk, for packing
  char *gathered;      // one chunk per machine
} gr_machines;

// Allocates the buffers. rank_of: for each machine `most` ranks; copied. Machines are in the order
// of their leaders' ranks.
GR_MUST_USE gr_status gr_machines_open(gr_machines *, gr_shared *node, const gr_machines_link *,
                                       void *link, int rank, int machines, int most,
                                       const int *rank_of);
void gr_machines_close(gr_machines *);  // frees the buffers; a zeroed structure is fine
// As gr_comm_vtable.run.
GR_MUST_USE gr_status gr_machines_run(gr_machines *, gr_collective, gr_dtype, int n,
                                      const gr_comm_piece *);
