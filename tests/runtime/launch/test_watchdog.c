// test_watchdog.c - the process beside mpirun: what it belongs to, and when it ends mpirun and
// itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/base.h"
#include "runtime/launch/watchdog.h"
#include "tests/check.h"

// A launcher's part: a process in place of mpirun, its watchdog, and the state of one rank.
typedef struct launched {
  gr_launch_state *state;
  gr_launch_watchdog watchdog;
  pid_t mpirun;
  double orphaned;  // when its launcher "died"
} launched;

static int status_of(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

// A process that does nothing. deaf: not even end at SIGTERM.
static pid_t sleeper(bool leads, bool deaf) {
  pid_t pid = fork();
  if (pid < 0) abort();
  if (pid) {
    if (leads) setpgid(pid, pid);
    return pid;
  }
  if (leads) setpgid(0, 0);
  signal(SIGTERM, deaf ? SIG_IGN : SIG_DFL);
  for (;;) pause();
}

static launched launch(bool deaf) {
  int go[2], lock[2];
  char byte = 0;
  launched l = {.mpirun = sleeper(true, deaf)};
  l.state = mmap(NULL, gr_launch_state_bytes(1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
  l.state->ranks = 1;
  if (pipe2(go, O_CLOEXEC) || pipe2(lock, O_CLOEXEC)) abort();
  CHECK(gr_launch_watchdog_start(&l.watchdog, l.state, lock[1], l.mpirun, go[1]), "%s",
        strerror(errno));
  CHECK(read(go[0], &byte, 1) == 1 && byte == 1, "mpirun is not told to go on");
  CHECK(getpgid(l.watchdog.process) == l.mpirun, "it is in another group than mpirun");
  close(lock[1]);
  CHECK(read(lock[0], &byte, 1) == 0, "it holds the lock on the state");
  close(go[0]), close(go[1]), close(lock[0]);
  return l;
}

// As the system does when the launcher is killed.
static void orphan(launched *l) {
  close(l->watchdog.life);
  l->orphaned = gr_seconds();
}

// The next one does not hold the pipe of this one open then.
static launched launch_orphan(bool deaf) {
  launched l = launch(deaf);
  orphan(&l);
  return l;
}

static void register_rank(launched *l, pid_t pid) {
  atomic_store(&l->state->rank[0].pid, pid);
  atomic_store(&l->state->rank[0].state, GR_LAUNCH_RANK_RUNS);
}

static void clear(launched *l) { munmap(l->state, gr_launch_state_bytes(1)); }

static void ends_with_its_launcher(void) {
  launched l = launch(false);
  int life = l.watchdog.life;
  gr_launch_watchdog_end(&l.watchdog);
  CHECK(waitpid(l.watchdog.process, NULL, 0) < 0 && errno == ECHILD, "it is left behind");
  CHECK(fcntl(life, F_GETFD) < 0, "its pipe is left open");
  CHECK(!waitpid(l.mpirun, NULL, WNOHANG), "mpirun has ended with it");
  kill(l.mpirun, SIGKILL), status_of(l.mpirun);
  gr_launch_watchdog_end(&(gr_launch_watchdog){.process = -1});  // one that was not started
  clear(&l);
}

// mpirun has 10 s in which a rank may still begin, and then one that hears ends by SIGTERM; one
// that does not, with the watchdog, by SIGKILL, 3 s later. One that ends by itself ends it, too.
static void ends_mpirun(void) {
  launched hears = launch_orphan(false), deaf = launch_orphan(true), ended = launch_orphan(false);
  kill(ended.mpirun, SIGUSR1), status_of(ended.mpirun);
  CHECK(!status_of(ended.watchdog.process), "it outlives an mpirun that has ended");
  int status = status_of(hears.mpirun);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "mpirun's status is %d", status);
  CHECK(gr_seconds() - hears.orphaned > 9.9, "%g s", gr_seconds() - hears.orphaned);
  CHECK(!status_of(hears.watchdog.process), "the watchdog is ended with mpirun");
  status = status_of(deaf.mpirun);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a deaf one's is %d", status);
  CHECK(gr_seconds() - deaf.orphaned > 12.9, "%g s", gr_seconds() - deaf.orphaned);
  status = status_of(deaf.watchdog.process);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "its watchdog's is %d", status);
  clear(&hears), clear(&deaf), clear(&ended);
}

// A rank that runs has a minute to end itself; one that a signal has stopped does not count.
static void waits_for_a_rank(void) {
  pid_t rank = sleeper(false, false);  // before there is the pipe, which it would hold open
  launched l = launch(false);
  register_rank(&l, rank);
  orphan(&l);
  for (double until = l.orphaned + 13; gr_seconds() < until; poll(NULL, 0, 100))
    CHECK(!waitpid(l.mpirun, NULL, WNOHANG), "mpirun ends while a rank runs");
  double stopped = gr_seconds();
  kill(rank, SIGSTOP);
  int status = status_of(l.mpirun);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "mpirun's status is %d", status);
  CHECK(gr_seconds() - stopped > 9.7, "%g s", gr_seconds() - stopped);
  CHECK(!status_of(l.watchdog.process), "the watchdog is ended with mpirun");
  CHECK(!waitpid(rank, NULL, WNOHANG), "the rank, of another group, is ended");
  kill(rank, SIGKILL), status_of(rank);
  clear(&l);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"ends_with_its_launcher", ends_with_its_launcher},
             {"ends_mpirun", ends_mpirun}, {"waits_for_a_rank", waits_for_a_rank});
}
