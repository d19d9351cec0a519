// test_mpi.c - ranks that are processes, and the launcher: this program plays graphrun. Called as
// `test_mpi --play ROLE RANKS` it starts that many ranks of itself, as graphrun does; the tests
// call it so, and look at what the user would: exit code and last words. A rank that is not
// noticed otherwise is noticed by a time-out, whose words are others.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "runtime/comm/comm.h"
#include "runtime/comm/mpi_parts.h"
#include "runtime/launch/launch.h"
#include "tests/check.h"
#include "tests/runtime/exec/collectives.h"

// ---- What ranks play ------------------------------------------------------------------------

static volatile sig_atomic_t asked_to_stop;
static void on_signal(int signal) { (void)signal, asked_to_stop = 1; }

static gr_status barrier(gr_comm *c) { return gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL); }

static gr_status play_machines(gr_comm *c) { return check_collectives(c, 1, 80); }
static gr_status play_pairs(gr_comm *c) { return check_collectives(c, 2, 80); }
static gr_status play_well(gr_comm *c) {
  GR_TRY(check_collectives(c, 0, 80));
  return c->ranks % 2 ? GR_OK : check_mesh(c, c->ranks / 2, 2);
}

// All that is shared has no name, or none any more: ranks may be killed at any time from here on.
static gr_status play_nameless(gr_comm *c) {
  char line[4096];
  void *data;
  GR_TRY(c->ops->alloc_shared(c, 100000, &data));
  FILE *maps = fopen("/proc/self/maps", "r");
  bool shared = false, named = false;
  while (maps && fgets(line, sizeof line, maps)) {
    shared |= strstr(line, "memfd:") != NULL;
    named |= strstr(line, "_segment.") && !strstr(line, "(deleted)");
  }
  if (maps) fclose(maps);
  if (named || !shared)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%s", named ? "a file has a name" : "nothing is shared");
  return barrier(c);
}

// All ranks are there.
static gr_status before_it(gr_comm *c) {
  GR_TRY(barrier(c));
  if (c->rank != 1) return GR_OK;
  printf("now\n");
  fflush(stdout);
  return GR_OK;
}

static gr_status play_victim(gr_comm *c, int signal) {
  GR_TRY(before_it(c));
  if (c->rank == 1) kill(getpid(), signal);
  for (int i = 0; i < 100000; i++) GR_TRY(barrier(c));
  return GR_OK;
}
static gr_status play_killed(gr_comm *c) { return play_victim(c, SIGKILL); }

// Ranks are waited for so long once all have begun, which takes its time.
enum { WAITED_S = 10 };
static gr_status play_stopped(gr_comm *c) {
#if GR_HAVE_MPI
  ((gr_mpi *)c)->node.timeout_s = WAITED_S;
#endif
  return play_victim(c, SIGSTOP);
}

// When no other rank looks at it any more.
static gr_status play_stopped_last(gr_comm *c) {
  GR_TRY(before_it(c));
  return c->rank == 1 && kill(getpid(), SIGSTOP) ? gr_fail(GR_ERR_BUG, GR_NOWHERE, "kill") : GR_OK;
}

// Somewhere in a sum that ranks make in each other's memory.
static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}
static gr_status play_killed_at_work(gr_comm *c) {
  enum { BYTES = 8 << 20 };
  void *data;
  GR_TRY(c->ops->alloc_shared(c, BYTES, &data));
  signal(SIGALRM, die);
  struct itimerval soon = {.it_value.tv_usec = 50000 + getpid() % 1000};
  GR_TRY(before_it(c));
  if (c->rank == 1 && setitimer(ITIMER_REAL, &soon, NULL)) abort();
  while (true) GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_F32, BYTES / 4, data, data));
}

static gr_status play_exit(gr_comm *c) {
  GR_TRY(before_it(c));
  if (c->rank == 1) exit(3);
  return barrier(c);
}
static gr_status play_fault(gr_comm *c) {
  GR_TRY(before_it(c));
  if (c->rank == 1) *(volatile int *)(4 * (uintptr_t)c->ranks) = 1;
  return barrier(c);
}
static gr_status play_abort(gr_comm *c) {
  GR_TRY(before_it(c));
  if (c->rank == 1) abort();
  return barrier(c);
}

static gr_status play_failure(gr_comm *c) {
  GR_TRY(before_it(c));
  if (c->rank == 1) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "seven recordings are missing");
  return barrier(c);
}

