// begin.c - supervises MPI_Init, which waits for all ranks without a timeout, ignores signals, and
// on failure prints pages of its own and ends the process.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "base/thread.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

enum { IDLE, WAITING, STARTED, GIVEN_UP };
static const double stop_grace_s = 2;  // how long MPI_Init may continue after a request to stop

static struct watch {
  atomic_int state;
  int rank;
  double seconds;
  bool (*stop)(void);
} watch;

// ---- The end of the process ---------------------------------------------------------------------

// The message in Open MPI's output: its first line that is neither a rule nor a source location.
static void first_line(char *text, char *out, size_t size) {
  *out = 0;
  for (char *line = strtok(text, "\n"); line && !*out; line = strtok(NULL, "\n"))
    if (line[strspn(line, "- ")] && *line != '[') snprintf(out, size, "%s", line);
}

static void could_not_start(void) {
  char text[4096], line[200];
  int waiting = WAITING;
  if (!atomic_compare_exchange_strong(&watch.state, &waiting, GIVEN_UP)) return;
  int file = gr_launch_state_restore_stderr();
  ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
  text[n > 0 ? n : 0] = 0;
  first_line(text, line, sizeof line);
  gr_status s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "MPI could not start in this process%s%s",
                        *line ? ": " : "", line);
  if (gr_launch_own())
    s = gr_hint(s,
                "another rank may have ended while it started, or there is not enough memory; if "
                "neither, try `mpirun -n 2 hostname`");
  else
    s = gr_hint(
        s,
        "start graphrun alone, which starts its ranks itself, or with the mpirun of the MPI "
        "that it was built with, or with srun --mpi=pmix. Variables that another job has "
        "left (PMI_*, PMIX_*, SLURM_*, OMPI_*) look like a launcher's");
  syscall(SYS_exit_group, gr_launch_report_exit(watch.rank, s));
}

// Replaces libc's _exit, which MPI calls when it cannot start, so that no atexit handler runs.
void _exit(int code) {
  could_not_start();
  while (true) syscall(SYS_exit_group, code);
}

// ---- Waiting ------------------------------------------------------------------------------------

static void give_up(gr_status s) {
  int waiting = WAITING;
  if (atomic_compare_exchange_strong(&watch.state, &waiting, GIVEN_UP)) {
    gr_launch_state_flush_stderr();
    _exit(gr_launch_report_exit(watch.rank, s));
  }
  gr_status_drop(s);
}

static void *supervise(void *unused) {
  double begun = gr_seconds(), stopped = 0;
  while (atomic_load(&watch.state) == WAITING) {
    double now = gr_seconds();
    if (stopped <= 0 && watch.stop()) stopped = now;
    if (stopped > 0 && now - stopped > stop_grace_s)
      give_up(gr_hint(
          gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal before all ranks had started"),
          "existing checkpoints are unchanged"));
    if (now - begun > watch.seconds)
      give_up(gr_hint(
          gr_fail(GR_ERR_HANG, GR_NOWHERE, "MPI did not start all ranks within %g s",
                  watch.seconds),
          "a rank may have died while it started; distributed.timeout sets how long to wait"));
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  }
  return unused;
}

void gr_launch_watch_startup(int rank, double seconds, bool (*stop)(void)) {
  pthread_t thread;
  watch.rank = rank, watch.seconds = seconds, watch.stop = stop;
  gr_launch_state_set_grace_period(seconds);
  gr_launch_state_hold_stderr();
  atexit(could_not_start);
  atomic_store(&watch.state, WAITING);
  if (!gr_thread_start(&thread, supervise, NULL)) pthread_detach(thread);
}

void gr_launch_startup_done(void) {
  int waiting = WAITING;
  if (!atomic_compare_exchange_strong(&watch.state, &waiting, STARTED)) pause();  // it ends us
  gr_launch_state_flush_stderr();
}
