// test_nccl_faults.c - GPUs' collectives with ranks that die, fail, hang or differ, on the
// stand-ins. Ranks are processes: `test_nccl_faults --play ROLE RANK RANKS PORT` is one of them.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/net.h"
#include "runtime/comm/store.h"
#include "tests/check.h"
#include "tests/gpu/nccl_rank.h"

// Seconds: until a hang is found, in which ranks that do not hang do their part; of what no
// time-out ends.
enum { SHORT_S = 10, LONG_S = 100000 };

static gr_status reduce(nccl_rank *r, int64_t n) {
  float *data = r->block.address;
  GR_TRY(gr_comm_run(r->comm, GR_ALL_REDUCE, GR_F32, n, data, data));
  return nccl_rank_download(r, r->got, data, 64);
}

static gr_status play_well(nccl_rank *r) {
  for (int i = 0; i < 5; i++) GR_TRY(reduce(r, 1000));
  return GR_OK;
}
static gr_status play_killed(nccl_rank *r) {
  GR_TRY(reduce(r, 1000));
  if (r->comm->rank == 1) kill(getpid(), SIGKILL);
  return reduce(r, 1000);
}
static gr_status play_mismatch(nccl_rank *r) {
  GR_TRY(reduce(r, 1000));
  return reduce(r, r->comm->rank == 1 ? 999 : 1000);
}
static gr_status play_failure(nccl_rank *r) {
  GR_TRY(reduce(r, 1000));
  if (r->comm->rank == 1) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "seven recordings are missing");
  return reduce(r, 1000);
}

// A captured collective that hangs: the graph that has it keeps NCCL's communicator in use.
static gr_status issue(void *arg) {
  const nccl_rank *r = arg;
  float *data = r->block.address;
  GR_TRY(nccl_rank_fork(r));
  GR_TRY(gr_comm_run(r->comm, GR_ALL_REDUCE, GR_F32, 1000, data, data));
  return nccl_rank_join(r);
}
static gr_status play_captured(nccl_rank *r) {
  enum { MOST = 300 };  // seconds that ending it may take: it waits for the graph without end
  gr_status s = GR_OK;
  double begun = gr_seconds();
  for (int i = 0; i < 4 && !s; i++) {
    begun = gr_seconds();
    s = r->device->ops->run(r->device, (const gr_graph *)r, issue, r);
    s = s ? s : nccl_rank_download(r, r->got, r->block.address, 64);
  }
  if (gr_seconds() - begun < SHORT_S + MOST) return s;
  gr_status_drop(s);
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "it took %g s to end", gr_seconds() - begun);
}

static const struct role {
  const char *name;
  gr_status (*run)(nccl_rank *);
  double timeout_s;
} roles[] = {{"well", play_well, LONG_S},       {"fault", play_well, LONG_S},
             {"hang", play_well, SHORT_S},      {"captured", play_captured, SHORT_S},
             {"killed", play_killed, LONG_S},   {"mismatch", play_mismatch, LONG_S},
             {"failure", play_failure, LONG_S}, {"absent", play_well, SHORT_S}};

static int play(char **argv) {
  const struct role *role = roles;
  while (strcmp(role->name, argv[2])) role++;
  gr_store_options o = {.host = "127.0.0.1",
                        .port = atoi(argv[5]),
                        .ports = 1,
                        .local = true,
                        .token = "test_nccl_faults",
                        .rank = atoi(argv[3]),
                        .ranks = atoi(argv[4]),
                        .timeout_s = LONG_S,
                        .setting = "MASTER_PORT"};
  gr_comm *world = NULL;
  nccl_rank r = {0};
  gr_status s = gr_tcp_open(&o, 0, &world);
  if (!s && !strcmp(role->name, "absent") && world->rank == 1) {
    // It takes part in the host's broadcast of NCCL's id, but not in NCCL.
    char id[129];
    s = gr_comm_all_ok(world, GR_OK);
    s = s ? s : gr_comm_run(world, GR_BROADCAST, GR_U8, sizeof id, id, id);
    while (!s) {
      s = world->ops->check(world);
      usleep(10000);
    }
  } else {
    s = s ? s : nccl_rank_open(&r, world, role->timeout_s);
    s = s ? s : role->run(&r);
  }
  if (s && world) world->ops->abort(world, gr_status_text(s));
  nccl_rank_close(&r);
  gr_comm_close(world);
  if (s) gr_status_print(stdout, s);
  int code = gr_status_exit(s);
  gr_status_drop(s);
  return code;
}

enum { PLAYERS = 3 };
typedef struct seen {
  int exit[PLAYERS];  // -1: killed
  char text[PLAYERS][4096];
} seen;

