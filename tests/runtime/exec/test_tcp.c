// test_tcp.c - ranks that find each other over TCP: on one machine, and on machines that are played
// by threads which do not share memory.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/net.h"
#include "runtime/comm/store.h"
#include "runtime/comm/tcp_parts.h"
#include "runtime/launch/rendezvous.h"
#include "tests/check.h"
#include "tests/runtime/exec/collectives.h"

enum { MAX_RANKS = 6 };
typedef gr_status (*body)(gr_comm *, int per_machine);
typedef struct member {
  pthread_t thread;
  gr_store_options opt;
  int per_machine;
  body run;
  gr_status status;
} member;

static void *run_member(void *arg) {
  member *m = arg;
  gr_comm *world;
  m->status = gr_tcp_open(&m->opt, m->per_machine, &world);
  if (!m->status) m->status = m->run(world, m->per_machine);
  if (m->status && world) world->ops->abort(world, gr_status_text(m->status));
  gr_comm_close(world);
  return NULL;
}

static void begin_on_ranks(const char *token, int ranks, int per_machine, double timeout_s,
                           body run, member m[MAX_RANKS]) {
  int fd, port;
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  for (int r = 0; r < ranks; r++) {
    gr_store_options o = {.host = "127.0.0.1",
                          .port = port,
                          .ports = 1,
                          .local = true,
                          .token = token,
                          .rank = r,
                          .ranks = ranks,
                          .timeout_s = timeout_s,
                          .setting = "MASTER_PORT"};
    m[r] = (member){.opt = o, .per_machine = per_machine, .run = run};
    if (pthread_create(&m[r].thread, NULL, run_member, &m[r])) abort();
  }
}

static void on_ranks(int ranks, int per_machine, double timeout_s, body run, member m[MAX_RANKS]) {
  begin_on_ranks("test_tcp", ranks, per_machine, timeout_s, run, m);
  for (int r = 0; r < ranks; r++) pthread_join(m[r].thread, NULL);
}

static void all_well(int ranks, int per_machine, body run) {
  member m[MAX_RANKS];
  on_ranks(ranks, per_machine, 100000, run, m);
  for (int r = 0; r < ranks; r++) {
    CHECK(!m[r].status, "rank %d of %d, %d on each machine: %s", r, ranks, per_machine,
          gr_status_text(m[r].status));
    gr_status_drop(m[r].status);
  }
}

static gr_status many(gr_comm *c, int per_machine) { return check_collectives(c, per_machine, 60); }
static gr_status mesh_2x2(gr_comm *c, int per_machine) {
  (void)per_machine;
  return check_mesh(c, 2, 2);
}
static gr_status mesh_3x2(gr_comm *c, int per_machine) {
  (void)per_machine;
  return check_mesh(c, 3, 2);
}

static gr_status places(gr_comm *c, int per_machine) {
  int of = per_machine ? per_machine : c->ranks, first = c->rank / of * of;
  int here = c->ranks - first < of ? c->ranks - first : of;
  if (c->local_rank == c->rank - first && c->local_ranks == here) return GR_OK;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "local rank %d of %d, expected %d of %d", c->local_rank,
                 c->local_ranks, c->rank - first, here);
}
static void ranks_of_a_machine_are_counted(void) {
  for (int per = 0; per <= 3; per++) all_well(5, per, places);
}

static void on_one_machine(void) {
  for (int ranks = 1; ranks <= 4; ranks++) all_well(ranks, 0, many);
  all_well(4, 0, mesh_2x2);
}
static void on_several_machines(void) {
  all_well(2, 1, many);
  all_well(3, 1, many);
  all_well(4, 2, many);
  all_well(5, 2, many);
  all_well(5, 3, many);
}

// On a mesh whose axes lie across machines in different ways, sums of integers are exact.
static void meshes_over_machines(void) {
  all_well(4, 1, mesh_2x2);
  all_well(6, 1, mesh_3x2);
}

// A connection that does not know the job's token is closed.
static gr_status a_stranger_is_refused(gr_comm *c, int per_machine) {
  const gr_tcp_place *place = &((gr_tcp *)c)->place[c->rank];
  gr_net_wait w = {gr_seconds() + 600, NULL};
  gr_tcp_hello h = {GR_TCP_MAGIC, 1, gr_hash_text("another job"), 1};
  int fd;
  if (gr_net_connect(place->address, place->port, w, &fd) || gr_net_send(fd, &h, sizeof h, w))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "no connection to %s:%d", place->address, place->port);
  gr_status s = mesh_2x2(c, per_machine);
  bool closed = gr_net_receive(fd, &h, 1, (gr_net_wait){gr_seconds(), NULL}) == ECONNRESET;
  close(fd);
  if (s || closed || c->rank) return s;  // rank 0 is the one that others connect to
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a connection of another job is kept");
}
static void other_jobs_are_refused(void) { all_well(4, 1, a_stranger_is_refused); }

