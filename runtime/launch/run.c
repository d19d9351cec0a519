// run.c - the launcher: starts mpirun, waits for the ranks, and reports how the run ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/base.h"
#include "base/terminal.h"
#include "runtime/launch/dir.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/relay.h"
#include "runtime/launch/state.h"
#include "runtime/launch/watchdog.h"

// Seconds that ranks get to end by themselves: after one has died; after one has failed (others may
// be saving); after a second Ctrl-C. after_leaving, after_done and after_all are for mpirun once
// all ranks have ended: on SIGTERM alone it would wait the minute that it gives the ranks. After
// ranks that are done it is only clean-up that a slow machine takes long for.
static const double after_death = 2.5, after_failure = 60, after_insisting = 2, after_leaving = 3,
                    after_done = 20, after_all = 0.3;
static const double longest_tick = 0.5;  // of what the launcher waits at once; else it did not run

typedef struct launcher {
  gr_launch_state *launch_state;
  gr_launch_dir dir;
  sigset_t signals;  // signals to wait for and forward
  pid_t mpirun;
  gr_launch_watchdog watchdog;
  gr_launch_relay relay;
  int stop_requests;  // how often the user has asked to stop
  int notified;       // ranks that were sent the signal; one is enough, ranks agree on stopping
  double deadline;    // when all are killed; 0: never
  bool seen_death, seen_failure, seen_end, killing;
  bool died_first;  // a rank was dead before any had failed
  int first_dead;   // 1 + the first rank that was found dead; 0: none
  double noticed;   // when the first rank was found dead, or had failed; 0: none
  gr_launch_stopped stopped;
} launcher;

// ---- Starting ---------------------------------------------------------------------------

// Maps the launch state, opened again: a mapping of the locked file would hold its lock in the
// watchdog, which inherits it.
static void *map_launch_state(const launcher *l, size_t bytes) {
  int file = open(l->dir.state_path, O_RDWR | O_CLOEXEC);
  if (file < 0) return MAP_FAILED;
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int error = errno;
  close(file);
  errno = error;
  return mapped;
}

static gr_status create_launch_state(launcher *l, int ranks) {
  size_t bytes = gr_launch_state_bytes(ranks);
  gr_launch_dir_clean();
  GR_TRY(gr_launch_dir_make(bytes, &l->dir));
  l->launch_state = map_launch_state(l, bytes);
  if (l->launch_state == MAP_FAILED) {
    gr_status s =
        gr_fail_errno(GR_ERR_LAUNCH, errno, "cannot use the file '%s'", l->dir.state_path);
    gr_launch_dir_remove(&l->dir);
    return s;
  }
  l->launch_state->ranks = ranks, l->launch_state->terminal = gr_terminal_is_live(STDERR_FILENO);
  l->launch_state->launcher = (int)getpid();
  return GR_OK;
}

static void exec_mpirun(const launcher *l, const gr_launch_plan *p, char *const argv[], int go) {
  char ranks[16], self[PATH_MAX], byte;
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
  // When the launcher dies, mpirun forwards this signal to the ranks of all machines, which stop as
  // for a user's signal. Those on this machine notice it themselves as well (watch.c).
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (getppid() != l->launch_state->launcher) _exit(127);
  if (read(go, &byte, 1) != 1) _exit(127);  // there is no watchdog
  atomic_store(&l->launch_state->mpirun, (int)getpid());
  sigprocmask(SIG_UNBLOCK, &l->signals, NULL);
  int null = open("/dev/null", O_RDONLY);  // otherwise mpirun would consume the user's input
  if (null >= 0) dup2(null, STDIN_FILENO);
  gr_launch_relay_use(&l->relay);
  execv(p->mpirun, (char *const *)args);
  _exit(127);
}

static gr_status cannot_start(void) {
  return gr_fail_errno(GR_ERR_LAUNCH, errno, "cannot start mpirun");
}

// Starts mpirun in a process group of its own, because Ctrl-C is to reach only the launcher, which
// forwards it. mpirun waits at `go` until its watchdog is there, so that it never runs without.
static gr_status start(launcher *l, const gr_launch_plan *p, char *const argv[]) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) || !gr_launch_relay_open(&l->relay)) return cannot_start();
  l->mpirun = fork();
  if (l->mpirun == 0) {
    close(go[1]);
    exec_mpirun(l, p, argv, go[0]);
  }
  gr_status s = GR_OK;
  if (l->mpirun < 0 || setpgid(l->mpirun, l->mpirun) || !gr_launch_relay_start(&l->relay) ||
      !gr_launch_watchdog_start(&l->watchdog, l->launch_state, l->dir.file, l->mpirun, go[1]))
    s = cannot_start();
  close(go[0]), close(go[1]);
  if (s && l->mpirun > 0) waitpid(l->mpirun, NULL, 0);
  return s;
}

