// rank.c - what a rank reads from and writes to the launch state. See state.h.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/base.h"
#include "base/terminal.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

gr_launch_state *gr_launch_state_own(int *out_file) {
  static gr_launch_state *mapped;
  static int file = -1;
  static bool tried;
  const char *path = getenv(GR_LAUNCH_STATE_ENV);
  if (out_file) *out_file = file;
  if (tried || !path) return mapped;
  tried = true;
  struct stat st;
  file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return NULL;  // the launcher is on another machine
  if (!fstat(file, &st) && st.st_size >= (off_t)gr_launch_state_bytes(1)) {
    gr_launch_state *b =
        mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (b != MAP_FAILED && b->magic == GR_LAUNCH_STATE_MAGIC &&
        (off_t)gr_launch_state_bytes(b->ranks) <= st.st_size)
      mapped = b;
  }
  if (out_file) *out_file = file;
  return mapped;
}

static gr_launch_state *launch_state(void) { return gr_launch_state_own(NULL); }

gr_launch_rank_state *gr_launch_state_of_rank(int rank) {
  gr_launch_state *b = launch_state();
  return b && rank >= 0 && rank < b->ranks ? &b->rank[rank] : NULL;
}

bool gr_launch_own(void) { return launch_state() != NULL; }

void gr_launch_set_resume_hint(const char *how) {
  gr_launch_state *b = launch_state();
  if (b) snprintf(b->resume_hint, sizeof b->resume_hint, "%s", how);
}

void gr_launch_set_log(const char *path) {
  gr_launch_state *b = launch_state();
  if (b) snprintf(b->log, sizeof b->log, "%s", path);
}

// Writes the text of an error to the launch state; false: it could not be written.
static bool hand_over(gr_launch_rank_state *me, gr_status s) {
  FILE *f = fmemopen(me->text, sizeof me->text, "w");
  if (!f) return false;
  gr_status_print(f, s);
  bool ok = !fclose(f) || *me->text;
  me->text[sizeof me->text - 1] = 0;
  return ok;
}

int gr_launch_report_exit(int rank, gr_status s) {
  int code = gr_status_exit(s);
  gr_launch_rank_state *me = gr_launch_state_of_rank(rank);
  bool orphaned = gr_launch_orphaned(), stopped = gr_status_code(s) == GR_ERR_STOPPED;
  bool echo = gr_status_code(s) == GR_ERR_RANK || (orphaned && stopped);
  if (me) me->code = (int)gr_status_code(s), me->exit = code;
  bool handed = me && s && !orphaned && hand_over(me, s);
  bool speaks = rank == 0 || (rank == 1 && !me && echo && gr_status_dead_rank(s) == 0);
  if (s && !handed && (!echo || speaks)) gr_status_print(stderr, s);
  if (me) atomic_store(&me->state, s ? GR_LAUNCH_RANK_FAILED : GR_LAUNCH_RANK_DONE);
  if (me && orphaned && s && !stopped)
    gr_launch_state_kill_others(launch_state(), rank);  // without a launcher, no other process does
  gr_status_drop(s);
  return code;
}

bool gr_launch_terminal(void) {
  const gr_launch_state *b = launch_state();
  return b ? b->terminal : gr_terminal_is_live(STDERR_FILENO);
}

gr_work_shown gr_launch_work_shown(void) {
  return gr_launch_terminal() ? GR_WORK_TERMINAL : GR_WORK_LINES;
}

void gr_launch_use_terminal(void) {
  const gr_launch_state *b = launch_state();
  char path[64];
  if (!b || !b->terminal) return;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", b->launcher, STDERR_FILENO);
  gr_log_terminal(open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}
