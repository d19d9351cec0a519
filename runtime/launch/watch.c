// watch.c - ensures that ranks do not outlive their launcher. See state.h.
//
// mpirun is between the launcher and the ranks and closes inherited files, so a pipe cannot be used
// to notice the launcher's death. The lock on the launch state file can: the system releases it
// when the launcher ends. A thread of its own checks it every 0.1 s, so that the check also runs
// while a rank waits for others, reads data or compiles.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

static struct watch {
  gr_launch_state *launch_state;
  int file, rank;
  atomic_bool orphaned;
  atomic_int grace_s;
} watch = {.grace_s = 60};

bool gr_launch_orphaned(void) { return atomic_load(&watch.orphaned); }
void gr_launch_state_set_grace_period(double seconds) {
  if (seconds < atomic_load(&watch.grace_s)) atomic_store(&watch.grace_s, (int)seconds + 1);
}

static bool launcher_is_gone(void) {
  // A lock that is obtained is kept: it marks the folder as in use (dir.h).
  if (watch.launch_state->locked) return !flock(watch.file, LOCK_SH | LOCK_NB);
  return kill(watch.launch_state->launcher, 0) && errno == ESRCH;
}

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

static void *watch_launcher(void *unused) {
  double orphaned_at = 0;
  while (true) {
    double now = gr_seconds();
    if (orphaned_at <= 0 && launcher_is_gone()) {
      orphaned_at = now;
      atomic_store(&watch.orphaned, true);
    }
    if (orphaned_at > 0 && now - orphaned_at > atomic_load(&watch.grace_s)) {
      gr_launch_state_kill_others(watch.launch_state, watch.rank);
      kill(getpid(), SIGKILL);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  return unused;
}

void gr_launch_state_watch_launcher(gr_launch_state *b, int file, int rank) {
  pthread_t thread;
  sigset_t all, before;
  watch.launch_state = b, watch.file = file, watch.rank = rank;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (!pthread_create(&thread, NULL, watch_launcher, NULL)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