// ---- Waiting ----------------------------------------------------------------------------

// The process number of rank r while it is registered as running; 0: it is not.
static int running_pid(const launcher *l, int r) {
  gr_launch_rank_state *b = &l->launch_state->rank[r];
  return atomic_load(&b->state) == GR_LAUNCH_RANK_RUNS ? atomic_load(&b->pid) : 0;
}

static bool is_dead(const launcher *l, int r) {
  int pid = running_pid(l, r);
  return pid && !gr_process_state(pid) && running_pid(l, r) == pid;
}

static int signal_ranks(const launcher *l, int signal) {
  int sent = 0;
  for (int r = 0; r < l->launch_state->ranks; r++) {
    int pid = gr_launch_state_rank_pid(l->launch_state, r);
    if (pid) sent += !kill(pid, signal);
  }
  return sent;
}

// Sets the deadline, unless it is earlier already.
static void limit(launcher *l, double seconds) {
  double end = gr_seconds() + seconds;
  if (l->deadline == 0 || end < l->deadline) l->deadline = end;
}

static void end_now(launcher *l) {
  signal_ranks(l, SIGKILL);
  kill(l->mpirun, l->killing ? SIGKILL : SIGTERM);
  l->killing = true;
  l->deadline = gr_seconds() + after_all;
}

static void check_ranks(launcher *l) {
  bool death = false, failure = false, unstarted = false, begun = false, here = false;
  bool done = true;
  // A stop request that came before any rank had registered is sent now.
  if (l->stop_requests && !l->notified) l->notified = signal_ranks(l, SIGTERM);
  for (int r = 0; r < l->launch_state->ranks; r++) {
    const gr_launch_rank_state *b = &l->launch_state->rank[r];
    int state = atomic_load(&b->state);
    bool dead = is_dead(l, r);
    if (dead && !l->first_dead) l->first_dead = r + 1, l->died_first = !l->seen_failure;
    failure |= state == GR_LAUNCH_RANK_FAILED && b->code != GR_ERR_STOPPED;
    unstarted |= state == GR_LAUNCH_RANK_FAILED && b->code == GR_ERR_LAUNCH;
    death |= dead || (state == GR_LAUNCH_RANK_FAILED && b->code == GR_ERR_HANG);
    begun |= state != GR_LAUNCH_RANK_ABSENT, here |= state == GR_LAUNCH_RANK_RUNS && !dead;
    done &= state == GR_LAUNCH_RANK_DONE;
  }
  bool gone = begun && !here;  // a rank that has not registered would wait for those
  if ((death || failure) && l->noticed <= 0) l->noticed = gr_seconds();
  if (death && !l->seen_death) limit(l, after_death);
  if (gone && !l->seen_end) limit(l, death ? after_all : done ? after_done : after_leaving);
  // Ranks that wait for one that cannot start have nothing to save.
  if (failure && !l->seen_failure) limit(l, unstarted ? after_death : after_failure);
  l->seen_death = death, l->seen_failure = failure, l->seen_end = gone;
  if (l->deadline != 0 && gr_seconds() >= l->deadline) end_now(l);
}

// Signals the ranks directly, because mpirun would kill them: once one rank has the signal, all
// stop at the same step. SIGTERM is sent whatever the user's signal is: ranks may have received the
// user's Ctrl-C themselves, and a second SIGINT ends them at once.
static void forward(launcher *l, int signal) {
  if (l->stop_requests++ && signal == SIGINT) limit(l, after_insisting);
  l->notified += signal_ranks(l, SIGTERM);
}

// Waits until mpirun ends, forwarding signals. Returns its status as waitpid gives it.
static int wait_for(launcher *l, double heartbeat_s) {
  struct timespec tick = {.tv_nsec = 100000000};
  int status = 0;
  for (double before = gr_seconds();; before = gr_seconds()) {
    int signal = sigtimedwait(&l->signals, NULL, &tick);
    double took = gr_seconds() - before;
    if (l->deadline > 0 && took > longest_tick) l->deadline += took;  // nor did the others
    pid_t gone = waitpid(l->mpirun, &status, WNOHANG);
    if (gone == l->mpirun || (gone < 0 && errno == ECHILD)) return status;
    if (signal > 0 && signal != SIGCHLD) forward(l, signal);
    gr_launch_state_end_stopped(l->launch_state, &l->stopped, heartbeat_s);
    check_ranks(l);
  }
}

