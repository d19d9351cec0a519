// store_server.c - the server of the store: one thread, which answers all clients. See store.h.
//
// A client has at most one request at a time, so its state is one message being read, one request
// that waits for other ranks, and one answer being sent. No client can make it wait.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/thread.h"
#include "runtime/comm/silence.h"
#include "runtime/comm/store_keys.h"
#include "runtime/comm/store_wire.h"
#include "runtime/launch/launch.h"

// Connections at a time that have not said who they are, and how long each may take to do so. One
// more takes the place of the oldest, so that connections which say nothing keep no rank out. And
// when an answer is tried again for which there was no way to the client.
enum { MAX_STRANGERS = 64 };
static const double hello_s = 10, retry_s = 0.1;

typedef struct client {
  int fd;        // -1: none
  int rank;      // -1: it has not said which; from `ranks` on: the one that watches a rank
  bool leaving;  // it is closed once its answer is sent
  double until;  // for its hello, and then for what it waits for
  double retry;  // when its answer is sent again
  const gr_store_key *waits;  // the gather whose other ranks it waits for; NULL: it does not
  char *in, *out;             // a message being read; an answer being sent
  size_t got, room, sent, to_send;
  gr_store_request request;
  uint32_t requests;
  gr_silence silence;
} client;

struct gr_store_server {
  pthread_t thread;
  int listening;
  uint64_t token, job;
  const char *job_name;
  int ranks, n_clients;  // n_clients: places, two of each rank and those of strangers
  client *clients;
  bool *joined, *left;  // by rank; left: it has said so, or its connection is closed
  atomic_uint *heard;   // by rank: signs of life beside its requests
  gr_store_key *keys;
  gr_store_failure failure;
  atomic_bool ending, leave_all, ended;
  atomic_int dead;  // 1 + the first rank that has died; 0: none
};

// ---- Answers ------------------------------------------------------------------------------------

static void drop(client *c) {
  if (c->fd >= 0) close(c->fd);
  free(c->in), free(c->out);
  *c = (client){.fd = -1, .rank = -1};
}

static void answer(client *c, gr_store_answer what, int64_t number, const void *value,
                   size_t bytes) {
  gr_store_reply r = {GR_STORE_MAGIC, what, bytes, number};
  c->waits = NULL;
  c->out = malloc(sizeof r + bytes);
  if (!c->out) {
    drop(c);
    return;
  }
  memcpy(c->out, &r, sizeof r);
  if (bytes) memcpy(c->out + sizeof r, value, bytes);
  c->sent = 0, c->to_send = sizeof r + bytes;
}

static void GR_PRINTF(3, 4) answer_text(client *c, gr_store_answer what, const char *fmt, ...) {
  char text[480];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  answer(c, what, 0, text, strlen(text) + 1);
}

static void answer_late(const gr_store_server *s, client *c) {
  const gr_store_key *e = c->waits;
  char who[128];
  gr_store_list_missing(s->joined, s->ranks, who, sizeof who);
  bool came = !*who;
  if (came) gr_store_list_missing(e->here, s->ranks, who, sizeof who);
  const char *plural = strchr(who, ',') ? "s" : "", *what = came ? e->key : "";
  answer_text(c, GR_STORE_LATE, "rank%s %s did not %s%s%s within %g s", plural, who,
              came ? "reach '" : "join", what, came ? "'" : "", c->request.timeout_s);
}

// ---- Requests -----------------------------------------------------------------------------------

// A rank that has left cannot contribute any more.
static void answer_if_left(const gr_store_server *s, client *c, const gr_store_key *e) {
  gr_store_failure f = {.code = GR_ERR_RANK};
  for (f.rank = 0; f.rank < s->ranks && (e->here[f.rank] || !s->left[f.rank]);) f.rank++;
  if (f.rank == s->ranks) return;
  snprintf(f.why, sizeof f.why, "rank %d has ended while other ranks wait for it", f.rank);
  answer(c, GR_STORE_FAILED, 0, &f, sizeof f);
}

