// run.c - the launcher: starts mpirun, waits for the ranks, and says how it ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "runtime/launch/dir.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/state.h"

// Seconds that ranks have to end by themselves: once one of them has died; once one has failed
// (others may be saving); once the user has pressed Ctrl-C again. And mpirun, once all have left or
// died: one that is told to stop itself would sit out the minute that it gives the ranks.
static const double after_death = 2.5, after_failure = 60, after_insisting = 2, after_leaving = 3,
                    after_all = 0.3;

typedef struct launcher {
  gr_launch_state *launch_state;
  gr_launch_dir dir;
  sigset_t signals;  // that are waited for, and passed on
  pid_t mpirun;
  int asked;        // how often the user has asked to stop
  int told;         // how many ranks have heard of it: one of them tells the others
  double deadline;  // when all are killed; 0: never
  bool seen_death, seen_failure, seen_end, killing;
  int first_dead;  // 1 + the rank that was found dead first
} launcher;

// ---- Starting ---------------------------------------------------------------------------

// Open MPI shares files of 4 MiB, and dies without a word where it cannot.
static gr_status check_limit(void) {
  enum { LEAST = 8 << 20 };
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur >= LEAST) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "files are limited to %.2f MB here, and ranks that are processes share some "
              "of 4.2 MB",
              (double)most.rlim_cur / 1e6),
      "`ulimit -f unlimited`, or distributed.backend=loopback: ranks are threads then");
}

static gr_status make_box(launcher *l, int ranks) {
  size_t bytes = gr_launch_state_bytes(ranks);
  GR_TRY(check_limit());
  gr_launch_dir_clean();
  GR_TRY(gr_launch_dir_make(bytes, &l->dir));
  l->launch_state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, l->dir.file, 0);
  if (l->launch_state == MAP_FAILED) {
    gr_status s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot use the file '%s': %s",
                          l->dir.state_path, strerror(errno));
    gr_launch_dir_remove(&l->dir);
    return s;
  }
  l->launch_state->ranks = ranks, l->launch_state->terminal = isatty(STDERR_FILENO);
  l->launch_state->launcher = (int)getpid();
  return GR_OK;
}

static void exec_mpirun(const launcher *l, const gr_launch_plan *p, char *const argv[]) {
  char ranks[16], self[512];
  int n = 0, more = 0;
  while (argv[more]) more++;
  const char *args[more + 8];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len < 0) _exit(127);
  self[len] = 0;
  snprintf(ranks, sizeof ranks, "%d", p->ranks);
  args[n++] = p->mpirun, args[n++] = "-n", args[n++] = ranks, args[n++] = self;
  for (int i = 1; i < more; i++) args[n++] = argv[i];
  args[n] = NULL;
  gr_launch_state_set_environment(l->dir.path, l->dir.state_path);
  // When the launcher dies mpirun passes this on to all ranks, on any machine, which stop as they
  // do for a user's; those of this machine hear of it themselves (watch.c).
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != l->launch_state->launcher) _exit(127);
  setpgid(0, 0);  // Ctrl-C comes to the launcher alone, which passes it on
  sigprocmask(SIG_UNBLOCK, &l->signals, NULL);
  int null = open("/dev/null", O_RDONLY);  // mpirun would read what is not for it
  if (null >= 0) dup2(null, STDIN_FILENO);
  execv(p->mpirun, (char *const *)args);
  _exit(127);
}

// ---- Waiting ----------------------------------------------------------------------------

// The process of a rank that runs; 0: it does not.
static int alive(const launcher *l, int r) {
  gr_launch_rank_state *b = &l->launch_state->rank[r];
  return atomic_load(&b->state) == GR_LAUNCH_RANK_RUNS ? atomic_load(&b->pid) : 0;
}

static bool is_dead(const launcher *l, int r) {
  int pid = alive(l, r);
  return pid && !gr_process_state(pid) && alive(l, r) == pid;
}

