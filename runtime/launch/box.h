// box.h - what ranks and their launcher tell each other: a small file that all of one
// machine map. Its path is in the ranks' environment.
#pragma once
#include <stdatomic.h>
#include "base/status.h"

// The file's path, for ranks. It is in the launcher's folder (dir.h).
#define GR_BOX_ENV "GRAPHRUN_LAUNCHER"
enum { GR_BOX_MAGIC = 0x67726278, GR_BOX_TEXT = 8192, GR_BOX_EXIT = -1 };

typedef enum gr_box_state { GR_BOX_ABSENT, GR_BOX_RUNS, GR_BOX_DONE, GR_BOX_FAILED } gr_box_state;
typedef struct gr_box_rank {
  _Atomic int state, pid;
  _Atomic int signal;  // that ends it; GR_BOX_EXIT: exit() was called. SIGKILL leaves no word
  int code;            // once failed: gr_code
  int exit;
  char text[GR_BOX_TEXT];  // once failed: all that is to be printed
} gr_box_rank;

typedef struct gr_box {
  int magic, ranks, terminal;  // terminal: the user sees standard error on one
  int launcher;                // its process
  _Atomic int mpirun;          // the ranks' parent, on the launcher's machine; 0: not started yet
  int locked;                  // whether it holds a lock on the box while it lives (dir.h)
  char host[64];               // its machine
  char go_on[512];             // what to tell the user when a rank has died
  gr_box_rank rank[];
} gr_box;

// The box of this rank, mapped at the first use and for good, and the file, which stays open; NULL:
// there is none.
gr_box *gr_box_own(int *out_file);
// Starts the thread that looks whether the launcher is there. Once it is gone gr_launch_orphaned is
// true, and the ranks have so long to save and end; then all that are left are killed.
void gr_box_look(gr_box *, int file, int rank);
void gr_box_patience(double seconds);
void gr_box_kill_ranks(gr_box *, int but);  // that still run, by SIGKILL, except `but` (-1: none)
// The same and mpirun, which would wait for a minute: of a rank whose launcher is gone.
void gr_box_kill_others(gr_box *, int rank);
// While MPI starts, standard error is kept back (begin.c): shows what there is, and goes on
// without. Async-signal-safe.
void gr_box_show_kept(void);
// What a child needs that is to become mpirun; folder and box: of dir.h.
void gr_box_set_environment(const char *folder, const char *box);

// Leaves in the box which signal ends this process, then lets it.
void gr_box_watch(gr_box_rank *);
const char *gr_box_signal_name(int number);  // "SIGSEGV"

static inline size_t gr_box_bytes(int ranks) {
  return sizeof(gr_box) + sizeof(gr_box_rank) * (size_t)ranks;
}
