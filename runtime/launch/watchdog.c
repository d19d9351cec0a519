// watchdog.c - the process beside mpirun. See watchdog.h.
#define _GNU_SOURCE
#include "runtime/launch/watchdog.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"

// Seconds after the launcher's death. without_ranks: how long no rank may have run before mpirun
// gets SIGTERM. On SIGTERM mpirun waits a minute for ranks on other machines; without such it has
// only to clean up. with_ranks: when ranks that still run no longer count, because they kill
// themselves after a minute (watch.c).
static const double without_ranks = 10, with_ranks = 80, clean_up = 3, clean_up_elsewhere = 65;

// A rank that a signal has stopped does not count: nothing continues it but mpirun, on SIGTERM.
static bool any_rank_runs(gr_launch_state *s) {
  for (int r = 0; r < s->ranks; r++) {
    int pid = gr_launch_state_rank_pid(s, r);
    if (pid && gr_process_state(pid) != 'T') return true;
  }
  return false;
}

static void end_group(gr_launch_state *s, pid_t mpirun) {
  double died = gr_seconds(), idle = died;
  double last = gr_launch_state_all_local() ? clean_up : clean_up_elsewhere;
  for (bool told = false; gr_process_state(mpirun);) {
    double now = gr_seconds();
    if (!told && now - died < with_ranks && any_rank_runs(s)) idle = now;
    if (!told && now - idle >= without_ranks) told = !kill(0, SIGTERM), idle = now;
    if (told && now - idle >= last) kill(0, SIGKILL);  // this process, too
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
}

static void keep_watch(gr_launch_state *s, int lock, pid_t mpirun, int go, int life) {
  sigset_t all;
  char byte = 1;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);  // it ends with mpirun or by SIGKILL
  prctl(PR_SET_NAME, "graphrun-watch");
  close(lock);  // a lock is held as long as any copy of its file is open or mapped
  if (setpgid(0, mpirun) || write(go, &byte, 1) != 1) return;
  close(go);
  while (read(life, &byte, 1) < 0 && errno == EINTR) continue;
  end_group(s, mpirun);
}

bool gr_launch_watchdog_start(gr_launch_watchdog *w, gr_launch_state *s, int lock, pid_t mpirun,
                              int go) {
  int life[2];
  *w = (gr_launch_watchdog){.process = -1, .life = -1};
  if (pipe2(life, O_CLOEXEC)) return false;
  w->process = fork();
  if (w->process == 0) {
    close(life[1]);
    keep_watch(s, lock, mpirun, go, life[0]);
    _exit(0);
  }
  int error = errno;
  close(life[0]);
  if (w->process < 0)
    close(life[1]), errno = error;
  else
    w->life = life[1];
  return w->process > 0;
}

void gr_launch_watchdog_end(gr_launch_watchdog *w) {
  if (w->process <= 0) return;
  kill(w->process, SIGKILL);
  while (waitpid(w->process, NULL, 0) < 0 && errno == EINTR) continue;
  close(w->life);
}