// Connections that say nothing, where machines connect to each other.
static gr_status among_idle_connections(gr_comm *c, int per_machine) {
  enum { IDLE = 70 };
  const gr_tcp_place *place = &((gr_tcp *)c)->place[c->rank];
  gr_net_wait w = {gr_seconds() + 600, NULL};
  int idle[IDLE];
  for (int i = 0; i < IDLE; i++)
    if (gr_net_connect(place->address, place->port, w, &idle[i]))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "no connection %d to %s:%d", i, place->address,
                     place->port);
  gr_status s = mesh_2x2(c, per_machine);
  for (int i = 0; i < IDLE; i++) close(idle[i]);
  return s;
}
static void idle_connections_keep_none_out(void) { all_well(4, 1, among_idle_connections); }

// Two worlds at once, of one token each, on ports of their own: sums are those of their own ranks.
static gr_status sums_of_world(gr_comm *c, int per_machine) {
  const gr_store_options *o = &((gr_tcp *)c)->opt;
  int32_t term = strcmp(o->token, "test_tcp") ? 1000 : 1, all = 0;
  (void)per_machine;
  for (int i = 0; i < 200; i++) {
    GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_I32, 1, &term, &all));
    if (all != term * c->ranks)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the sum is %d instead of %d", all, term * c->ranks);
  }
  return GR_OK;
}
static void two_worlds_at_once(void) {
  for (int per = 0; per <= 1; per++) {
    member m[2][MAX_RANKS];
    begin_on_ranks("test_tcp", 3, per, 100000, sums_of_world, m[0]);
    begin_on_ranks("another", 3, per, 100000, sums_of_world, m[1]);
    for (int i = 0; i < 6; i++) {
      member *one = &m[i / 3][i % 3];
      pthread_join(one->thread, NULL);
      CHECK(!one->status, "world %d, rank %d: %s", i / 3, i % 3, gr_status_text(one->status));
      gr_status_drop(one->status);
    }
  }
}

// Two communicators of one world, used in turns: neither gets what the other sends.
static gr_status two_parts(gr_comm *c, int per_machine) {
  gr_comm *part[2] = {NULL, NULL};
  (void)per_machine;
  GR_TRY(c->ops->split(c, c->rank % 2, c->rank, &part[0]));
  gr_status s = c->ops->split(c, c->rank / 2, -c->rank, &part[1]);
  for (int i = 0; i < 100 && !s; i++)
    for (int k = 0; k < 2 && !s; k++) {
      int32_t term = (c->rank + 1) * (i + 1) * (k ? 1000 : 1), all = 0, expected = 0;
      s = gr_comm_run(part[k], GR_ALL_REDUCE, GR_I32, 1, &term, &all);
      for (int r = 0; r < c->ranks; r++)
        if (k ? r / 2 == c->rank / 2 : r % 2 == c->rank % 2)
          expected += (r + 1) * (i + 1) * (k ? 1000 : 1);
      if (!s && all != expected)
        s = gr_fail(GR_ERR_BUG, GR_NOWHERE, "part %d: %d instead of %d", k, all, expected);
      if (!s && k && part[1]->rank != 1 - c->rank % 2)
        s = gr_fail(GR_ERR_BUG, GR_NOWHERE, "the key does not order the ranks");
    }
  for (int k = 0; k < 2 && part[k]; k++) part[k]->ops->close(part[k]);
  return s;
}
static void two_communicators_of_a_world(void) {
  for (int per = 0; per <= 2; per++) all_well(4, per, two_parts);
}

// ---- Ranks that fail ----------------------------------------------------------------------------

static gr_status rank_1_fails(gr_comm *c, int per_machine) {
  (void)per_machine;
  if (c->rank == 1) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "seven recordings are missing");
  for (int i = 0; i < 1000000; i++) GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
  return GR_OK;
}
static void failures_reach_other_machines(void) {
  for (int per = 1; per <= 2; per++) {
    member m[MAX_RANKS];
    on_ranks(4, per, 100000, rank_1_fails, m);
    for (int r = 0; r < 4; r++) {
      gr_code code = r == 1 ? GR_ERR_DATA : GR_ERR_RANK;
      const char *text = gr_status_text(m[r].status);
      CHECK(gr_status_code(m[r].status) == code && strstr(text, "seven recordings are missing"),
            "rank %d: %s", r, text);
      gr_status_drop(m[r].status);
    }
  }
}

