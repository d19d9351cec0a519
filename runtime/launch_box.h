// launch_box.h - what ranks and their launcher tell each other: a small file that all of one
// machine map. Its path is in the ranks' environment.
#pragma once
#include <stdatomic.h>
#include "base/status.h"

#define GR_BOX_ENV "GRAPHRUN_LAUNCHER"
enum { GR_BOX_MAGIC = 0x67726278, GR_BOX_TEXT = 8192, GR_BOX_EXIT = -1 };

typedef enum gr_box_state { GR_BOX_ABSENT, GR_BOX_RUNS, GR_BOX_DONE, GR_BOX_FAILED } gr_box_state;
typedef struct gr_box_rank {
  _Atomic int state, pid;
  _Atomic int signal;  // that ends it; GR_BOX_EXIT: exit() was called. SIGKILL leaves no word
  int code;  // once failed: gr_code
  int exit;
  char text[GR_BOX_TEXT];  // once failed: all that is to be printed
} gr_box_rank;

typedef struct gr_box {
  int magic, ranks, terminal;  // terminal: the user sees standard error on one
  int launcher;                // its process
  char go_on[512];             // what to tell the user when a rank has died
  gr_box_rank rank[];
} gr_box;

// Leaves in the box which signal ends this process, then lets it.
void gr_box_watch(gr_box_rank *);
const char *gr_box_signal_name(int number);  // "SIGSEGV"

static inline size_t gr_box_bytes(int ranks) {
  return sizeof(gr_box) + sizeof(gr_box_rank) * (size_t)ranks;
}
