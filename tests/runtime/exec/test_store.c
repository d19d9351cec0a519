// test_store.c - the store by which ranks without MPI find each other: ranks are threads here.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/net.h"
#include "runtime/comm/store.h"
#include "runtime/comm/store_wire.h"
#include "tests/check.h"

// LONG_S: of what no time-out ends. SHORT_S: until it is found that a rank does not come, and in
// which the others do.
enum { MAX_RANKS = 64, LONG_S = 100000, SHORT_S = 10 };
typedef gr_status (*body)(gr_store *, int rank, int ranks);
typedef struct member {
  pthread_t thread;
  gr_store_options opt;
  body run;
  gr_status status;
} member;

// A port that was free a moment ago.
static int free_port(void) {
  int fd, port;
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  return port;
}

static gr_store_options options(int port, int rank, int ranks, double timeout_s) {
  return (gr_store_options){.host = "127.0.0.1",
                            .port = port,
                            .ports = 1,
                            .local = true,
                            .token = "a job",
                            .rank = rank,
                            .ranks = ranks,
                            .timeout_s = timeout_s,
                            .setting = "MASTER_PORT"};
}

static void *run_member(void *arg) {
  member *m = arg;
  gr_store *s;
  m->status = gr_store_open(&m->opt, &s);
  if (!m->status && m->run) m->status = m->run(s, m->opt.rank, m->opt.ranks);
  gr_store_close(s);
  return NULL;
}

static void begin(member *m, gr_store_options o, body run) {
  *m = (member){.opt = o, .run = run};
  if (pthread_create(&m->thread, NULL, run_member, m)) abort();
}

static void end(member *m, int n) {
  for (int i = 0; i < n; i++) pthread_join(m[i].thread, NULL);
}

static void check_well(const member *m, int n) {
  for (int r = 0; r < n; r++) {
    CHECK(!m[r].status, "rank %d of %d: %s", r, n, gr_status_text(m[r].status));
    gr_status_drop(m[r].status);
  }
}

static void all_well(int ranks, body run) {
  static member m[MAX_RANKS];
  int port = free_port();
  for (int r = 0; r < ranks; r++) begin(&m[r], options(port, r, ranks, LONG_S), run);
  end(m, ranks);
  check_well(m, ranks);
}

static void expect(member *m, gr_code code, const char *says) {
  const char *text = gr_status_text(m->status), *hint = gr_status_hint(m->status);
  CHECK(gr_status_code(m->status) == code && (strstr(text, says) || (hint && strstr(hint, says))),
        "rank %d: expected code %d and '%s', got %d: %s; hint: %s", m->opt.rank, (int)code, says,
        (int)gr_status_code(m->status), text, hint ? hint : "none");
  gr_status_drop(m->status);
  m->status = GR_OK;
}

// ---- What it does -------------------------------------------------------------------------------

static gr_status keys(gr_store *s, int rank, int ranks) {
  char all[4 * MAX_RANKS], piece[4] = {'r', (char)rank, 0, 1};
  GR_TRY(gr_store_gather(s, "all", piece, 4, all));
  for (int r = 0; r < ranks; r++)
    if (all[4 * r] != 'r' || all[4 * r + 1] != r || all[4 * r + 3] != 1)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "rank %d's part is wrong", r);
  return gr_store_barrier(s, "end");
}
static void gathers(void) {
  all_well(1, keys);
  all_well(2, keys);
  all_well(5, keys);
}
static void sixty_four_ranks(void) { all_well(64, keys); }

static gr_status large(gr_store *s, int rank, int ranks) {
  size_t most = GR_STORE_VALUE;
  char *part = malloc(most), *all = malloc(most * (size_t)ranks);
  memset(part, 'a' + rank, most);
  GR_TRY(gr_store_gather(s, "large", part, most, all));
  bool same = true;
  for (int r = 0; r < ranks; r++)
    for (size_t i = 0; i < most; i++) same &= all[(size_t)r * most + i] == 'a' + r;
  free(part), free(all);
  if (!same) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a large part has changed");
  return gr_store_barrier(s, "end");
}
static void large_parts(void) { all_well(3, large); }

// ---- Ranks that do not come, do not belong here, or die -----------------------------------------