// Stops with everyone at the same step, once any rank has the signal.
static gr_status play_stop(gr_comm *c) {
  GR_TRY(before_it(c));
  for (int32_t sum = 0; !sum;) {
    int32_t asked = asked_to_stop;
    GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_I32, 1, &asked, &sum));
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "asked to stop; all is saved");
}

static const struct role {
  const char *name;
  gr_status (*play)(gr_comm *);
  int ranks_per_machine;
  rlim_t most_file;  // ulimit -f, in bytes: larger memory cannot be shared
} roles[] = {
    {"well", play_well, 0},
    {"machines", play_machines, 1},
    {"pairs", play_pairs, 2},
    {"killed", play_killed, 0},
    {"killed-far", play_killed, 1},
    {"killed-at-work", play_killed_at_work, 0},
    {"stopped", play_stopped, 0},
    {"stopped-far", play_stopped, 1},
    {"stopped-last", play_stopped_last, 0},
    {"exit", play_exit, 0},
    {"fault", play_fault, 0},
    {"abort", play_abort, 0},
    {"failure", play_failure, 0},
    {"failure-far", play_failure, 1},
    {"stop", play_stop, 0},
    {"nameless", play_nameless, 0},
    {"alone", play_machines, 0, 5 << 20},  // Open MPI's own files are of 4 MiB
    {"by-buffers", play_well, 0, 10 << 20},
};

static int be_rank(const struct role *role) {
  gr_comm *world = NULL;
  struct rlimit most = {role->most_file, role->most_file};
  if (role->most_file && setrlimit(RLIMIT_FSIZE, &most)) abort();
  gr_status s = gr_mpi_open_machines(100000, role->ranks_per_machine, &world);
  int rank = -1;
  if (s) gr_launch_started(&rank, NULL);
  if (s) return gr_launch_report_exit(rank, s);
  rank = world->rank;
  signal(SIGTERM, on_signal);
  gr_launch_register_rank(rank);
  s = role->play(world);
  if (s) world->ops->abort(world, gr_status_text(s));
  gr_comm_close(world);
  return gr_launch_report_exit(rank, s);
}

static int play(char **argv) {
  gr_launch_plan plan;
  gr_launch_end end = {0};
  gr_status s = gr_launch_find(atoi(argv[3]), 0, &plan);
  plan.heartbeat_s = strcmp(argv[2], "stopped-last") ? 0 : 5;
  if (!s && plan.kind == GR_LAUNCH_RANK)
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
      if (!strcmp(roles[i].name, argv[2])) return be_rank(&roles[i]);
  if (!s && plan.kind == GR_LAUNCH_START) s = gr_launch_run(&plan, argv, &end);
  if (!s) return end.exit;
  gr_status_print(stderr, s);
  int code = gr_status_exit(s);
  gr_status_drop(s);
  return code;
}

// ---- What the user sees ---------------------------------------------------------------------

typedef struct seen {
  int exit;
  char text[16384];
} seen;

// Until `end` has been read, or all.
static void read_until(int fd, const char *end, seen *s) {
  size_t used = strlen(s->text);
  ssize_t n;
  while (!(end && strstr(s->text, end)) && used < sizeof s->text - 1 &&
         (n = read(fd, s->text + used, sizeof s->text - 1 - used)) != 0)
    if (n > 0)
      used += (size_t)n;
    else if (errno != EINTR)
      break;
}

// signal: sent to the launcher once its ranks have reported that they run; 0: none.
static void look_at(const char *role, const char *ranks, int signal, seen *s) {
  gr_launch_plan plan;
  MUST(gr_launch_find(2, 0, &plan));
  if (plan.kind != GR_LAUNCH_START) SKIP("%s", plan.why);
  int out[2], status = 0;
  *s = (seen){0};
  if (pipe(out)) abort();
  pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], STDOUT_FILENO), dup2(out[1], STDERR_FILENO);
    close(out[0]), close(out[1]);
    execl("/proc/self/exe", "test_mpi", "--play", role, ranks, (char *)NULL);
    _exit(127);
  }
  close(out[1]);
  if (signal) {
    read_until(out[0], "now\n", s);
    kill(pid, signal);
  }
  read_until(out[0], NULL, s);
  close(out[0]);
  waitpid(pid, &status, 0);
  s->exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_be(const seen *s, const char *role, int code, const char *says) {
  CHECK(s->exit == code, "%s: exit code %d, expected %d, having said:\n%s", role, s->exit, code,
        s->text);
  CHECK(strstr(s->text, says), "%s: expected '%s', got:\n%s", role, says, s->text);
  const char *first = strstr(s->text, "error:");
  CHECK(!first == !*says && (!first || !strstr(first + 1, "error:")), "%s: not one message:\n%s",
        role, s->text);
}

