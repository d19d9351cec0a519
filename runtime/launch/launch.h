// launch.h - how this process came to be, and how more of it are started.
//
// graphrun starts its own ranks: the process the user called becomes the launcher, runs
// `mpirun -n N` on its own command line, passes signals on, and ends as the ranks ended. What a
// rank has to say at the end it leaves with the launcher, so that one message, the cause, is
// the last thing on the screen.
#pragma once
#include "base/status.h"

typedef enum gr_launch_kind {
  GR_LAUNCH_ALONE,   // one rank: this process
  GR_LAUNCH_RANK,    // this process is a rank already: call gr_mpi_open
  GR_LAUNCH_START,   // more ranks are wanted, and mpirun is there: call gr_launch_run
  GR_LAUNCH_NO_MPI,  // more ranks are wanted, but without MPI they can only be threads
} gr_launch_kind;

typedef struct gr_launch_plan {
  gr_launch_kind kind;
  int ranks;               // in all
  int rank;                // of this process, as the launcher's environment says; -1: not known
  const char *started_by;  // "mpirun", "srun", "torchrun": who started the ranks; NULL: nobody
  char why[256];           // how `ranks` came about, and what is missing: one line for the user
  char mpirun[512];        // its path; "" when there is none
} gr_launch_plan;

// ranks: wanted, or 0 for auto: one for each of `gpus`; without any, 2 on more than one processor.
// Fails with GR_ERR_LAUNCH where ranks were started in a way that cannot work (by torchrun: it
// starts processes that MPI knows nothing of), or as many as were not asked for.
GR_MUST_USE gr_status gr_launch_find(int ranks, int gpus, gr_launch_plan *out);

// Starts the ranks as a child, with the same arguments, and waits for them. out_exit: the exit
// code of this process; all that had to be said has been printed.
GR_MUST_USE gr_status gr_launch_run(const gr_launch_plan *, char *const argv[], int *out_exit);

// ---- In a rank --------------------------------------------------------------------
// How many ranks the environment says were started together with this one; 0: it says nothing.
// out_by (may be NULL): who did.
int gr_launch_started(int *out_rank, const char **out_by);
bool gr_launch_own(void);  // whether graphrun's own launcher has started this rank
// Whether another process says what every rank would, before ranks know each other: the launcher,
// or the first rank.
bool gr_launch_echo(void);
// Tells the launcher, if there is one, that this rank runs, and from then on what signal ends it:
// that is how it finds out who died, and why. False: there is none.
bool gr_launch_register_rank(int rank);
// Around gr_mpi_open, which waits for all ranks: ends this one, with a word why, when that takes so
// many seconds, or two after `stop` says so, or when MPI cannot start. What is printed meanwhile is
// shown once MPI has started.
void gr_launch_watch_startup(int rank, double seconds, bool (*stop)(void));
void gr_launch_startup_done(void);
void gr_launch_set_resume_hint(
    const char *how);  // what the launcher is to advise when a rank has died
// Whether the launcher was there and is gone (kill -9), as a thread of each rank finds out within a
// tenth of a second: ranks should save and end. Those that have not after a minute are killed.
bool gr_launch_orphaned(void);
// Leaves a rank's end with the launcher, which prints it if it is the cause. Takes the status over.
// Without a launcher it prints it itself, unless it is but the echo of another rank's failure
// and this is not rank 0. Returns the exit code.
int gr_launch_report_exit(int rank, gr_status);
bool gr_launch_terminal(void);  // whether the user sees this rank's standard error on a terminal
