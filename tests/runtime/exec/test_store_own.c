// test_store_own.c - rank 0 and the server of its own store, for which a busy machine has no
// processor for a while: that is another thread of the process, and says nothing of another one.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "runtime/comm/net.h"
#include "runtime/comm/store.h"
#include "tests/check.h"

// The server, which alone waits for so many, stands still for so long.
static _Atomic int still_s;
int __real_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms) {
  int seconds = n > 2 ? atomic_exchange(&still_s, 0) : 0;
  if (seconds) sleep((unsigned)seconds);
  return __real_poll(p, n, ms);
}
static void stand_still(int seconds) {
  atomic_store(&still_s, seconds);
  while (atomic_load(&still_s)) poll(NULL, 0, 1);
}

static int free_port(void) {
  int fd, port;
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  return port;
}

// Time-outs of a second, or of an hour where ranks that are threads wait for each other.
static gr_store_options options_of(int port, int rank, int ranks) {
  return (gr_store_options){.host = "127.0.0.1",
                            .port = port,
                            .ports = 1,
                            .local = true,
                            .token = "a job",
                            .rank = rank,
                            .ranks = ranks,
                            .timeout_s = 3600,
                            .setting = "MASTER_PORT"};
}

// Rank 0 alone.
static gr_status open_store(int ranks, gr_store **out) {
  gr_store_options o = options_of(free_port(), 0, ranks);
  o.timeout_s = 1;
  return gr_store_open(&o, out);
}

typedef struct opening {
  gr_store_options options;
  gr_store **out;
  gr_status status;
} opening;

static void *open_in_thread(void *arg) {
  opening *o = arg;
  o->status = gr_store_open(&o->options, o->out);
  return NULL;
}

// The answer to what it has asked is late, too. It says that it leaves before its connection
// closes.
static void leaving_a_late_server_is_no_death(void) {
  gr_store *s[2];
  gr_store_failure f;
  int port = free_port();
  pthread_t rank_0;
  opening first = {.options = options_of(port, 0, 2), .out = &s[0]};
  if (pthread_create(&rank_0, NULL, open_in_thread, &first)) abort();
  gr_store_options o = options_of(port, 1, 2);
  gr_status second = gr_store_open(&o, &s[1]);
  pthread_join(rank_0, NULL);
  MUST(first.status);
  MUST(second);
  stand_still(4);
  gr_store_check(s[1], &f);  // asks, and does not wait
  gr_store_close(s[1]);
  for (double until = gr_seconds() + 5; gr_seconds() < until && !f.code; poll(NULL, 0, 20)) {
    MUST(gr_store_find_death(s[0]));
    gr_store_check(s[0], &f);
  }
  CHECK(!f.code, "%s", f.why);
  gr_store_close(s[0]);
}

static void joining_waits(void) {
  gr_store *s;
  atomic_store(&still_s, 3);
  gr_status e = open_store(2, &s);
  CHECK(e && strstr(gr_status_text(e), "rank 1 did not join within 1 s"), "%s", gr_status_text(e));
  gr_status_drop(e);
}

static void requests_wait(void) {
  gr_store *s;
  gr_store_failure f = {.code = GR_ERR_DATA, .why = "it was heard"};
  MUST(open_store(1, &s));
  stand_still(3);
  gr_store_fail(s, &f);
  gr_status e = gr_store_barrier(s, "end");
  CHECK(gr_status_code(e) == GR_ERR_DATA, "%s", gr_status_text(e));
  gr_status_drop(e);
  gr_store_close(s);
}

static void no_rank_is_silent_to_itself(void) {
  gr_store *s;
  MUST(open_store(1, &s));
  MUST(gr_store_open_watch(s));
  for (int i = 0; i < 3; i++) {
    if (i == 1) poll(NULL, 0, 3000);  // this thread stands still
    if (i == 2) stand_still(3);
    for (double until = gr_seconds() + 3.5; gr_seconds() < until; poll(NULL, 0, 20))
      MUST(gr_store_watch(s, 1, 0));
  }
  gr_store_close(s);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"joining_waits", joining_waits}, {"requests_wait", requests_wait},
             {"no_rank_is_silent_to_itself", no_rank_is_silent_to_itself},
             {"leaving_a_late_server_is_no_death", leaving_a_late_server_is_no_death});
}
