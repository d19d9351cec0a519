// launch.h - finds out how this process was started, and starts ranks.
//
// graphrun starts its own ranks: the process that the user runs becomes the launcher, runs
// `mpirun -n N` with its own command line, forwards signals, and returns the exit code of the rank
// that caused the end. Ranks hand their errors to the launcher instead of printing them, so that
// the cause is printed once and last.
#pragma once
#include <limits.h>
#include "base/work.h"

typedef enum gr_launch_kind {
  GR_LAUNCH_ALONE,   // one rank: this process
  GR_LAUNCH_RANK,    // this process is one of several ranks: call gr_mpi_open or gr_tcp_open
  GR_LAUNCH_START,   // several ranks are requested and mpirun is available: call gr_launch_run
  GR_LAUNCH_NO_MPI,  // several ranks are requested; without MPI they can only be threads
} gr_launch_kind;

typedef struct gr_launch_plan {
  gr_launch_kind kind;
  int ranks;               // in all
  int rank;                // of this process, from the launcher's environment; -1: not known
  bool mpi;                // whether MPI connects the ranks; else the store does (rendezvous.h)
  const char *started_by;  // what started the ranks: "mpirun", "srun", "torchrun"; NULL: nothing
  char why[256];           // one line for the user: why so many ranks, and what is missing
  char mpirun[512];        // path of mpirun; "": not found
  double heartbeat_s;      // how long a signal may stop a rank of several; 0: no limit
} gr_launch_plan;

// ranks: requested number, or 0 for auto: one per device; with 0 devices, on CPUs, 2 on more than
// one processor. Fails with GR_ERR_LAUNCH when ranks were started in a way that cannot work, or
// when their number is not the requested one.
GR_MUST_USE gr_status gr_launch_find(int ranks, int devices, gr_launch_plan *out);

// How ranks that the launcher has started ended.
typedef struct gr_launch_end {
  int exit;            // the exit code for this process
  bool asked;          // the user has asked them to stop
  char log[PATH_MAX];  // the run's log file, in the run's folder; "": it had none yet
} gr_launch_end;
// Starts mpirun with argv as a child and waits for the ranks. The returned status is the error that
// no rank could hand over, with out->exit as its exit code; all else has been printed.
GR_MUST_USE gr_status gr_launch_run(const gr_launch_plan *, char *const argv[], gr_launch_end *out);

// ---- In a rank --------------------------------------------------------------------
// How many ranks were started together with this one according to the environment; 0: not known.
// out_rank and out_by (the launcher's name) may be NULL.
int gr_launch_started(int *out_rank, const char **out_by);
bool gr_launch_own(void);  // whether graphrun's own launcher has started this rank
// Whether an error that every rank meets, before ranks can communicate, is reported by another
// process (the launcher or rank 0), so that this one should stay silent.
bool gr_launch_echo(void);
// Where the variable GRAPHRUN_WAIT_FOR_DEBUGGER is one of the ranks `rank` to rank + ranks - 1,
// which this process runs, or "all": prints the process number, and returns once a debugger has
// attached, or `stop` returns true. GR_ERR_LAUNCH: its value is neither.
GR_MUST_USE gr_status gr_launch_wait_for_debugger(int rank, int ranks, bool (*stop)(void));
// Whether it has found that variable set: ranks may then be stopped for as long as somebody looks.
bool gr_launch_debugged(void);
// Tells the launcher that this rank runs, and records from now on which signal ends it, so that the
// launcher knows which rank died and why. False: graphrun's launcher did not start this process.
// In any case it begins to watch the launcher (gr_launch_orphaned).
bool gr_launch_register_rank(int rank);
// Watches the other ranks of `world` from here on: `find` is called by another thread, ten times a
// second, and returns an error once a rank has died. If this process is still there 2.5 s later,
// for example in a long computation, it ends with that error. NULL: no longer.
typedef gr_status gr_launch_find_death(void *world);
// Has the watching thread look for ranks of `world` that have died by `find`; NULL: no longer.
void gr_launch_watch_peers(gr_launch_find_death *, void *world);
// Called before gr_mpi_open, which waits for all ranks, and gr_launch_startup_done after it. The
// process is ended with an error message when that takes more than `seconds`, two seconds after
// `stop` returns true, or when MPI cannot start. Standard error is held back meanwhile and printed
// once MPI has started.
void gr_launch_watch_startup(int rank, double seconds, bool (*stop)(void));
// Called after gr_mpi_open. Ends the watch over the start of this process, and prints what was held
// back of stderr. Does not return if the watch has just given up: it ends the process.
void gr_launch_startup_done(void);
// Sets what the launcher advises the user to do when a rank has died. Does nothing without one.
void gr_launch_set_resume_hint(const char *how);
// Names the run's log file, to which the launcher adds the error that ended the run, if rank 0
// could not. Does nothing without a launcher.
void gr_launch_set_log(const char *path);
// Whether this rank's launcher (graphrun's, torchrun, srun, mpirun) is gone (kill -9), which a
// thread notices within 0.1 s. Ranks should then save and end; those still running after the grace
// period (a minute) are killed. Ranks that were started by hand have no launcher.
bool gr_launch_orphaned(void);
// Hands a rank's final status to the launcher, which prints the one that is the cause. Without a
// launcher it is printed here, unless it only reports another rank's failure and this is not rank
// 0 (or rank 1, where rank 0 has died). Takes ownership of the status. Returns the exit code.
int gr_launch_report_exit(int rank, gr_status);
bool gr_launch_terminal(void);  // whether the user sees this rank's standard error on a terminal
// How long work of a command is shown: on that terminal, or as lines.
gr_work_shown gr_launch_work_shown(void);
// Measures progress lines by the launcher's terminal, if it has one. Called once.
void gr_launch_use_terminal(void);
