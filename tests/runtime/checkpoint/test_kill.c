// test_kill.c - kill -9 before, and in the midst of, every operation on the disk; and every
// operation failing. The old set or the new is there, and whole.
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "base/log.h"
#include "runtime/checkpoint/dir.h"
#include "tests/runtime/checkpoint/tiny.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seen, strike, error_number;
static bool half, persistent, no_swap, struck;

// Kills the process at operation number `strike`; of a write, if `half`, after half of it.
static int kill_at(const char *op, const char *path, size_t *bytes) {
  (void)path;
  if (no_swap && !strcmp(op, "swap")) return EINVAL;
  pthread_mutex_lock(&lock);
  if (++seen == strike && !(half && *bytes > 1)) kill(getpid(), SIGKILL);
  if (seen == strike) *bytes /= 2, strike++;  // the rest of it would be the next
  pthread_mutex_unlock(&lock);
  return 0;
}

static int fail_at(const char *op, const char *path, size_t *bytes) {
  (void)path, (void)bytes;
  if (no_swap && !strcmp(op, "swap")) return EINVAL;
  pthread_mutex_lock(&lock);
  bool now = ++seen == strike || (persistent && seen > strike);
  struck |= now;
  pthread_mutex_unlock(&lock);
  return now ? error_number : 0;
}

typedef struct scenario {
  const char *name;
  int ranks;
  int64_t step;                  // saved, where steps 1 and 2 are; 2: in the place of the old one
  bool careless;                 // the negative control: makes room first
  bool no_swap;                  // as on a file system that cannot exchange two directories
  gr_status (*end)(gr_saver *);  // NULL: gr_saver_finish
} scenario;

// In a process of its own; whether it was killed.
static bool child(const char *dir, const scenario *x, int operation, bool halves) {
  fflush(NULL);
  pid_t pid = fork();
  if (!pid) {
    seen = 0, strike = operation, half = halves, no_swap = x->no_swap;
    gr_disk_fault = kill_at;
    tiny_end = x->end ? x->end : tiny_end;
    if (x->careless) {
      gr_disk_dir d;
      gr_status_drop(gr_disk_open(dir, &d));
      gr_status_drop(gr_checkpoint_remove(&d, "step-00000002"));
      gr_status_drop(gr_checkpoint_remove(&d, "step-00000001"));
    }
    gr_status e = tiny_save(dir, x->ranks, x->step, 9, 2);
    _exit(e != GR_OK);
  }
  int status;
  waitpid(pid, &status, 0);
  CHECK(WIFSIGNALED(status) || !WEXITSTATUS(status), "the save failed");
  return WIFSIGNALED(status);
}

static void prepare(const char *dir) {
  char model[300];
  snprintf(model, sizeof model, "%s-model", dir);
  scratch_remove(dir);
  if (access(model, R_OK)) {
    MUST(tiny_save(model, 2, 1, 1, 5));
    MUST(tiny_save(model, 1, 2, 2, 5));
  }
  scratch_copy(model, dir);
}

static void clean(const char *dir) {
  char model[300];
  snprintf(model, sizeof model, "%s-model", dir);
  scratch_remove(dir);
  scratch_remove(model);
}

// Steps 1 and 2 were there with their numbers as seeds; the one being saved has seed 9.
static bool whole(const char *dir, const scenario *x) {
  int old = tiny_seed_at(dir, x->step), two = tiny_seed_at(dir, 2);
  gr_checkpoint *c;
  gr_status e = gr_checkpoint_newest(dir, &c);
  int newest = c ? tiny_seed(c) : -1;
  bool ok = !e && (newest == 9 || newest == 2);
  ok &= x->step == 2 ? old == 9 || old == 2 : two == 2 && (old == 9 || old == -1);
  gr_status_drop(e);
  gr_checkpoint_close(c);
  return ok;
}

static int leftovers(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    n += !strncmp(e->d_name, ".tmp", 4) || !strncmp(e->d_name, ".trash", 6) ||
         !strcmp(e->d_name, ".checkpoint.lock");
  if (d) closedir(d);
  return n;
}

// Opening a saver recovers; then all must be right also where a kill may hide a checkpoint for
// a while (no_swap).
static void recover(const char *dir) {
  gr_saver *s;
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .keep_last = 5};
  MUST(gr_saver_open(&spec, &s));
  gr_saver_close(s);
}

static int lost_in(const char *dir, const scenario *x, int *kills) {
  int lost = 0;
  for (int halves = 0; halves < 2; halves++)
    for (int operation = 1;; operation++) {
      prepare(dir);
      bool killed = child(dir, x, operation, halves);
      bool before = x->no_swap || whole(dir, x);
      if (!x->careless) recover(dir);
      bool ok = before && whole(dir, x);
      lost += !ok;
      CHECK(ok || x->careless, "%s: killed at operation %d%s", x->name, operation,
            halves ? " half" : "");
      CHECK(x->careless || !leftovers(dir), "%s: something is left at %d", x->name, operation);
      *kills += killed;
      if (!killed) break;
    }
  return lost;
}

