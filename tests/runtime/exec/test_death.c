// test_death.c - deaths of ranks as another thread sees them, beside collectives: ranks are
// processes here.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/net.h"
#include "runtime/comm/silence.h"
#include "runtime/comm/store_wire.h"
#include "runtime/comm/tcp_parts.h"
#include "tests/check.h"

enum { DIES, LEAVES };

// A process dies once the other has opened what it opens.
static int opened[2];
static void prepare(void) {
  if (pipe(opened)) abort();
}
static void await_opened(void) {
  char byte;
  close(opened[1]);
  if (read(opened[0], &byte, 1) != 1) _exit(2);
}
static void tell_opened(void) {
  if (write(opened[1], "", 1) != 1) abort();
  close(opened[0]), close(opened[1]);
}

static gr_store_options options(int port, int rank) {
  return (gr_store_options){.host = "127.0.0.1",
                            .port = port,
                            .ports = 1,
                            .local = true,
                            .token = "test_death",
                            .rank = rank,
                            .ranks = 2,
                            .timeout_s = 100000,
                            .setting = "MASTER_PORT"};
}

static int free_port(void) {
  int fd, port;
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  return port;
}

// What is found, in the end, or within least_ms; `text` becomes the error.
static gr_code find_death(gr_status (*find)(void *), void *of, int least_ms, char text[200]) {
  double begun = gr_seconds();
  gr_status s = GR_OK;
  while (!(s = find(of)) && gr_seconds() - begun < (least_ms ? least_ms / 1e3 : 100000))
    poll(NULL, 0, 10);
  snprintf(text, 200, "%s", gr_status_text(s));
  gr_code code = gr_status_code(s);
  gr_status_drop(s);
  return code;
}

static gr_status in_store(void *s) { return gr_store_find_death(s); }
static gr_status watch(void *c, double silence_s) {
  gr_comm *world = c;
  return world->ops->watch(world, silence_s);
}
static gr_status in_world(void *c) { return watch(c, 0); }

// ---- The store ----------------------------------------------------------------------------------

// The other rank opens the store and then dies or leaves.
static pid_t other_of_store(int port, int rank, int how) {
  prepare();
  pid_t pid = fork();
  if (pid) return pid;
  gr_store_options o = options(port, rank);
  gr_store *s;
  if (gr_store_open(&o, &s)) _exit(1);
  await_opened();
  if (how == LEAVES) gr_store_close(s);
  _exit(0);
}

static void of_a_store(void) {
  for (int rank = 0; rank < 2; rank++) {
    int port = free_port();
    char text[200];
    gr_store_options o = options(port, rank);
    gr_store *s;
    pid_t other = other_of_store(port, 1 - rank, DIES);
    MUST(gr_store_open(&o, &s));
    tell_opened();
    gr_code code = find_death(in_store, s, 0, text);
    CHECK(code == GR_ERR_RANK && strstr(text, rank ? "rank 0 died" : "rank 1 died"),
          "rank %d: code %d: %s", rank, (int)code, text);
    waitpid(other, NULL, 0);
    gr_store_close(s);
  }
}

static void a_rank_that_leaves_has_not_died(void) {
  int port = free_port();
  char text[200];
  gr_store_options o = options(port, 0);
  gr_store *s;
  pid_t other = other_of_store(port, 1, LEAVES);
  MUST(gr_store_open(&o, &s));
  tell_opened();
  waitpid(other, NULL, 0);
  CHECK(!find_death(in_store, s, 200, text), "%s", text);
  gr_store_close(s);
}

// As where the network has lost the answer to its hello: the rank connects once more.
static void a_rank_that_heard_nothing_comes_again(void) {
  int port = free_port(), fd, state = 0;
  gr_store_options o = options(port, 0), of_other = options(port, 1);
  gr_store *s;
  pid_t other = fork();
  if (!other) {
    gr_net_wait w = {gr_seconds() + 600, NULL};
    gr_store_hello h = {GR_STORE_MAGIC, GR_STORE_VERSION, gr_hash_text(o.token), 1, 2};
    gr_store_reply r;
    while (gr_net_connect("127.0.0.1", port, w, &fd)) poll(NULL, 0, 10);
    if (gr_net_send(fd, &h, sizeof h, w) || gr_net_receive(fd, &r, sizeof r, w)) _exit(1);
    close(fd);
    if (gr_store_open(&of_other, &s)) _exit(2);
    gr_store_close(s);
    _exit(0);
  }
  MUST(gr_store_open(&o, &s));
  gr_store_close(s);
  CHECK(waitpid(other, &state, 0) == other && !state, "the other rank: %d", state);
}

// ---- A world ------------------------------------------------------------------------------------

static void of_a_world(void) {
  for (int per = 0; per <= 1; per++)
    for (int rank = 0; rank < 2; rank++) {
      int port = free_port();
      char text[200], want[64];
      gr_store_options o = options(port, rank), of_other = options(port, 1 - rank);
      gr_comm *c;
      prepare();
      pid_t other = fork();
      if (!other) {
        if (gr_tcp_open(&of_other, per, &c)) _exit(1);
        await_opened();
        _exit(0);
      }
      MUST(gr_tcp_open(&o, per, &c));
      tell_opened();
      gr_code code = find_death(in_world, c, 0, text);
      snprintf(want, sizeof want, "rank %d died: %s", 1 - rank, per ? "" : "its process");
      CHECK(code == GR_ERR_RANK && strstr(text, want), "rank %d, %d on each machine: %d: %s", rank,
            per, (int)code, text);
      waitpid(other, NULL, 0);
      gr_comm_close(c);
    }
}