static void a_missing_rank_is_named(void) {
  member m[3];
  int port = free_port();
  for (int i = 0; i < 2; i++) begin(&m[i], options(port, 2 * i, 4, SHORT_S), NULL);
  end(m, 2);
  for (int i = 0; i < 2; i++) expect(&m[i], GR_ERR_HANG, "ranks 1, 3 did not join within 10 s");
}

static gr_status only_rank_0(gr_store *s, int rank, int ranks) {
  (void)ranks;
  if (rank) return GR_OK;
  gr_store_failure f;
  return gr_store_gather(s, "more", "", 0, &f);
}
static void a_rank_that_left_is_not_waited_for(void) {
  member m[2];
  int port = free_port();
  for (int r = 0; r < 2; r++) begin(&m[r], options(port, r, 2, LONG_S), only_rank_0);
  end(m, 2);
  expect(&m[0], GR_ERR_RANK, "rank 1 has ended while other ranks wait for it");
}

static void no_rank_0(void) {
  member m;
  begin(&m, options(free_port(), 1, 2, 0.5), NULL);
  end(&m, 1);
  expect(&m, GR_ERR_HANG, "rank 0 was not found within");
}

static void another_token_is_refused(void) {
  member m[2];
  int port = free_port();
  for (int r = 0; r < 2; r++) {
    gr_store_options o = options(port, r, 2, SHORT_S);
    if (r) o.token = "another job";
    begin(&m[r], o, NULL);
  }
  end(m, 2);
  expect(&m[0], GR_ERR_HANG, "rank 1 did not join");
  expect(&m[1], GR_ERR_LAUNCH, "is rank 0 of another job");
}

// Jobs that only what they compute tells apart: the other one's rank is refused with both names,
// and one that does not know what it computes fits.
static void jobs_on_one_port_are_kept_apart(void) {
  member m[4];
  for (int r = 0, port = free_port(); r < 4; r++) {
    gr_store_options o = options(port, r == 3 ? 1 : r, 3, LONG_S);
    o.job = r == 2 ? 0 : r == 3 ? 8 : 7, o.job_name = r == 3 ? "'b.yaml'" : "'a.yaml'";
    if (r == 3) begin(&m[3], o, keys), end(&m[3], 1);
    if (r != 1 && r != 3) begin(&m[r], o, keys);
  }
  expect(&m[3], GR_ERR_LAUNCH, "is rank 0 of another job: 'a.yaml'; this is 'b.yaml'");
  m[3].opt.job = 7;
  begin(&m[1], m[3].opt, keys);
  end(m, 3);
  check_well(m, 3);
}

static void ranks_must_fit(void) {
  member m[3];
  int port = free_port();
  begin(&m[0], options(port, 0, 2, SHORT_S), NULL);
  begin(&m[1], options(port, 3, 4, SHORT_S), NULL);
  end(&m[1], 1);
  expect(&m[1], GR_ERR_LAUNCH, "this is rank 3 of 4, but rank 0 was started for 2 ranks");
  end(m, 1);
  expect(&m[0], GR_ERR_HANG, "rank 1 did not join");
  begin(&m[0], options(port = free_port(), 0, 3, SHORT_S), NULL);
  begin(&m[1], options(port, 1, 3, SHORT_S), NULL);
  begin(&m[2], options(port, 1, 3, SHORT_S), NULL);
  end(m, 3);
  expect(&m[0], GR_ERR_HANG, "rank 2 did not join");
  bool second = gr_status_code(m[2].status) == GR_ERR_LAUNCH;
  expect(&m[second ? 2 : 1], GR_ERR_LAUNCH, "there is a rank 1 already");
  expect(&m[second ? 1 : 2], GR_ERR_HANG, "rank 2 did not join");
}

// Connects as a process that is not this version's client, sends bytes, and waits until the server
// answers or closes the connection. Returns the number of bytes of the answer.
static size_t say(int port, const void *bytes, size_t n, void *answer, size_t room) {
  int fd;
  gr_net_wait w = {gr_seconds() + LONG_S, NULL};
  while (gr_net_connect("127.0.0.1", port, w, &fd)) {
    if (gr_seconds() > w.until) return 0;
    poll(NULL, 0, 10);
  }
  int error = gr_net_send(fd, bytes, n, w);
  size_t got = 0;
  while (!error && got < room && !gr_net_receive(fd, (char *)answer + got, 1, w)) got++;
  close(fd);
  return got;
}

