// others.c - what a rank knows of its launcher's end, and does to the other ranks then. See
// state.h.
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/base.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

static atomic_bool orphaned;

bool gr_launch_orphaned(void) { return atomic_load(&orphaned); }
void gr_launch_state_set_orphaned(void) { atomic_store(&orphaned, true); }

int gr_launch_state_rank_pid(gr_launch_state *b, int r) {
  int pid = atomic_load(&b->rank[r].pid);
  bool runs = atomic_load(&b->rank[r].state) == GR_LAUNCH_RANK_RUNS;
  return runs && gr_process_state(pid) ? pid : 0;
}

void gr_launch_state_kill_ranks(gr_launch_state *b, int except) {
  for (int r = 0; r < b->ranks; r++) {
    int pid = gr_launch_state_rank_pid(b, r);
    if (pid && r != except) kill(pid, SIGKILL);
  }
}

void gr_launch_state_kill_others(gr_launch_state *b, int rank) {
  int parent = atomic_load(&b->mpirun);
  gr_launch_state_kill_ranks(b, rank);
  if (parent > 1 && (int)getppid() == parent) kill(parent, SIGKILL);
}