static gr_status rank_1_is_silent(gr_comm *c, int per_machine) {
  (void)per_machine;
  GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
  ((gr_tcp *)c)->node.timeout_s = 5;  // once all have begun, which takes its time
  gr_status s = c->rank == 1 ? GR_OK : gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
  for (int i = 0; c->rank == 1 && !s; i++) {
    s = c->ops->check(c);
    usleep(10000);
  }
  return s;
}
static void silence_is_a_hang(void) {
  member m[MAX_RANKS];
  on_ranks(3, 1, 100000, rank_1_is_silent, m);
  for (int r = 0; r < 3; r++) {
    const char *text = gr_status_text(m[r].status);
    CHECK(gr_status_code(m[r].status) == GR_ERR_HANG && strstr(text, "did not complete within 5 s"),
          "rank %d: %s", r, text);
    gr_status_drop(m[r].status);
  }
}

static bool stop_now(void) { return true; }

// A communicator that no other rank opens: rank 0 waits for its machine, and rank 1 connects to it.
static gr_status stopped_between_machines(gr_comm *c, int per_machine) {
  static const int leaders[] = {0, 1};
  gr_tcp part = *(gr_tcp *)c;
  (void)per_machine;
  part.id++, part.peer = part.leader = NULL;
  part.world->opt.stop = stop_now;
  gr_status s = gr_tcp_connect(&part, leaders);
  gr_tcp_disconnect(&part);
  part.world->opt.stop = NULL;
  if (gr_status_code(s) != GR_ERR_STOPPED)
    return s ? s : gr_fail(GR_ERR_BUG, GR_NOWHERE, "rank %d was not stopped", c->rank);
  gr_status_drop(s);
  return GR_OK;
}
static void a_request_to_stop_ends_connecting(void) { all_well(2, 1, stopped_between_machines); }
// ---- Where rank 0 is ----------------------------------------------------------------------------

static const char *const variables[] = {"WORLD_SIZE",
                                        "RANK",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "LOCAL_WORLD_SIZE",
                                        "TORCHELASTIC_RUN_ID",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_PROCID",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_NNODES",
                                        "GRAPHRUN_TOKEN"};

// Sets variables "NAME=VALUE ..." and reads the rendezvous; then unsets them.
static gr_status read_from(const char *text, gr_rendezvous *out) {
  char copy[512];
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  snprintf(copy, sizeof copy, "%s", text);
  for (char *cursor = strtok(copy, " "); cursor; cursor = strtok(NULL, " ")) {
    char *value = strchr(cursor, '=');
    *value = 0;
    setenv(cursor, value + 1, 1);
  }
  gr_status s = gr_launch_rendezvous(out);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  return s;
}

static void is_at(const char *text, const char *host, int port, int ports, bool local) {
  gr_rendezvous r;
  MUST(read_from(text, &r));
  CHECK(!strcmp(r.host, host) && (!port || r.port == port) && r.ports == ports && r.local == local,
        "%s: %s port %d, %d ports%s", text, r.host, r.port, r.ports, r.local ? ", local" : "");
}
static void is_refused(const char *text, const char *says) {
  gr_rendezvous r;
  gr_status s = read_from(text, &r);
  CHECK(gr_status_code(s) == GR_ERR_LAUNCH && strstr(gr_status_text(s), says), "%s: %s", text,
        gr_status_text(s));
  gr_status_drop(s);
}