// Answers a request that waits, if what it waits for has come.
static void try_waiting(const gr_store_server *s, client *c) {
  const gr_store_key *e = c->waits;
  if (s->failure.code)
    answer(c, GR_STORE_FAILED, 0, &s->failure, sizeof s->failure);
  else if (e->came == s->ranks)
    answer(c, GR_STORE_DONE, 0, e->value, e->bytes * (size_t)s->ranks);
  else
    answer_if_left(s, c, e);
}

static void gather(gr_store_server *s, client *c, const char *value) {
  const gr_store_request *r = &c->request;
  gr_store_key *e = gr_store_key_find(&s->keys, r->key, s->ranks);
  if (e && gr_store_key_contribute(e, s->ranks, c->rank, value, r->bytes))
    c->waits = e, c->until = gr_seconds() + r->timeout_s;
  else
    answer_text(c, GR_STORE_REFUSED, "'%s' was used twice, or in different ways", r->key);
}

static void record(gr_store_server *s, const gr_store_failure *f) {
  if (s->failure.code) return;
  s->failure = *f;
  s->failure.why[sizeof f->why - 1] = 0;
}

static void serve(gr_store_server *s, client *c, const char *value) {
  const gr_store_request *r = &c->request;
  c->requests++;
  if (r->call == GR_STORE_FAIL && r->bytes == sizeof s->failure)
    record(s, (const gr_store_failure *)(const void *)value);
  if (r->call == GR_STORE_LEAVE) s->left[c->rank] = c->leaving = true;
  if (r->call == GR_STORE_GATHER)
    gather(s, c, value);
  else if (r->call == GR_STORE_CHECK)
    answer(c, GR_STORE_DONE, gr_launch_debugged(), &s->failure, sizeof s->failure);
  else
    answer(c, GR_STORE_DONE, 0, NULL, 0);
}

static void join(gr_store_server *s, client *c, const gr_store_hello *h) {
  c->leaving = true;  // unless it may stay
  if (h->token != s->token)
    answer_text(c, GR_STORE_OTHER_JOB, "%s", s->job_name);
  else if (h->version != GR_STORE_VERSION)
    answer_text(c, GR_STORE_REFUSED,
                "rank 0 runs another version of graphrun: its ranks speak protocol %d, and rank %d "
                "protocol %u",
                GR_STORE_VERSION, h->rank, h->version);
  else if (h->job && s->job && h->job != s->job)
    answer_text(c, GR_STORE_OTHER_JOB, "%s", s->job_name);
  else if (h->ranks != s->ranks || h->rank < 0 || h->rank >= 2 * s->ranks)
    answer_text(c, GR_STORE_REFUSED, "this is rank %d of %d, but rank 0 was started for %d ranks",
                h->rank, h->ranks, s->ranks);
  else if (s->joined[h->rank])
    answer_text(c, GR_STORE_REFUSED,
                "there is a rank %d already: two processes were given this rank", h->rank);
  else {
    c->leaving = false, c->rank = h->rank;
    s->joined[h->rank] = true, s->left[h->rank] = h->rank >= s->ranks;
    answer(c, GR_STORE_DONE, 0, NULL, 0);
  }
}

// How long the message is of which `got` bytes are here; 0: it is not one.
static size_t length_of(const gr_store_server *s, const client *c) {
  gr_store_request r = {.magic = GR_STORE_MAGIC};
  memcpy(&r, c->in, c->got < sizeof r ? c->got : sizeof r);
  if (c->got >= sizeof r.magic && r.magic != GR_STORE_MAGIC) return 0;
  if (c->rank < 0 && c->got < GR_STORE_HELLO) return GR_STORE_HELLO;
  if (c->rank < 0) return r.call == GR_STORE_VERSION ? sizeof(gr_store_hello) : GR_STORE_HELLO;
  if (c->got < sizeof r) return sizeof r;
  bool valid = r.call <= GR_STORE_LEAVE && r.bytes <= GR_STORE_VALUE && !r.key[GR_STORE_KEY - 1];
  bool may = c->rank < s->ranks || r.call == GR_STORE_CHECK;  // one that watches has no part
  return valid && may ? sizeof r + r.bytes : 0;
}

