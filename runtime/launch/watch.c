// watch.c - ranks do not outlive their launcher, whatever it died of. See state.h.
//
// mpirun lies between the two, and closes every file that its children do not need, so that no pipe
// reaches them. The lock on the box does: the system gives it up for the launcher when that dies.
// What is asked every tenth of a second by a thread of its own is asked also while a rank waits for
// others, reads, or compiles.
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
  atomic_int patience;  // seconds
} watch = {.patience = 60};

bool gr_launch_orphaned(void) { return atomic_load(&watch.orphaned); }
void gr_launch_state_set_grace_period(double seconds) {
  if (seconds < atomic_load(&watch.patience)) atomic_store(&watch.patience, (int)seconds + 1);
}

static bool is_alone(void) {
  if (watch.launch_state->locked) return !flock(watch.file, LOCK_SH | LOCK_NB);  // kept: see dir.h
  return kill(watch.launch_state->launcher, 0) && errno == ESRCH;
}

void gr_launch_state_kill_ranks(gr_launch_state *b, int but) {
  for (int r = 0; r < b->ranks; r++) {
    int pid = atomic_load(&b->rank[r].pid);
    if (r != but && atomic_load(&b->rank[r].state) == GR_LAUNCH_RANK_RUNS && gr_process_state(pid))
      kill(pid, SIGKILL);
  }
}

void gr_launch_state_kill_others(gr_launch_state *b, int rank) {
  int parent = atomic_load(&b->mpirun);
  gr_launch_state_kill_ranks(b, rank);
  if (parent > 1 && (int)getppid() == parent) kill(parent, SIGKILL);
}

static void *look(void *unused) {
  double alone = 0;
  while (true) {
    double now = gr_seconds();
    if (alone <= 0 && is_alone()) {
      alone = now;
      atomic_store(&watch.orphaned, true);
    }
    if (alone > 0 && now - alone > atomic_load(&watch.patience)) {
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
  if (!pthread_create(&thread, NULL, look, NULL)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
