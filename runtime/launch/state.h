// state.h - what ranks and their launcher tell each other: a small file that all of one
// machine map. Its path is in the ranks' environment.
#pragma once
#include <stdatomic.h>
#include "base/status.h"

// The file's path, for ranks. It is in the launcher's folder (dir.h).
#define GR_LAUNCH_STATE_ENV "GRAPHRUN_LAUNCHER"
enum { GR_LAUNCH_STATE_MAGIC = 0x67726278, GR_LAUNCH_STATE_TEXT = 8192, GR_LAUNCH_STATE_EXIT = -1 };

typedef enum gr_launch_rank_phase {
  GR_LAUNCH_RANK_ABSENT,
  GR_LAUNCH_RANK_RUNS,
  GR_LAUNCH_RANK_DONE,
  GR_LAUNCH_RANK_FAILED
} gr_launch_rank_phase;
typedef struct gr_launch_rank_state {
  _Atomic int state, pid;
  _Atomic int
      signal;  // that ends it; GR_LAUNCH_STATE_EXIT: exit() was called. SIGKILL leaves no word
  int code;    // once failed: gr_code
  int exit;
  char text[GR_LAUNCH_STATE_TEXT];  // once failed: all that is to be printed
} gr_launch_rank_state;

typedef struct gr_launch_state {
  int magic, ranks, terminal;  // terminal: the user sees standard error on one
  int launcher;                // its process
  _Atomic int mpirun;          // the ranks' parent, on the launcher's machine; 0: not started yet
  int locked;                  // whether it holds a lock on the box while it lives (dir.h)
  char host[64];               // its machine
  char go_on[512];             // what to tell the user when a rank has died
  gr_launch_rank_state rank[];
} gr_launch_state;

// The box of this rank, mapped at the first use and for good, and the file, which stays open; NULL:
// there is none.
gr_launch_state *gr_launch_state_own(int *out_file);
// Starts the thread that looks whether the launcher is there. Once it is gone gr_launch_orphaned is
// true, and the ranks have so long to save and end; then all that are left are killed.
void gr_launch_state_watch_launcher(gr_launch_state *, int file, int rank);
void gr_launch_state_set_grace_period(double seconds);
void gr_launch_state_kill_ranks(gr_launch_state *,
                                int but);  // that still run, by SIGKILL, except `but` (-1: none)
// The same and mpirun, which would wait for a minute: of a rank whose launcher is gone.
void gr_launch_state_kill_others(gr_launch_state *, int rank);
// While MPI starts, standard error is kept back (begin.c): shows what there is, and goes on
// without. Async-signal-safe.
void gr_launch_state_flush_stderr(void);
// What a child needs that is to become mpirun; folder and box: of dir.h.
void gr_launch_state_set_environment(const char *folder, const char *launch_state);

// Leaves in the box which signal ends this process, then lets it.
void gr_launch_state_record_signals(gr_launch_rank_state *);
const char *gr_launch_state_signal_name(int number);  // "SIGSEGV"

static inline size_t gr_launch_state_bytes(int ranks) {
  return sizeof(gr_launch_state) + sizeof(gr_launch_rank_state) * (size_t)ranks;
}