static void other_versions_are_refused(void) {
  member m;
  int port = free_port();
  char answer[512] = {0};
  begin(&m, options(port, 0, 2, SHORT_S), NULL);
  gr_store_hello h = {GR_STORE_MAGIC, GR_STORE_VERSION + 1, gr_hash_text("a job"), 1, 2};
  size_t n = say(port, &h, GR_STORE_HELLO, answer, sizeof answer - 1);  // what all versions have
  CHECK(n > sizeof(gr_store_reply) &&
            strstr(answer + sizeof(gr_store_reply), "another version of graphrun"),
        "%zu bytes: %s", n, answer + sizeof(gr_store_reply));
  end(&m, 1);
  expect(&m, GR_ERR_HANG, "rank 1 did not join");
}

static void strangers_do_not_disturb(void) {
  static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: scanner\r\n\r\n";
  member m[2];
  int port = free_port(), silent;
  char answer[64], noise[4096];
  begin(&m[0], options(port, 0, 2, LONG_S), keys);
  for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 2654435761u >> 13);
  CHECK(say(port, http, sizeof http - 1, answer, sizeof answer) == 0, "an HTTP client is answered");
  CHECK(say(port, noise, sizeof noise, answer, sizeof answer) == 0, "noise is answered");
  gr_net_wait w = {gr_seconds() + LONG_S, NULL};
  uint32_t magic = GR_STORE_MAGIC;  // a slow peer: the beginning of a hello, and nothing more
  bool there = !gr_net_connect("127.0.0.1", port, w, &silent);
  CHECK(there && !gr_net_send(silent, &magic, sizeof magic, w), "nothing is sent");
  begin(&m[1], options(port, 1, 2, LONG_S), keys);
  end(m, 2);
  close(silent);
  check_well(m, 2);
}

// Connections that say nothing, more of them than there are places, keep no rank out.
static void idle_connections_keep_none_out(void) {
  enum { IDLE = 300 };
  static int idle[IDLE], port;
  member m[3];
  gr_net_wait w = {gr_seconds() + LONG_S, NULL};
  begin(&m[0], options(port = free_port(), 0, 3, LONG_S), keys);
  while (gr_net_connect("127.0.0.1", port, w, &idle[0])) poll(NULL, 0, 10);
  for (int i = 1; i < IDLE; i++)
    CHECK(!gr_net_connect("127.0.0.1", port, w, &idle[i]), "no connection %d", i);
  struct pollfd old[2] = {{idle[0], POLLIN, 0}, {idle[IDLE - 2], POLLIN, 0}};
  CHECK(poll(old, 2, -1) > 0 && old[0].revents, "the oldest one does not make room");
  for (int r = 1; r < 3; r++) begin(&m[r], options(port, r, 3, LONG_S), keys);
  end(m, 3);
  check_well(m, 3);
  for (int i = 0; i < IDLE; i++) close(idle[i]);
}

static gr_status waits(gr_store *s, int rank, int ranks) {
  return (void)rank, (void)ranks, gr_store_barrier(s, "never");
}
static void a_dead_rank_is_noticed(void) {
  member m;
  int port = free_port(), fd;
  begin(&m, options(port, 0, 2, LONG_S), waits);
  gr_net_wait w = {gr_seconds() + LONG_S, NULL};
  while (gr_net_connect("127.0.0.1", port, w, &fd)) poll(NULL, 0, 10);
  gr_store_hello h = {GR_STORE_MAGIC, GR_STORE_VERSION, gr_hash_text("a job"), 1, 2};
  gr_store_request q = {.magic = GR_STORE_MAGIC, .call = GR_STORE_CHECK};
  gr_store_reply r;
  CHECK(!gr_net_send(fd, &h, sizeof h, w) && !gr_net_receive(fd, &r, sizeof r, w) &&
            r.answer == GR_STORE_DONE && !gr_net_send(fd, &q, sizeof q, w) &&
            !gr_net_receive(fd, &r, sizeof r, w),
        "not joined, or not answered");
  close(fd);  // as the system does when a process dies
  end(&m, 1);
  expect(&m, GR_ERR_RANK, "rank 1 died: its connection to rank 0 was closed");
}

