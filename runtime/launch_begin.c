// launch_begin.c - while MPI brings the ranks up, which waits for all of them and hears of nothing.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "runtime/launch.h"

enum { WAITING, BEGUN, GIVEN_UP };
static const double patience = 2;  // seconds for ranks that are to stop anyway

static struct watch {
  atomic_int state;
  int rank;
  double seconds;
  bool (*stop)(void);
} watch;

static void give_up(gr_status s) {
  int waiting = WAITING;
  if (atomic_compare_exchange_strong(&watch.state, &waiting, GIVEN_UP))
    _exit(gr_launch_leave(watch.rank, s));
  gr_status_drop(s);
}

static void *look(void *unused) {
  double begun = gr_seconds(), told = 0;
  while (atomic_load(&watch.state) == WAITING) {
    double now = gr_seconds();
    if (told <= 0 && watch.stop()) told = now;
    if (told > 0 && now - told > patience)
      give_up(gr_hint(
          gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal before all ranks had begun"),
          "older checkpoints are as they were"));
    if (now - begun > watch.seconds)
      give_up(gr_hint(
          gr_fail(GR_ERR_HANG, GR_NOWHERE, "MPI did not bring up all ranks within %g s",
                  watch.seconds),
          "one may have died while it started; distributed.timeout is how long others wait"));
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  }
  return unused;
}

void gr_launch_begin(int rank, double seconds, bool (*stop)(void)) {
  pthread_t thread;
  sigset_t all, before;
  watch.rank = rank, watch.seconds = seconds, watch.stop = stop;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (!pthread_create(&thread, NULL, look, NULL)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gr_launch_begun(void) {
  int waiting = WAITING;
  if (!atomic_compare_exchange_strong(&watch.state, &waiting, BEGUN)) pause();  // it ends us
}