// Once mpirun is gone its ranks end, except those that had not connected to it yet or are stopped
// by a signal: these are killed.
static void end_left(launcher *l) {
  double until = gr_seconds() + after_death;
  struct timespec tick = {.tv_nsec = 20000000};
  for (int left = 1; left && gr_seconds() < until;) {
    left = 0;
    for (int r = 0; r < l->launch_state->ranks; r++)
      left += gr_launch_state_rank_pid(l->launch_state, r) > 0;
    if (left) nanosleep(&tick, NULL);
  }
  gr_launch_state_kill_ranks(l->launch_state, -1);
}

// ---- How it ended ---------------------------------------------------------------------------

// How likely an error of this code is the cause rather than a consequence; larger is likelier.
static int cause_weight(int code) {
  return code == GR_ERR_RANK ? 1 : code == GR_ERR_HANG ? 2 : code == GR_ERR_STOPPED ? 3 : 4;
}

// The rank whose error is the cause and not a consequence of another's; -1: no rank has failed.
static int find_cause(const launcher *l) {
  int best = -1, most = 0;
  for (int r = 0; r < l->launch_state->ranks; r++) {
    const gr_launch_rank_state *b = &l->launch_state->rank[r];
    if (atomic_load(&b->state) == GR_LAUNCH_RANK_FAILED && cause_weight(b->code) > most)
      best = r, most = cause_weight(b->code);
  }
  return best;
}

static gr_status with_resume_hint(const launcher *l, gr_status s) {
  return *l->launch_state->resume_hint ? gr_hint(s, "%s", l->launch_state->resume_hint) : s;
}

static gr_status report_death(const launcher *l, int rank) {
  const gr_launch_rank_state *b = &l->launch_state->rank[rank];
  int signal = atomic_load(&b->signal), pid = atomic_load(&b->pid);
  if (signal == GR_LAUNCH_STATE_EXIT)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE,
                   "rank %d (process %d) ended: a library called exit, see above", rank, pid);
  gr_status s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank %d was killed by %s (process %d)", rank,
                        gr_launch_state_signal_name(signal ? signal : SIGKILL), pid);
  if (!signal)
    s = gr_hint(s, "the system does this when memory runs out; check `dmesg | grep -i kill`");
  return with_resume_hint(l, s);
}

// Rank 0 writes its log as long as it can. A rank that was killed, or whose memory was exhausted,
// cannot. A log that cannot be written is left as it is: the error is printed.
static void log_end(const launcher *l, gr_status s, const char *text) {
  const char *path = l->launch_state->log;
  char rank_text[GR_LAUNCH_STATE_TEXT] = "";
  FILE *to = s ? fmemopen(rank_text, sizeof rank_text - 1, "w") : NULL;
  if (to) gr_status_print(to, s), fclose(to);
  if (s) text = rank_text;
  if (*path && *text) gr_status_drop(gr_launch_state_append_log(path, text));
}

static void show_events(const launcher *l) {
  char text[4 * GR_LAUNCH_STATE_TEXT] = "";
  FILE *to = fmemopen(text, sizeof text - 1, "w");
  double until = l->noticed > 0 ? l->noticed : gr_seconds();
  if (to) gr_launch_state_put_events(to, l->launch_state, until), fclose(to);
  log_end(l, GR_OK, text);
  fputs(text, stderr);
}

// How mpirun ended, in words.
static void mpirun_end(int status, char text[64]) {
  if (WIFSIGNALED(status))
    snprintf(text, 64, "mpirun was killed by %s", gr_launch_state_signal_name(WTERMSIG(status)));
  else
    snprintf(text, 64, "mpirun ended with exit code %d", WEXITSTATUS(status));
}

// Ranks of other machines leave no records here: theirs is mpirun's exit code, if graphrun has it.
static bool is_remote_verdict(int code) {
  if (gr_launch_state_all_local()) return false;
  bool known = code == 0;
  for (int c = 1; c < GR_CODE_COUNT; c++) known |= gr_code_exit((gr_code)c) == code;
  return known;
}