static void look_at(const char *role, const char *fault, seen *out) {
  int fd, port, pipes[PLAYERS][2];
  pid_t pid[PLAYERS];
  char numbers[3][16];
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  for (int i = 0; i < PLAYERS; i++) {
    if (pipe(pipes[i])) abort();
    snprintf(numbers[0], 16, "%d", i), snprintf(numbers[1], 16, "%d", PLAYERS);
    snprintf(numbers[2], 16, "%d", port);
    pid[i] = fork();
    if (pid[i]) {
      close(pipes[i][1]);
      continue;
    }
    dup2(pipes[i][1], STDOUT_FILENO);
    if (fault) setenv("STANDIN_NCCL_FAULT", fault, 1);
    execl("/proc/self/exe", "test_nccl_faults", "--play", role, numbers[0], numbers[1], numbers[2],
          (char *)NULL);
    _exit(127);
  }
  for (int i = 0; i < PLAYERS; i++) {
    int status;
    size_t used = 0;
    for (ssize_t n;
         (n = read(pipes[i][0], out->text[i] + used, sizeof out->text[i] - 1 - used)) > 0;)
      used += (size_t)n;
    out->text[i][used] = 0;
    close(pipes[i][0]);
    waitpid(pid[i], &status, 0);
    out->exit[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
}

// The exit codes of ranks 0 and 1, and what they say.
static void ends(const char *role, const char *fault, int code, const char *says, int code_1,
                 const char *says_1) {
  seen s;
  look_at(role, fault, &s);
  CHECK(s.exit[0] == code && strstr(s.text[0], says), "%s: rank 0: %d, expected %d and '%s': %s",
        role, s.exit[0], code, says, s.text[0]);
  CHECK(s.exit[1] == code_1 && strstr(s.text[1], says_1),
        "%s: rank 1: %d, expected %d and '%s': %s", role, s.exit[1], code_1, says_1, s.text[1]);
}

static void processes(void) { ends("well", NULL, 0, "", 0, ""); }
static void a_dead_rank_is_named(void) {
  ends("killed", NULL, 71, "rank 1 died: its process", -1, "");
}
static void a_failing_rank_is_named(void) {
  ends("failure", NULL, 71, "rank 1 has failed: seven recordings are missing", 66,
       "seven recordings");
  ends("fault", "1:3:fail", 71, "rank 1 failed", 71, "NCCL fails on rank");
}
// What all ranks notice: the first one ends with the cause's code, and may tell the others before
// they have noticed it themselves.
static void all_notice(const char *role, const char *fault, int code, const char *says) {
  seen s;
  int first = 0;
  look_at(role, fault, &s);
  for (int i = 0; i < PLAYERS; i++) {
    first += s.exit[i] == code;
    CHECK((s.exit[i] == code || s.exit[i] == 71) && strstr(s.text[i], says),
          "%s: rank %d: %d, expected %d and '%s': %s", role, i, s.exit[i], code, says, s.text[i]);
  }
  CHECK(first, "%s: no rank ends with %d", role, code);
}
static void other_collectives_are_an_error(void) {
  all_notice("mismatch", NULL, 1, "AllReduce(count 999");
}
static void a_hang_is_noticed(void) {
  all_notice("hang", "1:3:hang", 72, "did not complete within 10 s");
}
static void a_captured_hang_is_noticed(void) {
  all_notice("captured", "1:3:hang", 72, "did not complete within 10 s");
}
static void an_absent_rank_is_noticed(void) {
  ends("absent", NULL, 72, "connecting of rank 0 with NCCL did not complete within 10 s", 71,
       "did not complete");
}

// NCCL counts a thread's groups: an open one would keep all that follows from beginning.
static void failed_groups_are_closed(void) {
  for (int good = 0; good < 2; good++) {
    nccl_rank r;
    gr_loopback *world;
    if (good)
      unsetenv("STANDIN_NCCL_FAULT");
    else
      setenv("STANDIN_NCCL_FAULT", "0:2:refuse", 1);
    MUST(gr_loopback_create(1, 60, &world));
    MUST(nccl_rank_open(&r, gr_loopback_comm(world, 0), 60));
    float *data = r.block.address;
    const gr_comm_piece two[] = {{1000, data, data}, {24, data + 1000, data + 1000}};
    gr_status s = r.comm->ops->run(r.comm, GR_ALL_REDUCE, GR_F32, 2, two);
    CHECK((s == GR_OK) == good, "%s", s ? gr_status_text(s) : "a refused call is no error");
    gr_status_drop(s);
    nccl_rank_close(&r);
    gr_loopback_destroy(world);
  }
}

int main(int argc, char **argv) {
  if (argc == 6 && !strcmp(argv[1], "--play")) return play(argv);
  return RUN(argc, argv, {"processes", processes}, {"a_dead_rank_is_named", a_dead_rank_is_named},
             {"a_failing_rank_is_named", a_failing_rank_is_named},
             {"other_collectives_are_an_error", other_collectives_are_an_error},
             {"a_hang_is_noticed", a_hang_is_noticed},
             {"a_captured_hang_is_noticed", a_captured_hang_is_noticed},
             {"an_absent_rank_is_noticed", an_absent_rank_is_noticed},
             {"failed_groups_are_closed", failed_groups_are_closed});
}