static gr_status none_is_dead(gr_comm *c) {
  GR_TRY(watch(c, 0));
  return gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}

static void living_ranks_are_not_dead(void) {
  int port = free_port(), state = 0;
  gr_store_options o = options(port, 0), of_other = options(port, 1);
  gr_comm *c;
  pid_t other = fork();
  if (!other) {
    bool bad = gr_tcp_open(&of_other, 0, &c) || none_is_dead(c);
    gr_comm_close(c);
    _exit(bad);
  }
  MUST(gr_tcp_open(&o, 0, &c));
  MUST(none_is_dead(c));
  gr_comm_close(c);
  CHECK(waitpid(other, &state, 0) == other && !state, "the other rank: %d", state);
}

// By a rank of whose end the store hears nothing: it lives.
static void a_closed_connection_names_the_other_end(void) {
  int port = free_port();
  gr_store_options o = options(port, 0), of_other = options(port, 1);
  gr_comm *c;
  pid_t other = fork();
  if (!other) {
    if (gr_tcp_open(&of_other, 1, &c)) _exit(1);
    shutdown(((gr_tcp *)c)->peer[0], SHUT_RDWR);
    while (!c->ops->check(c)) poll(NULL, 0, 10);
    _exit(0);
  }
  MUST(gr_tcp_open(&o, 1, &c));
  gr_status s = gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
  const char *want = "rank 1 died: the connection to it was closed";
  CHECK(gr_status_code(s) == GR_ERR_RANK && !strcmp(gr_status_text(s), want), "%s",
        gr_status_text(s));
  gr_status_drop(s);
  waitpid(other, NULL, 0);
  gr_comm_close(c);
}

// ---- Stopped ranks ------------------------------------------------------------------------------

static gr_status in_silence(void *c) { return watch(c, 5); }

// The other rank is watched until it is killed.
static pid_t other_of_world(int port, int rank, int per) {
  prepare();
  pid_t pid = fork();
  if (pid) return pid;
  gr_store_options o = options(port, rank);
  gr_comm *c;
  if (gr_tcp_open(&o, per, &c)) _exit(1);
  await_opened();
  while (true) gr_status_drop(watch(c, 5)), poll(NULL, 0, 50);
}

// On one machine by shared memory, on two by the store: both its server and its clients find it.
static void a_stopped_rank_is_silent(void) {
  for (int per = 0; per <= 1; per++)
    for (int rank = 0; rank < 2; rank++) {
      int port = free_port();
      char text[200], want[64];
      gr_store_options o = options(port, rank);
      gr_comm *c;
      pid_t other = other_of_world(port, 1 - rank, per);
      MUST(gr_tcp_open(&o, per, &c));
      tell_opened();
      CHECK(!find_death(in_silence, c, 500, text), "%s", text);
      kill(other, SIGSTOP);
      gr_code code = find_death(in_silence, c, 0, text);
      snprintf(want, sizeof want, "rank %d has shown no sign of life for 5 s: ", 1 - rank);
      CHECK(code == GR_ERR_HANG && strstr(text, want), "rank %d, %d on each machine: %d: %s", rank,
            per, (int)code, text);
      gr_status s = gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
      CHECK(strstr(gr_status_text(s), want), "a collective ends, too: %s", gr_status_text(s));
      gr_status_drop(s);
      kill(other, SIGKILL);
      waitpid(other, NULL, 0);
      gr_comm_close(c);
    }
}

static void silence_is_counted_while_somebody_listens(void) {
  gr_silence s = {0};
  CHECK(gr_silence_of(&s, 0) <= 0, "nothing is known at first");
  s.looked -= 100;
  CHECK(gr_silence_of(&s, 0) > 0.4 && s.seconds < 0.6, "a pause of one's own: %g s", s.seconds);
  s.looked -= 0.25;
  CHECK(gr_silence_of(&s, 0) > 0.7, "it adds up: %g s", s.seconds);
  CHECK(gr_silence_of(&s, 1) <= 0, "until there is a sign");
}

int main(int argc, char **argv) {
  return RUN(
      argc, argv, {"of_a_store", of_a_store},
      {"a_rank_that_leaves_has_not_died", a_rank_that_leaves_has_not_died},
      {"a_rank_that_heard_nothing_comes_again", a_rank_that_heard_nothing_comes_again},
      {"of_a_world", of_a_world}, {"living_ranks_are_not_dead", living_ranks_are_not_dead},
      {"a_closed_connection_names_the_other_end", a_closed_connection_names_the_other_end},
      {"a_stopped_rank_is_silent", a_stopped_rank_is_silent},
      {"silence_is_counted_while_somebody_listens", silence_is_counted_while_somebody_listens});
}