static gr_status fails(gr_store *s, int rank, int ranks) {
  gr_store_failure f = {.code = GR_ERR_HANG, .rank = 1, .why = "rank 1 waits for nothing"};
  (void)ranks;
  gr_store_failure later = {.code = GR_ERR_RANK, .why = "a consequence"};
  if (rank == 1) gr_store_fail(s, &f), gr_store_fail(s, &later);
  do gr_store_check(s, &f);
  while (!f.code && !poll(NULL, 0, 10));
  if (f.code != GR_ERR_HANG || f.rank != 1 || strcmp(f.why, "rank 1 waits for nothing"))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "code %d of rank %d: %s", f.code, f.rank, f.why);
  return GR_OK;
}
static void failures_are_heard(void) { all_well(3, fails); }

// ---- Ports --------------------------------------------------------------------------------------

static void a_port_in_use_names_its_owner(void) {
  int fd, port;
  char owner[64];
  member m;
  CHECK(!gr_net_listen("127.0.0.1", 0, &fd, &port), "no socket");
  begin(&m, options(port, 0, 2, LONG_S), NULL);
  end(&m, 1);
  snprintf(owner, sizeof owner, "process %d (test_store)", (int)getpid());
  const char *text = gr_status_text(m.status);
  CHECK(strstr(text, owner), "expected '%s', got: %s", owner, text);
  expect(&m, GR_ERR_LAUNCH, "or set MASTER_PORT to a free port");
  begin(&m, options(port, 1, 2, SHORT_S), NULL);  // which accepts, but does not answer
  end(&m, 1);
  expect(&m, GR_ERR_HANG, "there is no answer on port");
  close(fd);
}

// As under torchrun, whose own store has the first port.
static void the_first_free_port_is_found(void) {
  member m[3];
  int fd, port;
  CHECK(!gr_net_listen("127.0.0.1", 0, &fd, &port), "no socket");
  for (int r = 0; r < 3; r++) {
    gr_store_options o = options(port, r, 3, LONG_S);
    o.ports = 16;
    begin(&m[r], o, keys);
  }
  end(m, 3);
  check_well(m, 3);
  close(fd);
}

static bool have_ipv6(void) {
  int fd, port, error = gr_net_listen("::1", 0, &fd, &port);
  if (error) return false;
  struct sockaddr_in6 address;
  socklen_t bytes = sizeof address;
  bool six = !getsockname(fd, (struct sockaddr *)&address, &bytes) &&
             address.sin6_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
  close(fd);
  return six;
}
static void over_ipv6(void) {
  if (!have_ipv6()) SKIP("no IPv6 here");
  member m[2];
  int port = free_port();
  for (int r = 0; r < 2; r++) {
    gr_store_options o = options(port, r, 2, LONG_S);
    o.host = "::1";
    begin(&m[r], o, keys);
  }
  end(m, 2);
  check_well(m, 2);
}

static bool stop_now(void) { return true; }
static void waiting_can_be_stopped(void) {
  member m;
  gr_store_options o = options(free_port(), 1, 2, 600);
  o.stop = stop_now;
  begin(&m, o, NULL);
  end(&m, 1);
  expect(&m, GR_ERR_STOPPED, "stopped by a signal before all ranks had started");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"gathers", gathers}, {"sixty_four_ranks", sixty_four_ranks},
             {"large_parts", large_parts}, {"a_missing_rank_is_named", a_missing_rank_is_named},
             {"a_rank_that_left_is_not_waited_for", a_rank_that_left_is_not_waited_for},
             {"no_rank_0", no_rank_0}, {"another_token_is_refused", another_token_is_refused},
             {"ranks_must_fit", ranks_must_fit},
             {"other_versions_are_refused", other_versions_are_refused},
             {"strangers_do_not_disturb", strangers_do_not_disturb},
             {"idle_connections_keep_none_out", idle_connections_keep_none_out},
             {"jobs_on_one_port_are_kept_apart", jobs_on_one_port_are_kept_apart},
             {"a_dead_rank_is_noticed", a_dead_rank_is_noticed},
             {"failures_are_heard", failures_are_heard},
             {"a_port_in_use_names_its_owner", a_port_in_use_names_its_owner},
             {"the_first_free_port_is_found", the_first_free_port_is_found},
             {"over_ipv6", over_ipv6}, {"waiting_can_be_stopped", waiting_can_be_stopped});
}
