// wire.c - encodes and transfers messages. See wire.h.
#include "runtime/hooks/wire.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef struct head {
  uint64_t kind, len;  // len: bytes of all values
} head;
enum { KEPT = 1 << 20 };  // a buffer larger than this is freed after its message
#define MAX_MESSAGE ((size_t)1 << 30)

static bool reserve(gr_wire *w, size_t more) {
  if (w->bad || more > MAX_MESSAGE || w->len + more > MAX_MESSAGE) return !(w->bad = true);
  if (w->len + more <= w->room) return true;
  size_t room = w->room ? w->room : 4096;
  while (room < w->len + more) room *= 2;
  char *bytes = realloc(w->bytes, room);
  if (!bytes) return !(w->bad = true);
  w->bytes = bytes, w->room = room;
  return true;
}

void gr_wire_begin(gr_wire *w, gr_wire_kind kind) {
  if (w->room > KEPT) gr_wire_free(w);
  w->len = w->next = 0, w->bad = false, w->kind = kind;
  if (reserve(w, sizeof(head))) w->len = w->next = sizeof(head);
}

void gr_wire_free(gr_wire *w) {
  free(w->bytes);
  *w = (gr_wire){.kind = w->kind};
}

// ---- Writing ------------------------------------------------------------------------------------

static void put(gr_wire *w, const void *bytes, size_t len) {
  if (!reserve(w, len)) return;
  if (len) memcpy(w->bytes + w->len, bytes, len);
  w->len += len;
}

static void put_tag(gr_wire *w, gr_wire_tag tag) { put(w, &(char){(char)tag}, 1); }

void gr_wire_put_bool(gr_wire *w, bool b) { put_tag(w, b ? GR_WIRE_TRUE : GR_WIRE_FALSE); }

void gr_wire_put_int(gr_wire *w, int64_t i) {
  put_tag(w, GR_WIRE_INT);
  put(w, &i, sizeof i);
}

void gr_wire_put_float(gr_wire *w, double f) {
  put_tag(w, GR_WIRE_FLOAT);
  put(w, &f, sizeof f);
}

void gr_wire_put_bytes(gr_wire *w, const void *bytes, size_t len) {
  put_tag(w, GR_WIRE_TEXT);
  put(w, &len, sizeof len);
  put(w, bytes, len);
  put(w, "", 1);
}

void gr_wire_put_text(gr_wire *w, const char *text) {
  if (text)
    gr_wire_put_bytes(w, text, strlen(text));
  else
    put_tag(w, GR_WIRE_NIL);
}

void gr_wire_put_table(gr_wire *w) { put_tag(w, GR_WIRE_TABLE); }
void gr_wire_put_end(gr_wire *w) { put_tag(w, GR_WIRE_END); }

void gr_wire_put_value(gr_wire *w, const void *value, size_t len) {
  if (len)
    put(w, value, len);
  else
    put_tag(w, GR_WIRE_NIL);
}

// ---- Reading ------------------------------------------------------------------------------------

gr_wire_tag gr_wire_next(const gr_wire *w) {
  return w->bad || w->next >= w->len ? GR_WIRE_END : (gr_wire_tag)w->bytes[w->next];
}

// The next `len` bytes; NULL: there are not so many.
static const void *take(gr_wire *w, size_t len) {
  if (w->bad || len > w->len - w->next) return w->bad = true, NULL;
  w->next += len;
  return w->bytes + w->next - len;
}

// Passes over the tag of the next value. False: it is not of this type.
static bool take_tag(gr_wire *w, gr_wire_tag tag) {
  const char *next = take(w, 1);
  if (next && *next != (char)tag) w->bad = true;
  return !w->bad;
}

static void take_number(gr_wire *w, gr_wire_tag tag, void *out, size_t len) {
  const void *number = take_tag(w, tag) ? take(w, len) : NULL;
  if (number) memcpy(out, number, len);
}

bool gr_wire_bool(gr_wire *w) {
  bool is_true = gr_wire_next(w) == GR_WIRE_TRUE;
  return take_tag(w, is_true ? GR_WIRE_TRUE : GR_WIRE_FALSE) && is_true;
}

int64_t gr_wire_int(gr_wire *w) {
  int64_t i = 0;
  take_number(w, GR_WIRE_INT, &i, sizeof i);
  return i;
}

double gr_wire_float(gr_wire *w) {
  double f = 0;
  take_number(w, GR_WIRE_FLOAT, &f, sizeof f);
  return f;
}

const char *gr_wire_bytes(gr_wire *w, size_t *out_len) {
  size_t len = 0;
  bool nil = gr_wire_next(w) == GR_WIRE_NIL;
  if (out_len) *out_len = 0;
  if (nil) return take(w, 1), NULL;
  take_number(w, GR_WIRE_TEXT, &len, sizeof len);
  if (len > MAX_MESSAGE) w->bad = true;
  const char *text = take(w, len + 1);
  if (text && out_len) *out_len = len;
  return text;
}

const char *gr_wire_text(gr_wire *w) { return gr_wire_bytes(w, NULL); }

void gr_wire_table(gr_wire *w) { take_tag(w, GR_WIRE_TABLE); }

bool gr_wire_end(gr_wire *w) {
  if (gr_wire_next(w) != GR_WIRE_END) return false;
  take_tag(w, GR_WIRE_END);
  return true;
}

// Passes over one value, but only over the beginning of a table. Returns by how many tables it is
// deeper then.
static int pass_over(gr_wire *w) {
  gr_wire_tag tag = gr_wire_next(w);
  if (tag == GR_WIRE_TEXT)
    gr_wire_text(w);
  else if (tag == GR_WIRE_INT || tag == GR_WIRE_FLOAT)
    take(w, 1 + sizeof(int64_t));
  else
    take(w, 1);
  return tag == GR_WIRE_TABLE ? 1 : tag == GR_WIRE_END ? -1 : 0;
}

const char *gr_wire_value(gr_wire *w, size_t *out_len) {
  size_t begin = w->next;
  int depth = 0;
  do depth += pass_over(w);
  while (depth > 0 && !w->bad);
  if (depth < 0) w->bad = true;  // a table's end is no value
  *out_len = w->bad ? 0 : w->next - begin;
  return w->bad ? NULL : w->bytes + begin;
}

// ---- Sending ------------------------------------------------------------------------------------

// Whether to retry after a system call that returned n.
static bool should_retry(ssize_t n, int fd, short events, gr_wire_wait wait, void *ctx) {
  if (n > 0 || (n < 0 && errno == EINTR)) return true;
  if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
  return wait && wait(ctx, fd, events);
}

bool gr_wire_send(int fd, gr_wire *w, gr_wire_wait wait, void *ctx) {
  if (w->bad) return false;
  head h = {w->kind, w->len - sizeof h};
  memcpy(w->bytes, &h, sizeof h);
  for (size_t done = 0; done < w->len;) {
    ssize_t n = send(fd, w->bytes + done, w->len - done, MSG_NOSIGNAL | (wait ? MSG_DONTWAIT : 0));
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
  if (!reserve(w, h.len) || !receive(fd, w->bytes + w->len, h.len, wait, ctx)) return false;
  w->len += h.len;
  return true;
}
