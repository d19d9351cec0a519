// mpi_parts.h - declarations shared by mpi.c (opening, closing), mpi_remote.c (between machines)
// and mpi_names.c.
#pragma once
#include "runtime/comm/machines.h"
#include "runtime/comm/regions.h"

#if GR_HAVE_MPI
#include <mpi.h>

typedef struct gr_mpi gr_mpi;
struct gr_mpi {
  gr_comm base;
  gr_shared node;  // the members on this machine
  gr_mpi *world;
  MPI_Comm all, local;  // all members; those on this machine
  MPI_Comm leaders;     // the first member of each machine; MPI_COMM_NULL on the others
  MPI_Comm wire;        // of the world: failures are reported to other machines on it
  void *block;          // node's shared memory
  size_t block_bytes;
  int world_rank, machines;
  gr_machines far;             // with several machines
  gr_allocation *allocations;  // of the world: newest first
  bool oversubscribed, abort_reported, finalize;
};

// GR_ERR_LAUNCH with MPI's text for `code`. what: the call that failed.
static inline gr_status gr_mpi_failed(int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int len;
  MPI_Error_string(code, text, &len);
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s failed: %s", what, text);
}
#define MPI_TRY(call)                                             \
  do {                                                            \
    int code_ = (call);                                           \
    if (code_ != MPI_SUCCESS) return gr_mpi_failed(code_, #call); \
  } while (0)

extern const gr_machines_link gr_mpi_link;  // between the machines of a gr_mpi
// Open MPI keeps a file per rank in /dev/shm or in the launcher's folder, and removes it in
// MPI_Finalize; a rank that is killed would leave its file behind. Once all ranks of a machine have
// mapped the files, the names are not needed: gr_mpi_hide_names (collective over the world) unlinks
// them and gr_mpi_show_names puts empty files back for MPI_Finalize to remove.
GR_MUST_USE gr_status gr_mpi_hide_names(void);
// Puts the files of Open MPI back that gr_mpi_hide_names removed, and forgets them.
void gr_mpi_show_names(void);
// Sends the recorded failure to the ranks of other machines, once. Does nothing without a failure.
void gr_mpi_report_abort(gr_mpi *);
// Records a failure that another machine has sent, if there is one. Does not block.
void gr_mpi_poll_aborts(gr_shared *);
#endif
