// watch.c - ensures that ranks do not outlive their launcher, nor each other. See state.h.
//
// mpirun is between graphrun's launcher and the ranks and closes inherited files, so a pipe cannot
// be used to notice the launcher's death. The lock on the launch state file can: the system
// releases it when the launcher ends. Of other launchers the process is watched (parent.h). A
// thread of its own checks it every 0.1 s, so that the check also runs while a rank waits for
// others, reads data or compiles; and so it does for the deaths of other ranks.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "base/thread.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/parent.h"
#include "runtime/launch/state.h"

// Seconds in which a rank ends by itself after another one has died, unless it is in a long
// computation. graphrun's launcher gives as many.
static const double after_death = 2.5;

static struct watch {
  gr_launch_state *launch_state;  // NULL: graphrun's launcher has not started this rank
  int file, rank;
  atomic_int grace_s;
  pthread_mutex_t lock;  // of the following
  gr_launch_find_death *find_death;
  void *world;
} watch = {.grace_s = 60, .lock = PTHREAD_MUTEX_INITIALIZER};

void gr_launch_state_set_grace_period(double seconds) {
  if (seconds < atomic_load(&watch.grace_s)) atomic_store(&watch.grace_s, (int)seconds + 1);
}

static bool launcher_is_gone(void) {
  if (!watch.launch_state) return gr_launch_parent_is_gone();
  // A lock that is obtained is kept: it marks the folder as in use (dir.h).
  if (watch.launch_state->locked) return !flock(watch.file, LOCK_SH | LOCK_NB);
  return kill(watch.launch_state->launcher, 0) && errno == ESRCH;
}

// Ends this rank for another one that has been dead for so long.
static void check_peers(double now, double *dead_since) {
  pthread_mutex_lock(&watch.lock);
  gr_status death = watch.find_death ? watch.find_death(watch.world) : GR_OK;
  if (!death)
    *dead_since = 0;
  else if (*dead_since <= 0)
    *dead_since = now;
  if (death && now - *dead_since > after_death) _exit(gr_launch_report_exit(watch.rank, death));
  gr_status_drop(death);
  pthread_mutex_unlock(&watch.lock);
}

static void *keep_watch(void *unused) {
  double orphaned_at = 0, dead_since = 0;
  while (true) {
    double now = gr_seconds();
    if (orphaned_at <= 0 && launcher_is_gone()) {
      orphaned_at = now;
      gr_launch_state_set_orphaned();
      gr_stop_request();
    }
    if (orphaned_at > 0 && now - orphaned_at > atomic_load(&watch.grace_s)) {
      if (watch.launch_state) gr_launch_state_kill_others(watch.launch_state, watch.rank);
      kill(getpid(), SIGKILL);
    }
    check_peers(now, &dead_since);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  return unused;
}

static void start_thread(void) {
  pthread_t thread;
  if (!gr_thread_start(&thread, keep_watch, NULL)) pthread_detach(thread);
}

void gr_launch_state_watch_launcher(gr_launch_state *b, int file, int rank) {
  watch.launch_state = b, watch.file = file, watch.rank = rank;
  start_thread();
}

void gr_launch_state_watch_parent(const char *variable, int rank) {
  watch.rank = rank;
  if (variable) gr_launch_parent_watch(variable);
  start_thread();
}

void gr_launch_watch_peers(gr_launch_find_death *find, void *world) {
  pthread_mutex_lock(&watch.lock);
  watch.find_death = find, watch.world = world;
  pthread_mutex_unlock(&watch.lock);
}
