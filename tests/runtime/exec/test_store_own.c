// test_store_own.c - rank 0 and the server of its own store, for which a busy machine has no
// processor for a while: that is another thread of the process, and says nothing of another one.
#include <poll.h>
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

// Rank 0, with time-outs of a second.
static gr_status open_store(int ranks, gr_store **out) {
  int fd, port;
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  gr_store_options o = {.host = "127.0.0.1",
                        .port = port,
                        .ports = 1,
                        .local = true,
                        .token = "a job",
                        .ranks = ranks,
                        .timeout_s = 1,
                        .setting = "MASTER_PORT"};
  return gr_store_open(&o, out);
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
  int64_t sum = 0;
  MUST(open_store(1, &s));
  stand_still(3);
  MUST(gr_store_add(s, "sum", 1, &sum));
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
             {"no_rank_is_silent_to_itself", no_rank_is_silent_to_itself});
}
