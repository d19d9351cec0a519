// mpi_parts.h - what mpi.c (opening and closing) and mpi_remote.c share.
#pragma once
#include "runtime/comm/shared.h"

#if GR_HAVE_MPI
#include <mpi.h>

typedef struct gr_mpi gr_mpi;
typedef struct gr_mpi_allocation gr_mpi_allocation;
struct gr_mpi {
  gr_comm base;
  gr_shared node;  // this machine's members of it
  gr_mpi *world;
  MPI_Comm all, local, leaders, wire;  // leaders: one of each machine; wire: the world's, for news
  void *block;                         // of node
  size_t block_bytes;
  int world_rank, machines;
  char *gathered;                  // of leaders: one chunk for each machine
  char *spare;                     // one chunk
  gr_mpi_allocation *allocations;  // of the world
  bool oversubscribed, abort_reported, finalize;
};

gr_status gr_mpi_failed(int code, const char *what);
#define MPI_TRY(call)                                             \
  do {                                                            \
    int code_ = (call);                                           \
    if (code_ != MPI_SUCCESS) return gr_mpi_failed(code_, #call); \
  } while (0)

// A collective of ranks that are not all on one machine.
GR_MUST_USE gr_status gr_mpi_run_far(gr_mpi *, gr_collective, gr_dtype, int n,
                                     const gr_comm_piece *);
// Open MPI has a file for each rank in /dev/shm, or where graphrun's launcher has put it, and takes
// it away at the end; ranks that are killed would leave theirs there for ever. Once all ranks of a
// machine have opened them their names are of no use: hide takes them away, and show puts them back
// for MPI_Finalize to find.
GR_MUST_USE gr_status gr_mpi_hide_names(void);
void gr_mpi_show_names(void);
void gr_mpi_report_abort(gr_mpi *);    // other machines' ranks what has become of this one, once
void gr_mpi_poll_aborts(gr_shared *);  // what they have told
#endif