static void is_quiet(const char *role, const char *ranks) {
  seen s;
  look_at(role, ranks, 0, &s);
  must_be(&s, role, 0, "");
  CHECK(!*s.text, "%s on %s ranks said:\n%s", role, ranks, s.text);
}

static void collectives(void) {
  is_quiet("well", "2");
  is_quiet("well", "3");
  is_quiet("well", "4");
}
static void over_machines(void) {
  is_quiet("machines", "2");
  is_quiet("pairs", "3");
}

static void nothing_has_a_name(void) { is_quiet("nameless", "2"); }
static void memory_that_cannot_be_shared(void) {
  is_quiet("alone", "3");
  is_quiet("by-buffers", "4");
}

static void ends(const char *role, int code, const char *says) {
  seen s;
  look_at(role, "3", 0, &s);
  must_be(&s, role, code, says);
}
static void a_dead_rank_is_named(void) {
  ends("killed", 71, "rank 1 was killed by SIGKILL");
  ends("killed-far", 71, "rank 1 was killed by SIGKILL");
  ends("killed-at-work", 71, "rank 1 was killed by SIGKILL");
  ends("fault", 71, "rank 1 was killed by SIGSEGV");
  ends("abort", 71, "rank 1 was killed by SIGABRT");
  ends("exit", 71, "rank 1 (process");
}
static void a_stopped_rank_is_named(void) {
  ends("stopped", 72, "rank 1 did not reach");
  ends("stopped-far", 72, "did not complete within 10 s");
  ends("stopped-last", 72, "rank 1 has shown no sign of life");
}
static void the_cause_is_the_last_word(void) {
  ends("failure", 66, "seven recordings are missing");
  ends("failure-far", 66, "seven recordings are missing");
}

static void signals_come_through(void) {
  seen s;
  look_at("stop", "2", SIGTERM, &s);
  must_be(&s, "stop", 75, "all is saved");
  look_at("stop", "2", SIGINT, &s);  // which these ranks do not catch: they receive SIGTERM
  must_be(&s, "stop", 75, "all is saved");
}

static void refused(const char *size, const char *rank, int wanted, const char *says) {
  gr_launch_plan plan;
  setenv(size, "4", 1), setenv(rank, "0", 1);
  gr_status s = gr_launch_find(wanted, 0, &plan);
  CHECK(gr_status_code(s) == GR_ERR_LAUNCH && strstr(gr_status_text(s), says), "%s: %s", size,
        gr_status_text(s));
  gr_status_drop(s);
  unsetenv(size), unsetenv(rank);
}
static void foreign_launchers_are_refused(void) {
  refused("WORLD_SIZE", "RANK", 2, "RANK and WORLD_SIZE started 4");
  gr_launch_plan plan;
  MUST(gr_launch_find(2, 0, &plan));
  if (plan.kind == GR_LAUNCH_START)
    refused("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", 2, "started 4");
}

static void numbers_of_ranks(void) {
  gr_launch_plan plan;
  MUST(gr_launch_find(0, 0, &plan));
  CHECK(plan.ranks == (gr_processors() > 1 ? 2 : 1), "%d ranks: %s", plan.ranks, plan.why);
  MUST(gr_launch_find(0, 8, &plan));
  CHECK(plan.ranks == 8 && strstr(plan.why, "GPU"), "%d ranks: %s", plan.ranks, plan.why);
  MUST(gr_launch_find(1, 8, &plan));
  CHECK(plan.ranks == 1 && plan.kind == GR_LAUNCH_ALONE, "%d ranks: %s", plan.ranks, plan.why);
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--play")) return play(argv);
  return RUN(argc, argv, {"collectives", collectives}, {"over_machines", over_machines},
             {"nothing_has_a_name", nothing_has_a_name},
             {"memory_that_cannot_be_shared", memory_that_cannot_be_shared},
             {"a_dead_rank_is_named", a_dead_rank_is_named},
             {"a_stopped_rank_is_named", a_stopped_rank_is_named},
             {"the_cause_is_the_last_word", the_cause_is_the_last_word},
             {"signals_come_through", signals_come_through},
             {"foreign_launchers_are_refused", foreign_launchers_are_refused},
             {"numbers_of_ranks", numbers_of_ranks});
}