static void kills(void) {
  static const scenario all[] = {{"one rank", 1, 3},
                                 {"two ranks", 2, 3},
                                 {"replace", 2, 2},
                                 {"replace without swap", 1, 2, false, true},
                                 {"commit alone", 2, 3, .end = gr_saver_commit},
                                 {"abandon", 2, 3, .end = gr_saver_abandon}};
  const char *dir = scratch_dir("kill");
  int killed = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    int before = killed;
    lost_in(dir, &all[i], &killed);
    CHECK(killed - before > 30, "only %d kills", killed - before);
  }
  printf("  killed %d times\n", killed);
  clean(dir);
}

static void careless_is_caught(void) {
  const char *dir = scratch_dir("careless");
  int killed = 0;
  int lost = lost_in(dir, &(scenario){"careless", 1, 3, true}, &killed);
  CHECK(lost > 5, "the test would not notice: %d of %d", lost, killed);
  clean(dir);
}

// A kill, and then kills in the recovery from it.
static void kill_in_recovery(void) {
  const scenario x = {"recovery", 1, 2, false, true};
  const char *dir = scratch_dir("recovery");
  for (int operation = 1; operation < 60; operation++)
    for (int again = 1; again < 12; again++) {
      prepare(dir);
      if (!child(dir, &x, operation, false)) break;
      child(dir, &x, again, false);
      recover(dir);
      CHECK(whole(dir, &x) && !leftovers(dir), "killed at %d and at %d", operation, again);
    }
  clean(dir);
}

// -- Failures ----------------------------------------------------------------------------

static void fail_one(const char *dir, const scenario *x, int operation, bool *done) {
  prepare(dir);
  seen = 0, strike = operation, struck = false, no_swap = x->no_swap;
  gr_disk_fault = fail_at;
  gr_status e = tiny_save(dir, x->ranks, x->step, 9, 2);
  gr_disk_fault = NULL;
  *done = !struck;
  CHECK(!e || gr_status_code(e) == GR_ERR_IO, "%s", gr_status_text(e));
  CHECK(!e || strstr(gr_status_text(e), "another rank") || strstr(gr_status_text(e), dir),
        "no path in: %s", gr_status_text(e));
  CHECK(struck || !e, "it failed without a reason: %s", gr_status_text(e));
  recover(dir);
  CHECK(whole(dir, x), "%s: error %d at operation %d", x->name, error_number, operation);
  gr_status_drop(e);
  MUST(tiny_save(dir, x->ranks, x->step, 9, 2));  // and the next save works
  CHECK(tiny_seed_at(dir, x->step) == 9 && !leftovers(dir), "%s: not after %d", x->name, operation);
}

static void failures(void) {
  static const scenario all[] = {{"one rank", 1, 3},
                                 {"three ranks", 3, 3},
                                 {"replace", 2, 2},
                                 {"replace without swap", 1, 2, false, true}};
  static const int errors[] = {ENOSPC, EIO};
  const char *dir = scratch_dir("fail");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int mode = 0; mode < 4; mode++) {
      bool done = false;
      error_number = errors[mode % 2], persistent = mode > 1;
      for (int operation = 1; !done; operation++) fail_one(dir, &all[i], operation, &done);
    }
  clean(dir);
}

// A failed save leaves no files, the run continues, and the error says how much space is needed.
static void full_disk(void) {
  const char *dir = scratch_dir("full");
  prepare(dir);
  fflush(NULL);
  pid_t pid = fork();
  if (!pid) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){64, 64});  // files of at most 64 bytes
    gr_status e = tiny_save(dir, 1, 3, 9, 2);
    const char *text = gr_status_text(e);
    _exit(!(gr_status_code(e) == GR_ERR_IO && strstr(text, "needs up to") &&
            strstr(text, "are free") && strstr(text, dir) && gr_status_hint(e) && !leftovers(dir)));
  }
  int status;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "status %d", status);
  CHECK(tiny_seed_at(dir, 1) == 1 && tiny_seed_at(dir, 2) == 2, "an old one is damaged");
  clean(dir);
}

int main(int argc, char **argv) {
  if (chdir("/dev/shm")) fputs("  on the disk, so it takes longer\n", stderr);
  gr_log_open(GR_ERROR, 0, 1);  // warnings of what is skipped and what stays are right here
  return RUN(argc, argv, {"kills", kills}, {"careless_is_caught", careless_is_caught},
             {"kill_in_recovery", kill_in_recovery}, {"failures", failures},
             {"full_disk", full_disk});
}
