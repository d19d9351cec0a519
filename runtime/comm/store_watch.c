// store_watch.c - how a rank learns of failures, and whether the others run, without waiting for an
// answer: a network that is slow, or down for a while, must not stop it. See store.h.
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "runtime/comm/store_parts.h"
#include "runtime/launch/launch.h"

// Requests that may be without an answer: they fit into what the system keeps for a connection.
enum { MAX_ASKED = 64 };

// ---- Failures -----------------------------------------------------------------------------------

// Whether a connection of which a call has just returned n is open.
static bool is_open(ssize_t n) {
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

// Asks for the failure that is recorded, if there is a way to the server. silence_s: for how long
// this rank may not ask. False: the connection is closed.
static bool ask(gr_store *s, double silence_s) {
  gr_store_request r = {.magic = GR_STORE_MAGIC, .call = GR_STORE_CHECK};
  r.timeout_s = gr_launch_debugged() ? 0 : silence_s;
  if (!gr_net_has_way(s->fd)) return true;
  ssize_t n = send(s->fd, &r, sizeof r, MSG_NOSIGNAL);
  s->asked += n == sizeof r;
  return is_open(n);
}

// Takes what is here of the answers. False: the connection is closed.
static bool take_answers(gr_store *s) {
  while (s->asked != s->answers) {
    ssize_t n = recv(s->fd, (char *)&s->answer + s->got, sizeof s->answer - s->got, 0);
    if (n <= 0) return is_open(n);
    s->got += (size_t)n;
    if (s->got < sizeof s->answer) continue;
    s->got = 0, s->answers++;
    s->failure = s->answer.failure, s->debugged = s->answer.reply.number;
  }
  return true;
}

void gr_store_check(gr_store *s, gr_store_failure *out) {
  bool open = s->asked != s->answers || ask(s, 0);
  open = open && take_answers(s);
  *out = s->failure;
  if (open || out->code) return;
  gr_status st = gr_store_lost(ECONNRESET, 0);
  *out = (gr_store_failure){.code = (int32_t)gr_status_code(st)};
  snprintf(out->why, sizeof out->why, "%s", gr_status_text(st));
  gr_status_drop(st);
}

// A connection that is closed reads as the end of a file, which is seen without reading.
static bool is_closed(int fd) {
  char byte;
  return !is_open(recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
}

gr_status gr_store_find_death(gr_store *s) {
  int dead = s->server ? gr_store_server_dead(s->server) : -1;
  if (dead >= 0)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE, GR_RANK_DIED "its connection to rank 0 was closed",
                   dead);
  return s->fd >= 0 && !s->server && is_closed(s->fd) ? gr_store_lost(ECONNRESET, 0) : GR_OK;
}

// ---- Watching -----------------------------------------------------------------------------------

gr_status gr_store_open_watch(gr_store *s) {
  gr_store *w = calloc(1, sizeof *w);
  if (!w) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for the store of the ranks");
  *w = (gr_store){.opt = s->opt, .fd = -1, .token = s->token, .server = s->server};
  w->opt.rank += w->opt.ranks, w->opt.port = s->port, w->opt.ports = 1;
  s->watch = w;
  return gr_store_join(w);
}

void gr_store_hear(gr_store *s, int rank) {
  if (s->server) gr_store_server_hear(s->server, rank);
}

// Requests do not wait for answers, which may be late while what they tell is not.
static void exchange(gr_store *w, double silence_s) {
  double now = gr_seconds(), every = silence_s / 8 < 1 ? silence_s / 8 : 1;
  if (now >= w->ask_at && w->asked - w->answers < MAX_ASKED)
    ask(w, silence_s), w->ask_at = now + every;
  take_answers(w);
}

gr_status gr_store_watch(gr_store *s, double silence_s, uint32_t heard) {
  gr_store *w = s->watch;
  GR_TRY(gr_store_find_death(s));
  if (!w || silence_s <= 0) return GR_OK;
  exchange(w, silence_s);
  if (w->failure.code == GR_ERR_HANG)
    return gr_fail(GR_ERR_HANG, GR_NOWHERE, "%.*s", (int)sizeof w->failure.why - 1, w->failure.why);
  if (s->server) return GR_OK;  // rank 0 is no further from its server than from itself
  if (gr_silence_of(&w->silence, w->answers + heard) <= silence_s || w->debugged) return GR_OK;
  atomic_store(&s->given_up, true);
  return gr_fail(GR_ERR_HANG, GR_NOWHERE, GR_RANK_SILENT GR_RANK_OUT_OF_REACH, 0, silence_s);
}