static void take_message(gr_store_server *s, client *c) {
  if (c->rank < 0) {
    gr_store_hello h = {0};
    memcpy(&h, c->in, c->got);
    join(s, c, &h);
  } else {
    memcpy(&c->request, c->in, sizeof c->request);
    serve(s, c, c->in + sizeof c->request);
  }
  c->got = 0;
}

static bool make_room(client *c, size_t bytes) {
  if (bytes <= c->room) return true;
  char *more = realloc(c->in, bytes);
  if (!more) return false;
  c->in = more, c->room = bytes;
  return true;
}

// A closed connection of a rank that has not left is its death. One that has asked for nothing may
// not have heard that it has joined, and comes again.
static void lose(gr_store_server *s, client *c) {
  if (c->rank >= 0 && !c->requests)
    s->joined[c->rank] = false;
  else if (c->rank >= 0 && !s->left[c->rank]) {
    gr_store_failure f = {.code = GR_ERR_RANK, .rank = c->rank};
    snprintf(f.why, sizeof f.why, GR_RANK_DIED "its connection to rank 0 was closed", c->rank);
    record(s, &f);
    int none = 0;
    atomic_compare_exchange_strong(&s->dead, &none, c->rank + 1);
    s->left[c->rank] = true;
  }
  drop(c);
}

static void receive(gr_store_server *s, client *c) {
  while (c->fd >= 0 && !c->to_send && !c->waits) {
    if (!make_room(c, sizeof(gr_store_request))) break;
    size_t whole = length_of(s, c);
    if (!whole || !make_room(c, whole)) break;
    ssize_t n = recv(c->fd, c->in + c->got, whole - c->got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) break;
    c->got += (size_t)n;
    whole = length_of(s, c);
    if (c->got == whole) {
      take_message(s, c);
      return;
    }
  }
  if (!c->to_send && !c->waits) lose(s, c);
}

static void transmit(gr_store_server *s, client *c) {
  c->retry = gr_net_has_way(c->fd) ? 0 : gr_seconds() + retry_s;
  if (c->retry > 0) return;
  ssize_t n = send(c->fd, c->out + c->sent, c->to_send - c->sent, MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    lose(s, c);
    return;
  }
  if (n > 0) c->sent += (size_t)n;
  if (c->sent < c->to_send) return;
  free(c->out);
  c->out = NULL, c->to_send = 0;
  if (c->leaving) drop(c);
}

// ---- The thread ---------------------------------------------------------------------------------

// A free place, or that of the stranger that has been here longest. There are more places than
// ranks.
static client *make_place(gr_store_server *s) {
  client *oldest = NULL;
  for (int i = 0; i < s->n_clients; i++) {
    client *c = &s->clients[i];
    if (c->fd < 0) return c;
    if (c->rank < 0 && (!oldest || c->until < oldest->until)) oldest = c;
  }
  drop(oldest);
  return oldest;
}

static void admit(gr_store_server *s) {
  int fd = accept4(s->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  bool full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (full) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);  // the caller stays in line
  if (fd < 0) return;
  gr_net_prepare(fd), gr_net_retry_soon(fd);
  *make_place(s) = (client){.fd = fd, .rank = -1, .until = gr_seconds() + hello_s};
}

// A connection that waits, or to which there is no way, is watched for being closed alone.
static short events_of(const client *c) {
  if (c->to_send) return gr_seconds() < c->retry ? 0 : POLLOUT;
  return c->waits ? POLLRDHUP : POLLIN;
}

static void attend(gr_store_server *s, client *c, short happened) {
  bool closed = happened & (POLLERR | POLLHUP | POLLRDHUP);
  if (c->to_send && (happened & POLLOUT))
    transmit(s, c);
  else if ((c->to_send || c->waits) && closed)
    lose(s, c);
  else if (happened)
    receive(s, c);
}

// After all messages that are here: what other ranks wait for may have come with them.
static void check_time(gr_store_server *s, client *c) {
  bool late = gr_seconds() > c->until;
  if (c->waits) try_waiting(s, c);
  if (c->waits && late) answer_late(s, c);
  if (c->rank < 0 && !c->to_send && late) drop(c);
}

