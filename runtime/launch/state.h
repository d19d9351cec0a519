// state.h - the launch state: a small file that the launcher and its ranks on one machine map to
// exchange process numbers, phases and errors. Its path is in the ranks' environment.
#pragma once
#include <limits.h>
#include "base/events.h"
#include "base/status.h"

// Environment variable with the file's path, which is in the launcher's folder (dir.h).
#define GR_LAUNCH_STATE_ENV "GRAPHRUN_LAUNCHER"
enum {
  GR_LAUNCH_STATE_MAGIC = 0x67726278,
  GR_LAUNCH_STATE_TEXT = 16384,
  GR_LAUNCH_STATE_EXIT = -1
};

typedef enum gr_launch_rank_phase {
  GR_LAUNCH_RANK_ABSENT,
  GR_LAUNCH_RANK_RUNS,
  GR_LAUNCH_RANK_DONE,
  GR_LAUNCH_RANK_FAILED
} gr_launch_rank_phase;
typedef struct gr_launch_rank_state {
  _Atomic int state,
      pid;  // state: a gr_launch_rank_phase; `code`, `exit`, `text` are set before it
  // The signal that ended the process; GR_LAUNCH_STATE_EXIT: exit() was called. 0 with a dead
  // process means SIGKILL, which cannot be recorded.
  _Atomic int signal;
  int code;  // of a failed rank: gr_code
  int exit;
  char text[GR_LAUNCH_STATE_TEXT];  // of a failed rank: the error as it is to be printed
  gr_events events;
} gr_launch_rank_state;

typedef struct gr_launch_state {
  int magic, ranks, terminal;  // terminal: the launcher's standard error is a terminal
  int launcher;                // process number of the launcher
  _Atomic int mpirun;          // process number of the ranks' parent; 0: not started yet
  int locked;                  // the launcher holds a lock on this file while it lives (dir.h)
  char host[64];               // the launcher's machine
  char resume_hint[PATH_MAX + 128];  // how to continue when a rank has died
  char log[PATH_MAX];  // the run's log file, for what no rank could write to it; or ""
  gr_launch_rank_state rank[];
} gr_launch_state;

// The launch state of this rank's launcher, mapped on the first call and never unmapped; NULL: this
// process was not started by graphrun's launcher. out_file (may be NULL): the file, which stays
// open.
gr_launch_state *gr_launch_state_own(int *out_file);
// Starts the thread that checks every 0.1 s whether the launcher lives. Once it is gone,
// gr_launch_orphaned returns true, and after the grace period the remaining ranks are killed.
void gr_launch_state_watch_launcher(gr_launch_state *, int file, int rank);
// The same for a rank that another launcher has started. variable: the one with its number; NULL:
// no launcher has set it, and none is watched.
void gr_launch_state_watch_parent(const char *variable, int rank);
// Shortens the grace period (initially 60 s); a longer one is ignored.
void gr_launch_state_set_grace_period(double seconds);
// The process number of rank r while it is registered as running and its process lives; else 0.
int gr_launch_state_rank_pid(gr_launch_state *, int r);
// Appends a line for each rank: what it did last, and for how long, until a time of gr_seconds.
void gr_launch_state_put_events(FILE *, const gr_launch_state *, double until);
// Appends a text to the run's log, unless the log has its first line near its end already.
GR_MUST_USE gr_status gr_launch_state_append_log(const char *path, const char *text);
// The rank that the launcher sees stopped by a signal, for how long so far; zeros at first.
typedef struct gr_launch_stopped {
  int pid;
  double looked, seconds;
} gr_launch_stopped;
// To be called several times a second. Ends a rank that a signal has stopped for so many seconds
// (0: never) while another one of this machine runs or has ended: its record is then an error of
// GR_ERR_HANG. Time in which this process did not run itself does not count.
void gr_launch_state_end_stopped(gr_launch_state *, gr_launch_stopped *, double seconds);
// Sends SIGKILL to all running ranks except `except` (-1: to all).
void gr_launch_state_kill_ranks(gr_launch_state *, int except);
// For a rank without a launcher: kills the other ranks, and mpirun, which would wait a minute.
void gr_launch_state_kill_others(gr_launch_state *, int rank);
// The part of this rank in its launcher's state; NULL: it has no launcher.
gr_launch_rank_state *gr_launch_state_of_rank(int rank);
void gr_launch_state_set_orphaned(void);  // from now on gr_launch_orphaned returns true

// Holds standard error back while MPI starts (held.c), until one of the two functions below is
// called. Both are async-signal-safe, and do nothing when it is not held back.
void gr_launch_state_hold_stderr(void);
// Gives stderr back to the terminal. Returns the file of what was written in the meantime, at its
// begin, which the caller closes; -1: nothing was held back.
int gr_launch_state_restore_stderr(void);
// The same, and prints what the file has.
void gr_launch_state_flush_stderr(void);
// Sets the environment of a child process that is about to exec mpirun. The paths are those of
// gr_launch_dir.
void gr_launch_state_set_environment(const char *folder, const char *launch_state);

// Whether mpirun has been given no other machine, by a batch system or the user's variables.
bool gr_launch_state_all_local(void);

// Installs handlers that record which signal ends this process and then let it end.
void gr_launch_state_record_signals(gr_launch_rank_state *);
const char *gr_launch_state_signal_name(int number);  // "SIGSEGV"

// Size of the file for so many ranks.
static inline size_t gr_launch_state_bytes(int ranks) {
  return sizeof(gr_launch_state) + sizeof(gr_launch_rank_state) * (size_t)ranks;
}
