// wire.c - encodes and transfers messages. See wire.h.
#include "runtime/hooks/wire.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef struct head {
  uint64_t kind, len;  // len: bytes of all fields
} head;
enum { KEPT = 1 << 20 };  // a buffer larger than this is freed after its message
#define MAX_MESSAGE ((size_t)1 << 30)

static bool reserve(gr_wire *w, size_t more) {
  if (w->bad || more > MAX_MESSAGE || w->len + more > MAX_MESSAGE) return !(w->bad = true);
  if (w->len + more <= w->room) return true;
  size_t room = w->room ? w->room : 4096;
  while (room < w->len + more) room *= 2;
  char *at = realloc(w->at, room);
  if (!at) return !(w->bad = true);
  w->at = at, w->room = room;
  return true;
}

void gr_wire_begin(gr_wire *w, gr_wire_kind kind) {
  if (w->room > KEPT) gr_wire_free(w);
  w->len = w->next = 0, w->bad = false, w->kind = kind;
  if (reserve(w, sizeof(head))) w->len = w->next = sizeof(head);
}

void gr_wire_free(gr_wire *w) {
  free(w->at);
  *w = (gr_wire){.kind = w->kind};
}

void gr_wire_put(gr_wire *w, const void *bytes, size_t len) {
  if (!reserve(w, len)) return;
  if (len) memcpy(w->at + w->len, bytes, len);
  w->len += len;
}

void gr_wire_put_int(gr_wire *w, int64_t i) { gr_wire_put(w, &i, sizeof i); }
void gr_wire_put_float(gr_wire *w, double f) { gr_wire_put(w, &f, sizeof f); }

void gr_wire_put_bytes(gr_wire *w, const void *bytes, size_t len) {
  gr_wire_put_int(w, (int64_t)len);
  gr_wire_put(w, bytes, len);
  gr_wire_put(w, "", 1);
}

void gr_wire_put_text(gr_wire *w, const char *text) {
  if (text)
    gr_wire_put_bytes(w, text, strlen(text));
  else
    gr_wire_put_int(w, -1);
}

size_t gr_wire_open(gr_wire *w) {
  gr_wire_put_int(w, 0);
  return w->len;
}

void gr_wire_close(gr_wire *w, size_t opened) {
  int64_t len = (int64_t)(w->len - opened);
  if (!w->bad) memcpy(w->at + opened - sizeof len, &len, sizeof len);
  gr_wire_put(w, "", 1);
}

static const void *take(gr_wire *w, size_t len) {
  if (w->bad || len > w->len - w->next) return w->bad = true, NULL;
  w->next += len;
  return w->at + w->next - len;
}

int64_t gr_wire_int(gr_wire *w) {
  int64_t i = 0;
  const void *at = take(w, sizeof i);
  if (at) memcpy(&i, at, sizeof i);
  return i;
}

double gr_wire_float(gr_wire *w) {
  double f = 0;
  const void *at = take(w, sizeof f);
  if (at) memcpy(&f, at, sizeof f);
  return f;
}

const char *gr_wire_bytes(gr_wire *w, size_t *out_len) {
  int64_t len = gr_wire_int(w);
  if (out_len) *out_len = 0;
  if (len < 0 || w->bad) return NULL;
  const char *at = take(w, (size_t)len + 1);
  if (at && out_len) *out_len = (size_t)len;
  return at;
}

const char *gr_wire_text(gr_wire *w) { return gr_wire_bytes(w, NULL); }

// Whether to retry after a system call that returned n.
static bool should_retry(ssize_t n, int fd, short events, gr_wire_wait wait, void *ctx) {
  if (n > 0 || (n < 0 && errno == EINTR)) return true;
  if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
  return wait && wait(ctx, fd, events);
}

bool gr_wire_send(int fd, gr_wire *w, gr_wire_wait wait, void *ctx) {
  if (w->bad) return false;
  head h = {w->kind, w->len - sizeof h};
  memcpy(w->at, &h, sizeof h);
  for (size_t done = 0; done < w->len;) {
    ssize_t n = send(fd, w->at + done, w->len - done, MSG_NOSIGNAL | (wait ? MSG_DONTWAIT : 0));
    if (!should_retry(n, fd, POLLOUT, wait, ctx)) return false;
    if (n > 0) done += (size_t)n;
  }
  return true;
}

static bool receive(int fd, char *to, size_t len, gr_wire_wait wait, void *ctx) {
  for (size_t done = 0; done < len;) {
    ssize_t n = recv(fd, to + done, len - done, wait ? MSG_DONTWAIT : 0);
    if (!should_retry(n, fd, POLLIN, wait, ctx)) return false;
    if (n > 0) done += (size_t)n;
  }
  return true;
}

bool gr_wire_receive(int fd, gr_wire *w, gr_wire_wait wait, void *ctx) {
  head h;
  gr_wire_begin(w, GR_WIRE_DONE);
  if (w->bad || !receive(fd, (char *)&h, sizeof h, wait, ctx)) return false;
  w->kind = (gr_wire_kind)h.kind;
  if (!reserve(w, h.len) || !receive(fd, w->at + w->len, h.len, wait, ctx)) return false;
  w->len += h.len;
  return true;
}