static int report_to_ranks(const launcher *l, int signal) {
  int told = 0;
  for (int r = 0; r < l->launch_state->ranks; r++) {
    int pid = alive(l, r);
    if (pid && !is_dead(l, r)) told += !kill(pid, signal);
  }
  return told;
}

static void allow(launcher *l, double seconds) {
  double at = gr_seconds() + seconds;
  if (l->deadline == 0 || at < l->deadline) l->deadline = at;
}

static void end_now(launcher *l) {
  report_to_ranks(l, SIGKILL);
  kill(l->mpirun, l->killing ? SIGKILL : SIGTERM);
  l->killing = true;
  l->deadline = gr_seconds() + after_all;
}

static void look(launcher *l) {
  bool death = false, failure = false, begun = false, here = false;
  if (l->asked && !l->told) l->told = report_to_ranks(l, SIGTERM);  // they had not begun then
  for (int r = 0; r < l->launch_state->ranks; r++) {
    const gr_launch_rank_state *b = &l->launch_state->rank[r];
    int state = atomic_load(&b->state);
    bool dead = is_dead(l, r);
    if (dead && !l->first_dead) l->first_dead = r + 1;
    failure |= state == GR_LAUNCH_RANK_FAILED && b->code != GR_ERR_STOPPED;
    death |= dead || (state == GR_LAUNCH_RANK_FAILED && b->code == GR_ERR_HANG);
    begun |= state != GR_LAUNCH_RANK_ABSENT, here |= state == GR_LAUNCH_RANK_RUNS && !dead;
  }
  bool gone = begun && !here;  // who has not begun waits for ever for those
  if (death && !l->seen_death) allow(l, after_death);
  if (gone && !l->seen_end) allow(l, death ? after_all : after_leaving);
  if (failure && !l->seen_failure) allow(l, after_failure);
  l->seen_death = death, l->seen_failure = failure, l->seen_end = gone;
  if (l->deadline != 0 && gr_seconds() >= l->deadline) end_now(l);
}

// Ranks stop all at the same step once one of them has the signal; mpirun itself would kill them.
// They get another signal than the user's Ctrl-C, which they may have had themselves: a second
// would end them at once.
static void pass_on(launcher *l, int signal) {
  if (l->asked++ && signal == SIGINT) allow(l, after_insisting);
  l->told += report_to_ranks(l, SIGTERM);
}

// Returns mpirun's wait status.
static int wait_for(launcher *l) {
  struct timespec tick = {.tv_nsec = 100000000};
  int status = 0;
  while (true) {
    int signal = sigtimedwait(&l->signals, NULL, &tick);
    pid_t gone = waitpid(l->mpirun, &status, WNOHANG);
    if (gone == l->mpirun || (gone < 0 && errno == ECHILD)) return status;
    if (signal > 0 && signal != SIGCHLD) pass_on(l, signal);
    look(l);
  }
}

// Ranks end when mpirun is gone, but for those that had not yet joined it, or are stopped.
static void end_left(launcher *l) {
  double until = gr_seconds() + after_death;
  struct timespec tick = {.tv_nsec = 20000000};
  for (int left = 1; left && gr_seconds() < until;) {
    left = 0;
    for (int r = 0; r < l->launch_state->ranks; r++) left += alive(l, r) && !is_dead(l, r);
    if (left) nanosleep(&tick, NULL);
  }
  gr_launch_state_kill_ranks(l->launch_state, -1);
}

// ---- How it ended ---------------------------------------------------------------------------

static int worth(int code) {
  return code == GR_ERR_RANK ? 1 : code == GR_ERR_HANG ? 2 : code == GR_ERR_STOPPED ? 3 : 4;
}

// The rank whose error is the cause, and not an echo of another's; -1: none has failed.
static int find_cause(const launcher *l) {
  int best = -1, most = 0;
  for (int r = 0; r < l->launch_state->ranks; r++) {
    const gr_launch_rank_state *b = &l->launch_state->rank[r];
    if (atomic_load(&b->state) == GR_LAUNCH_RANK_FAILED && worth(b->code) > most)
      best = r, most = worth(b->code);
  }
  return best;
}