// Rank `missing` has not even registered, and no rank has failed or died.
static gr_status report_missing(const launcher *l, int missing, bool any, const char *end) {
  if (!any)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s before all ranks had started", end),
                   "check whether `mpirun -n %d hostname` works", l->launch_state->ranks);
  return with_resume_hint(
      l, gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank %d has left no record of how it ended; %s", missing,
                 end));
}

// What the ranks' records say.
typedef struct records {
  int cause;    // the rank whose error is the cause; -1: none has failed
  int dead;     // one that ended without a word; -1: none
  int missing;  // the first that has not registered; -1: none
  int entered, done;
} records;

static records read_records(const launcher *l) {
  records r = {.cause = find_cause(l), .dead = -1, .missing = -1};
  for (int i = l->launch_state->ranks - 1; i >= 0; i--) {
    int state = atomic_load(&l->launch_state->rank[i].state);
    r.entered += state != GR_LAUNCH_RANK_ABSENT, r.done += state == GR_LAUNCH_RANK_DONE;
    if (state == GR_LAUNCH_RANK_RUNS) r.dead = i;
    if (state == GR_LAUNCH_RANK_ABSENT) r.missing = i;
  }
  if (r.dead >= 0 && l->first_dead) r.dead = l->first_dead - 1;  // later ones died because of it
  // What a rank cannot connect to is then the dead one.
  if (l->died_first && r.cause >= 0 && l->launch_state->rank[r.cause].code == GR_ERR_LAUNCH)
    r.cause = -1;
  return r;
}

// Prints the cause if no rank has printed it; returns the exit code. That is decided by the ranks'
// records alone, because mpirun's own code is also of its clean-up: under load it has been 1 after
// a run without an error.
static int conclude(const launcher *l, int status, gr_status *out) {
  records r = read_records(l);
  char end[64];
  mpirun_end(status, end);
  if (r.cause >= 0 && (r.dead < 0 || cause_weight(l->launch_state->rank[r.cause].code) > 1)) {
    log_end(l, GR_OK, l->launch_state->rank[r.cause].text);
    fputs(l->launch_state->rank[r.cause].text, stderr);
    return l->launch_state->rank[r.cause].exit;
  }
  if (r.done == l->launch_state->ranks) {
    if (status) gr_log(GR_WARN, "%s although all ranks have ended without an error", end);
    return 0;
  }
  bool lost_mpirun = WIFSIGNALED(status) && !l->killing;
  if (!l->stop_requests && !lost_mpirun && r.dead < 0 && WIFEXITED(status) &&
      is_remote_verdict(WEXITSTATUS(status)))
    return WEXITSTATUS(status);  // a rank has printed why
  *out = l->stop_requests ? gr_hint(gr_fail(GR_ERR_STOPPED, GR_NOWHERE,
                                            "stopped by signals before the ranks could save"),
                                    "existing checkpoints are unchanged")
         : lost_mpirun    ? with_resume_hint(
                                l, gr_fail(GR_ERR_RANK, GR_NOWHERE, "%s, and all ranks with it", end))
         : r.dead >= 0 ? report_death(l, r.dead)
                       : report_missing(l, r.missing, r.entered > 0, end);
  return gr_status_exit(*out);
}

gr_status gr_launch_run(const gr_launch_plan *p, char *const argv[], gr_launch_end *out) {
  launcher l = {0};
  sigset_t before;
  *out = (gr_launch_end){0};
  GR_TRY(create_launch_state(&l, p->ranks));
  sigemptyset(&l.signals);
  static const int passed[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) sigaddset(&l.signals, passed[i]);
  struct sigaction hangup;  // under nohup SIGHUP is ignored, and stays ignored
  if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
    sigaddset(&l.signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &l.signals, &before);
  fflush(NULL);
  gr_status s = start(&l, p, argv);
  if (!s) {
    int status = wait_for(&l, p->heartbeat_s > 0 ? p->heartbeat_s + after_death : 0);
    gr_launch_watchdog_end(&l.watchdog);
    bool death = l.seen_death || read_records(&l).dead >= 0;
    end_left(&l);
    if (death && !l.stop_requests) show_events(&l);
    out->exit = conclude(&l, status, &s);
    out->asked = l.stop_requests > 0;
    snprintf(out->log, sizeof out->log, "%s", l.launch_state->log);
    if (s) log_end(&l, s, "");
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  munmap(l.launch_state, gr_launch_state_bytes(p->ranks));
  gr_launch_dir_remove(&l.dir);
  return gr_launch_relay_end(&l.relay, s, &out->exit);  // Ctrl-C ends it again, as any program
}
