// stopped.c - ends a rank that a signal has stopped and no other rank looks at. See state.h.
//
// Ranks find that themselves as long as they run beside it (runtime/comm). They no longer do as
// they end, and mpirun would wait for the stopped one without end.
#include <signal.h>
#include <stdio.h>
#include "base/base.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

static const double longest_s = 0.5;  // that counts of the time between two calls

// A rank that is stopped beside one that is not; -1: there is none. All of them are stopped where
// the whole job is, which goes on later.
static int find_stopped(gr_launch_state *b, int *out_pid) {
  int found = -1;
  bool others = false;
  for (int r = 0; r < b->ranks; r++) {
    int pid = gr_launch_state_rank_pid(b, r);
    bool stopped = pid && gr_process_state(pid) == 'T';
    others |= !stopped && atomic_load(&b->rank[r].state) != GR_LAUNCH_RANK_ABSENT;
    if (stopped && found < 0) found = r, *out_pid = pid;
  }
  return others ? found : -1;
}

static void end_rank(gr_launch_state *b, int r, int pid, double seconds) {
  gr_launch_rank_state *me = &b->rank[r];
  int runs = GR_LAUNCH_RANK_RUNS;
  me->code = GR_ERR_HANG, me->exit = gr_code_exit(GR_ERR_HANG);
  snprintf(me->text, sizeof me->text,
           "hang error: rank %d has shown no sign of life for %g s: its process %d is stopped by a "
           "signal\n",
           r, seconds, pid);
  if (atomic_compare_exchange_strong(&me->state, &runs, GR_LAUNCH_RANK_FAILED)) kill(pid, SIGKILL);
}

void gr_launch_state_end_stopped(gr_launch_state *b, gr_launch_stopped *s, double seconds) {
  int pid = 0, r = find_stopped(b, &pid);
  double now = gr_seconds(), passed = now - s->looked;
  bool same = pid && pid == s->pid;
  s->seconds = same ? s->seconds + (passed < longest_s ? passed : longest_s) : 0;
  s->pid = r < 0 ? 0 : pid, s->looked = now;
  if (r >= 0 && seconds > 0 && s->seconds > seconds) end_rank(b, r, pid, seconds);
}