static gr_status report_death(const launcher *l, int rank) {
  const gr_launch_rank_state *b = &l->launch_state->rank[rank];
  int signal = atomic_load(&b->signal), pid = atomic_load(&b->pid);
  if (signal == GR_LAUNCH_STATE_EXIT)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE,
                   "rank %d ended itself (process %d): a library called exit, see above", rank,
                   pid);
  gr_status s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank %d was killed by %s (process %d)", rank,
                        gr_launch_state_signal_name(signal ? signal : SIGKILL), pid);
  if (!signal)
    s = gr_hint(s, "the system does so when memory runs out: `dmesg | grep -i kill` tells");
  return *l->launch_state->go_on ? gr_hint(s, "%s", l->launch_state->go_on) : s;
}

// Ranks do not outlive it.
static gr_status report_lost(const launcher *l, int signal) {
  gr_status s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "mpirun was killed by %s, and all ranks with it",
                        gr_launch_state_signal_name(signal));
  return *l->launch_state->go_on ? gr_hint(s, "%s", l->launch_state->go_on) : s;
}

// Prints what is left to say; returns the exit code.
static int conclude(const launcher *l, int status, gr_status *out) {
  int cause = find_cause(l), dead = -1, entered = 0, done = 0;
  for (int r = l->launch_state->ranks - 1; r >= 0; r--) {
    int state = atomic_load(&l->launch_state->rank[r].state);
    entered += state != GR_LAUNCH_RANK_ABSENT, done += state == GR_LAUNCH_RANK_DONE;
    if (state == GR_LAUNCH_RANK_RUNS) dead = r;
  }
  if (dead >= 0 && l->first_dead) dead = l->first_dead - 1;  // others were killed for it
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  bool lost_mpirun = WIFSIGNALED(status) && !l->killing;
  if (cause >= 0 && (dead < 0 || worth(l->launch_state->rank[cause].code) > 1)) {
    fputs(l->launch_state->rank[cause].text, stderr);
    return l->launch_state->rank[cause].exit;
  }
  if (done == l->launch_state->ranks) return code;
  *out = l->asked      ? gr_hint(gr_fail(GR_ERR_STOPPED, GR_NOWHERE,
                                         "stopped by signals before the ranks could save"),
                                 "older checkpoints are as they were")
         : lost_mpirun ? report_lost(l, WTERMSIG(status))
         : dead >= 0   ? report_death(l, dead)
                       : GR_OK;
  if (*out) return gr_status_exit(*out);
  if (entered || !code || code == 1 || code >= 126)
    *out = gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                           "mpirun ended with exit code %d before all ranks had begun", code),
                   "try `mpirun -n %d hostname`", l->launch_state->ranks);
  return *out ? gr_status_exit(*out) : code;  // else a rank has printed why
}

gr_status gr_launch_run(const gr_launch_plan *p, char *const argv[], int *out_exit) {
  launcher l = {0};
  sigset_t before;
  *out_exit = 0;
  GR_TRY(make_box(&l, p->ranks));
  sigemptyset(&l.signals);
  static const int passed[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) sigaddset(&l.signals, passed[i]);
  struct sigaction hangup;  // under nohup nobody is to hear of it
  if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
    sigaddset(&l.signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &l.signals, &before);
  fflush(NULL);
  l.mpirun = fork();
  if (l.mpirun == 0) exec_mpirun(&l, p, argv);
  gr_status s = GR_OK;
  if (l.mpirun < 0)
    s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot start mpirun: %s", strerror(errno));
  else {
    atomic_store(&l.launch_state->mpirun, (int)l.mpirun);
    int status = wait_for(&l);
    end_left(&l);
    *out_exit = conclude(&l, status, &s);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  munmap(l.launch_state, gr_launch_state_bytes(p->ranks));
  gr_launch_dir_remove(&l.dir);
  return s;
}
