// relay.c - see relay.h.
#define _GNU_SOURCE
#include "runtime/launch/relay.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include "base/output.h"
#include "base/thread.h"

enum { TICK_MS = 100 };

// Whether there is more to copy. Other processes may hold the pipe open after mpirun has ended.
static bool more(const gr_launch_relay *r) {
  struct pollfd p = {.fd = r->read_end, .events = POLLIN};
  while (true) {
    bool last = atomic_load(&r->ending);
    if (poll(&p, 1, last ? 0 : TICK_MS) > 0) return true;
    if (last) return false;
  }
}

// What cannot be written is read all the same: mpirun would wait. SIGPIPE goes to no thread but the
// first.
static void *copy(void *relay) {
  gr_launch_relay *r = relay;
  char part[4096];
  while (more(r)) {
    ssize_t n = read(r->read_end, part, sizeof part);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0 && !r->error && !gr_output_put(STDOUT_FILENO, part, (size_t)n)) r->error = errno;
  }
  return NULL;
}

bool gr_launch_relay_open(gr_launch_relay *r) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return false;
  *r = (gr_launch_relay){.read_end = ends[0], .write_end = ends[1]};
  return true;
}

void gr_launch_relay_use(const gr_launch_relay *r) { dup2(r->write_end, STDOUT_FILENO); }

bool gr_launch_relay_start(gr_launch_relay *r) {
  close(r->write_end);
  errno = gr_thread_start(&r->thread, copy, r);
  r->copies = errno == 0;
  return r->copies;
}

gr_status gr_launch_relay_end(gr_launch_relay *r, gr_status s, int *exit) {
  atomic_store(&r->ending, true);
  if (r->copies) pthread_join(r->thread, NULL);
  if (r->read_end > 0) close(r->read_end);
  if (!r->error || r->error == EPIPE || s || *exit) return s;
  s = gr_output_lost(r->error);
  *exit = gr_status_exit(s);
  return s;
}