static void variables_say_where(void) {
  is_at("WORLD_SIZE=4 RANK=1 MASTER_ADDR=gpu7 MASTER_PORT=29500", "gpu7", 29500, 1, false);
  is_at("WORLD_SIZE=4 RANK=1 MASTER_ADDR=::1 MASTER_PORT=29500", "::1", 29500, 1, true);
  is_at(
      "WORLD_SIZE=4 RANK=1 MASTER_ADDR=gpu7 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none "
      "TORCHELASTIC_USE_AGENT_STORE=True",
      "gpu7", 29501, 16, false);
  is_at(
      "WORLD_SIZE=4 RANK=1 MASTER_ADDR=gpu7 MASTER_PORT=65530 TORCHELASTIC_RUN_ID=none "
      "TORCHELASTIC_USE_AGENT_STORE=True",
      "gpu7", 65531, 5, false);
  is_at(
      "WORLD_SIZE=4 RANK=1 MASTER_ADDR=gpu7 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none "
      "LOCAL_WORLD_SIZE=4",
      "127.0.0.1", 29500, 1, true);
  is_at("WORLD_SIZE=1 RANK=0 MASTER_ADDR=gpu7 MASTER_PORT=65535 TORCHELASTIC_RUN_ID=none", "gpu7",
        65535, 1, false);
  is_at("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_NNODES=1 SLURM_JOB_ID=7 SLURM_STEP_ID=1",
        "127.0.0.1", 20000 + 7 * 131 + 1, 16, true);
  is_at("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_NNODES=2 SLURM_STEP_NODELIST=gpu[03-04,9],x",
        "gpu03", 20000, 16, false);
  is_at(
      "SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_NNODES=2 SLURM_STEP_NODELIST=a,b "
      "MASTER_ADDR=b MASTER_PORT=1234",
      "b", 1234, 1, false);
  is_refused("WORLD_SIZE=4 RANK=1", "MASTER_ADDR is not");
  is_refused("WORLD_SIZE=4 RANK=1 MASTER_ADDR=a", "MASTER_PORT is not");
  is_refused("WORLD_SIZE=4 RANK=1 MASTER_ADDR=a MASTER_PORT=x", "MASTER_PORT is 'x'");
  is_refused(
      "WORLD_SIZE=4 RANK=1 MASTER_ADDR=a MASTER_PORT=65535 TORCHELASTIC_RUN_ID=none "
      "TORCHELASTIC_USE_AGENT_STORE=True",
      "no port comes after it");
  is_refused("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3", "does not say where rank 0 is");
}

// A launcher or the user names the job by its token; a port alone does not.
static void variables_name_the_job(void) {
  static const struct {
    const char *more;
    bool named;
  } jobs[] = {{"", false},
              {" TORCHELASTIC_RUN_ID=none", false},
              {" TORCHELASTIC_RUN_ID=6f2a", true},
              {" GRAPHRUN_TOKEN=mine", true}};
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
    char text[256];
    gr_rendezvous r;
    snprintf(text, sizeof text, "WORLD_SIZE=4 RANK=1 MASTER_ADDR=a MASTER_PORT=29500%s",
             jobs[i].more);
    MUST(read_from(text, &r));
    CHECK(r.named == jobs[i].named, "%s: %d", text, r.named);
    CHECK(!strstr(text, "TOKEN") || !strcmp(r.token, "mine"), "%s: the token is %s", text, r.token);
  }
}

// Ranks that torchrun has restarted are another job than those from before.
static void restarts(void) {
  gr_rendezvous r[3];
  for (int i = 0; i < 3; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "WORLD_SIZE=4 RANK=1 MASTER_ADDR=a MASTER_PORT=29500 TORCHELASTIC_RUN_ID=6f2a "
             "TORCHELASTIC_RESTART_COUNT=%d",
             i % 2);
    MUST(read_from(text, &r[i]));
  }
  CHECK(strcmp(r[0].token, r[1].token) != 0 && !strcmp(r[0].token, r[2].token), "%s and %s",
        r[0].token, r[1].token);
}

static void node_lists(void) {
  static const char *const lists[][2] = {
      {"host", "host"}, {"a,b[1-2]", "a"}, {"n[1,3]", "n1"}, {"n[001-128]-ib,m", "n001-ib"}};
  char first[64];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    CHECK(gr_launch_first_node(lists[i][0], first, sizeof first) && !strcmp(first, lists[i][1]),
          "%s: %s", lists[i][0], first);
  CHECK(!gr_launch_first_node("n[1-2", first, sizeof first), "%s", first);
  CHECK(!gr_launch_first_node("r[1-2]n[3-4]", first, sizeof first), "%s", first);
  CHECK(!gr_launch_first_node("", first, sizeof first), "%s", first);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"on_one_machine", on_one_machine},
             {"ranks_of_a_machine_are_counted", ranks_of_a_machine_are_counted},
             {"on_several_machines", on_several_machines},
             {"meshes_over_machines", meshes_over_machines},
             {"idle_connections_keep_none_out", idle_connections_keep_none_out},
             {"other_jobs_are_refused", other_jobs_are_refused},
             {"two_worlds_at_once", two_worlds_at_once},
             {"two_communicators_of_a_world", two_communicators_of_a_world},
             {"failures_reach_other_machines", failures_reach_other_machines},
             {"silence_is_a_hang", silence_is_a_hang},
             {"a_request_to_stop_ends_connecting", a_request_to_stop_ends_connecting},
             {"variables_say_where", variables_say_where},
             {"variables_name_the_job", variables_name_the_job}, {"restarts", restarts},
             {"node_lists", node_lists});
}