// A rank that is watched has asked before, and says in its requests for how long it may be silent.
// Rank 0, which this is, does not run only where the server does not.
static void check_silence(gr_store_server *s, client *c) {
  double most = c->request.timeout_s;
  gr_store_failure f = {.code = GR_ERR_HANG, .rank = c->rank - s->ranks};
  if (f.rank < 1 || most <= 0) return;
  if (gr_silence_of(&c->silence, c->requests + atomic_load(&s->heard[f.rank])) <= most) return;
  snprintf(f.why, sizeof f.why, GR_RANK_SILENT GR_RANK_OUT_OF_REACH, f.rank, most);
  record(s, &f);
}

static bool all_left(const gr_store_server *s) {
  for (int i = 0; i < s->n_clients; i++)
    if (s->clients[i].rank >= 0) return false;
  return true;
}

static bool is_over(gr_store_server *s) {
  return atomic_load(&s->leave_all) || (atomic_load(&s->ending) && all_left(s));
}

static void *run(void *arg) {
  gr_store_server *s = arg;
  struct pollfd *p = calloc((size_t)s->n_clients + 1, sizeof *p);
  while (p && !is_over(s)) {
    p[0] = (struct pollfd){.fd = s->listening, .events = POLLIN};
    for (int i = 0; i < s->n_clients; i++)
      p[i + 1] = (struct pollfd){.fd = s->clients[i].fd, .events = events_of(&s->clients[i])};
    if (poll(p, (nfds_t)s->n_clients + 1, 20) < 0 && errno != EINTR) break;
    for (int i = 0; i < s->n_clients; i++)
      if (s->clients[i].fd >= 0) attend(s, &s->clients[i], p[i + 1].revents);
    for (int i = 0; i < s->n_clients; i++)
      if (s->clients[i].fd >= 0) check_time(s, &s->clients[i]), check_silence(s, &s->clients[i]);
    if (p[0].revents) admit(s);
  }
  free(p);
  atomic_store(&s->ended, true);
  return NULL;
}

static void release(gr_store_server *s) {
  for (int i = 0; i < s->n_clients && s->clients; i++) drop(&s->clients[i]);
  gr_store_keys_free(s->keys);
  if (s->listening >= 0) close(s->listening);
  free(s->clients), free(s->joined), free(s->left), free(s->heard);
  free(s);
}

gr_status gr_store_server_start(int listening, uint64_t token, const gr_store_options *o,
                                gr_store_server **out) {
  int ranks = o->ranks;
  gr_store_server *s = calloc(1, sizeof *s);
  *out = NULL;
  if (!s) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for the store of rank 0");
  *s = (gr_store_server){.listening = listening,
                         .token = token,
                         .job = o->job,
                         .job_name = o->job_name ? o->job_name : "one without a name",
                         .ranks = ranks,
                         .n_clients = 2 * ranks + MAX_STRANGERS,
                         .joined = calloc((size_t)ranks * 2, sizeof *s->joined),
                         .heard = calloc((size_t)ranks, sizeof *s->heard),
                         .left = calloc((size_t)ranks * 2, sizeof *s->left),
                         .clients = calloc((size_t)ranks * 2 + MAX_STRANGERS, sizeof *s->clients)};
  for (int i = 0; s->clients && i < s->n_clients; i++) s->clients[i].fd = s->clients[i].rank = -1;
  bool ok = s->clients && s->joined && s->left && s->heard;
  ok = ok && !gr_thread_start(&s->thread, run, s);
  if (ok)
    *out = s;
  else
    release(s);
  return ok ? GR_OK : gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot start the store of rank 0");
}

int gr_store_server_dead(const gr_store_server *s) { return atomic_load(&s->dead) - 1; }

void gr_store_server_hear(gr_store_server *s, int rank) { atomic_fetch_add(&s->heard[rank], 1); }

void gr_store_server_end(gr_store_server *s, double seconds) {
  double until = gr_seconds() + seconds;
  atomic_store(&s->ending, true);
  while (!atomic_load(&s->ended) && gr_seconds() < until)
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  atomic_store(&s->leave_all, true);
  pthread_join(s->thread, NULL);
  release(s);
}
