// tcp_link.c - connections between the first ranks of machines, and failure reports between
// machines, which go through the store. See tcp_parts.h.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/shown.h"
#include "runtime/comm/tcp_parts.h"

// MAX_STRANGERS: connections at a time that have not said who they are; one more takes the place of
// the oldest.
enum { MAX_STRANGERS = 64 };
static const double check_interval_s = 0.1;
static const double spin_s = 50e-6;      // as in shared memory (wait.c)
static const double hello_s = 60;        // for a connection to say which communicator it belongs to
static const double unreachable_s = 10;  // in which a network that is down may come back
static const double death_s = 3;         // in which the store hears why there is no connection

// ---- Failure reports ----------------------------------------------------------------------------

void gr_tcp_report_abort(gr_tcp *m) {
  gr_tcp *w = m->world;
  const gr_comm_status *f = &w->node.block->status;
  if (!w->store || w->abort_reported || atomic_load_explicit(&f->state, memory_order_acquire) != 2)
    return;
  w->abort_reported = true;
  gr_store_failure report = {.code = f->code, .rank = f->rank};
  memcpy(report.why, f->why, sizeof report.why);
  gr_store_fail(w->store, &report);
}

void gr_tcp_poll_aborts(gr_shared *node) {
  gr_tcp *w = ((gr_tcp *)(void *)((char *)node - offsetof(gr_tcp, node)))->world;
  gr_store_failure f;
  if (!w->store) return;
  gr_store_check(w->store, &f);
  if (f.code) gr_comm_status_abort(&w->node.block->status, (gr_code)f.code, f.rank, "%s", f.why);
}

// The error of a connection that was closed: usually the store knows which rank has died.
static gr_status lost(gr_tcp *m, int machine) {
  for (double until = gr_seconds() + death_s; gr_seconds() < until; poll(NULL, 0, 50))
    GR_TRY(gr_shared_check(&m->node.base));
  int leader = m->leader[machine];
  gr_comm_status_abort(&m->world->node.block->status, GR_ERR_RANK, leader,
                       GR_RANK_DIED "the connection to it was closed", leader);
  return gr_shared_status(&m->node);
}

// ---- Transfers ----------------------------------------------------------------------------------

// What a leader transfers to and from another one: bytes [done, bytes) are left.
typedef struct transfer {
  const char *source;
  char *to;
  size_t sent, to_send, got, to_get;
} transfer;

static bool is_done(const transfer *t) { return t->sent == t->to_send && t->got == t->to_get; }

// Moves what can be moved now. False: the connection is closed.
static bool move(int fd, transfer *t) {
  while (t->sent < t->to_send) {
    ssize_t n = send(fd, t->source + t->sent, t->to_send - t->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n <= 0) break;
    t->sent += (size_t)n;
  }
  while (t->got < t->to_get) {
    ssize_t n = recv(fd, t->to + t->got, t->to_get - t->got, 0);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (n < 0) break;
    t->got += (size_t)n;
  }
  return true;
}

static gr_status report_hang(gr_tcp *m, const transfer *t) {
  char who[128] = "";
  int n = 0;
  for (int i = 0; i < m->machines; i++)
    if (!is_done(&t[i])) gr_list_number(who, sizeof who, n++, m->leader[i]);
  gr_comm_status_abort(&m->world->node.block->status, GR_ERR_HANG, m->world_rank,
                       "a collective with the machine%s of rank%s %s did not complete within %g s",
                       n > 1 ? "s" : "", n > 1 ? "s" : "", who, m->node.timeout_s);
  return gr_shared_status(&m->node);
}

// begun: when the transfers have. At first their bytes come sooner than a sleeping thread is woken.
static void wait_for(const gr_tcp *m, const transfer *t, struct pollfd *p, double begun) {
  for (int i = 0; i < m->machines; i++) {
    short events =
        (short)((t[i].sent < t[i].to_send ? POLLOUT : 0) | (t[i].got < t[i].to_get ? POLLIN : 0));
    p[i] = (struct pollfd){.fd = events ? m->peer[i] : -1, .events = events};
  }
  while (m->node.spins && gr_seconds() - begun < spin_s)
    if (sched_yield() || poll(p, (nfds_t)m->machines, 0)) return;
  poll(p, (nfds_t)m->machines, (int)(check_interval_s * 1e3));
}

// What a machine sends says that it is there: on a slow link its ranks' own signs of life may wait
// behind that.
static void hear(gr_tcp *m, int machine) {
  gr_tcp *w = m->world;
  int sender = w->place[m->leader[machine]].machine;
  for (int r = 0; r < w->base.ranks; r++)
    if (w->place[r].machine == sender) gr_store_hear(w->store, r);
  if (!sender) atomic_fetch_add(&w->node.block->heard, 1);
}

// False: the connection is closed.
static bool exchange(gr_tcp *m, int machine, transfer *t) {
  size_t before = t->got;
  if (!move(m->peer[machine], t)) return false;
  if (t->got != before) hear(m, machine);
  return true;
}

static gr_status run(gr_tcp *m, transfer *t) {
  struct pollfd p[m->machines];
  double begun = gr_seconds(), checked = begun;
  for (int left = m->machines; left;) {
    left = 0;
    for (int i = 0; i < m->machines; i++) {
      if (!is_done(&t[i]) && !exchange(m, i, &t[i])) return lost(m, i);
      left += !is_done(&t[i]);
    }
    double now = gr_seconds();
    if (left && now - checked > check_interval_s) {
      checked = now;
      GR_TRY(gr_shared_check(&m->node.base));
    }
    if (left && now - begun > m->node.timeout_s) return report_hang(m, t);
    if (left) wait_for(m, t, p, begun);
  }
  return GR_OK;
}

static gr_status gather(void *link, const void *part, size_t bytes, void *all) {
  gr_tcp *m = link;
  transfer t[m->machines];
  memset(t, 0, sizeof t);
  for (int i = 0; i < m->machines; i++)
    if (i == m->machine)
      memcpy((char *)all + (size_t)i * bytes, part, bytes);
    else
      t[i] = (transfer){
          .source = part, .to = (char *)all + (size_t)i * bytes, .to_send = bytes, .to_get = bytes};
  return run(m, t);
}

static gr_status spread(void *link, void *values, size_t bytes) {
  gr_tcp *m = link;
  transfer t[m->machines];
  memset(t, 0, sizeof t);
  if (m->machine) t[0] = (transfer){.to = values, .to_get = bytes};
  for (int i = 1; i < m->machines && !m->machine; i++)
    t[i] = (transfer){.source = values, .to_send = bytes};
  return run(m, t);
}

const gr_machines_link gr_tcp_link = {gather, spread};

// ---- Connecting ---------------------------------------------------------------------------------

gr_status gr_tcp_listen(gr_tcp *w, gr_tcp_place *out) {
  int port = 0;
  snprintf(out->address, sizeof out->address, "%s", gr_store_own_address(w->store));
  // Other machines reach rank 0 as they reached the store, which may be by another address.
  const char *address = w->base.rank || w->opt.local ? out->address : NULL;
  int error = gr_net_listen(address, 0, &w->listening, &port);
  if (error)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot listen for other machines at '%s': %s",
                out->address, strerror(error)),
        "it is the address by which this machine reached rank 0: graphrun check lists its "
        "interfaces");
  out->port = port;
  return GR_OK;
}

static gr_net_wait wait_until(const gr_tcp *m, double seconds) {
  return (gr_net_wait){gr_seconds() + seconds, m->world->opt.stop};
}

static bool is_stopped(const gr_tcp *m) {
  bool (*stop)(void) = m->world->opt.stop;
  return stop && stop();
}

static gr_status connect_to(gr_tcp *m, int machine, int rank) {
  const gr_tcp *w = m->world;
  const gr_tcp_place *p = &w->place[rank];
  const char *address = rank ? p->address : w->opt.host;
  gr_tcp_hello h = {GR_TCP_MAGIC, m->machine, gr_hash_text(w->opt.token), m->id};
  gr_net_wait wait = wait_until(m, m->node.timeout_s);
  double until = gr_seconds() + unreachable_s;
  int error = gr_net_connect(address, p->port, wait, &m->peer[machine]);
  while ((error == EHOSTUNREACH || error == ENETUNREACH) && gr_seconds() < until &&
         !is_stopped(m) && !poll(0, 0, 50))
    error = gr_net_connect(address, p->port, wait, &m->peer[machine]);
  if (!error) error = gr_net_send(m->peer[machine], &h, sizeof h, wait);
  if (!error) return GR_OK;
  if (is_stopped(m)) return gr_store_stopped();
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot connect to rank %d at %s, port %d: %s",
                         rank, address, (int)p->port, strerror(error)),
                 "machines need to reach each other on any port; is there a firewall?");
}

static bool is_stranger(const gr_tcp_waiting *c) { return c->got < sizeof c->hello; }

static void drop_waiting(gr_tcp_waiting **link) {
  gr_tcp_waiting *c = *link;
  *link = c->older;
  close(c->fd), free(c);
}

// Drops the oldest stranger if there are too many; the list begins with the newest connection.
static void limit_strangers(gr_tcp *w) {
  gr_tcp_waiting **oldest = NULL;
  int n = 0;
  for (gr_tcp_waiting **link = &w->waiting; *link; link = &(*link)->older)
    if (is_stranger(*link)) oldest = link, n++;
  if (n > MAX_STRANGERS) drop_waiting(oldest);
}

// Accepts one connection, if there is one.
static void accept_one(gr_tcp *w) {
  int fd = accept4(w->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  gr_tcp_waiting *c = calloc(1, sizeof *c);
  if (!c) {
    close(fd);
    return;
  }
  gr_net_prepare(fd);
  *c = (gr_tcp_waiting){.older = w->waiting, .fd = fd, .until = gr_seconds() + hello_s};
  w->waiting = c;
  limit_strangers(w);
}

// Reads what there is of a hello. False: the connection is closed, late, or no rank's.
static bool read_hello(const gr_tcp *w, gr_tcp_waiting *c) {
  ssize_t n = recv(c->fd, (char *)&c->hello + c->got, sizeof c->hello - c->got, 0);
  if (n < 0) return (errno == EAGAIN || errno == EINTR) && gr_seconds() < c->until;
  c->got += (size_t)n;
  return n && (is_stranger(c) ||
               (c->hello.magic == GR_TCP_MAGIC && c->hello.token == gr_hash_text(w->opt.token)));
}

static void read_hellos(gr_tcp *w) {
  for (gr_tcp_waiting **link = &w->waiting; *link;) {
    if (is_stranger(*link) && !read_hello(w, *link))
      drop_waiting(link);
    else
      link = &(*link)->older;
  }
}

// Waits a moment for connections and hellos, and takes what there is.
static bool wait_for_some(gr_tcp *w) {
  struct pollfd p[MAX_STRANGERS + 1] = {{.fd = w->listening, .events = POLLIN}};
  nfds_t n = 1;
  for (gr_tcp_waiting *c = w->waiting; c; c = c->older)
    if (is_stranger(c)) p[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
  bool any = poll(p, n, (int)(check_interval_s * 1e3)) > 0;
  if (p[0].revents) accept_one(w);
  read_hellos(w);
  return any;
}

static bool take_waiting(gr_tcp *m, int machine) {
  for (gr_tcp_waiting **link = &m->world->waiting, *c; (c = *link); link = &c->older) {
    if (is_stranger(c) || c->hello.id != m->id || c->hello.machine != machine) continue;
    m->peer[machine] = c->fd;
    *link = c->older;
    free(c);
    return true;
  }
  return false;
}

// One that cannot connect gives up at about the same time, and says what failed: it is heard first.
static gr_status accept_from(gr_tcp *m, int machine, int rank) {
  double until = gr_seconds() + m->node.timeout_s + death_s;
  while (!take_waiting(m, machine)) {
    if (is_stopped(m)) return gr_store_stopped();
    if (!wait_for_some(m->world)) GR_TRY(gr_shared_check(&m->node.base));
    if (gr_seconds() > until)
      return gr_hint(gr_fail(GR_ERR_HANG, GR_NOWHERE, "rank %d did not connect within %g s", rank,
                             m->node.timeout_s),
                     "machines need to reach each other on any port; is there a firewall?");
  }
  return GR_OK;
}

// A leader connects to those before it and then waits for those after it. Connecting does not need
// the peer to be in this function, so leaders do not wait for each other in a circle.
gr_status gr_tcp_connect(gr_tcp *m, const int *leader) {
  m->peer = malloc((size_t)m->machines * sizeof *m->peer);
  m->leader = malloc((size_t)m->machines * sizeof *m->leader);
  if (!m->peer || !m->leader)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for connections");
  for (int i = 0; i < m->machines; i++) m->peer[i] = -1, m->leader[i] = leader[i];
  for (int i = 0; i < m->machine; i++) GR_TRY(connect_to(m, i, leader[i]));
  for (int i = m->machine + 1; i < m->machines; i++) GR_TRY(accept_from(m, i, leader[i]));
  return GR_OK;
}

void gr_tcp_disconnect(gr_tcp *m) {
  for (int i = 0; i < m->machines && m->peer && m->leader; i++)
    if (m->peer[i] >= 0) close(m->peer[i]);
  free(m->peer), free(m->leader);
  m->peer = m->leader = NULL;
  if (m->world != m) return;
  while (m->waiting) drop_waiting(&m->waiting);
  if (m->listening >= 0) close(m->listening);
  m->listening = -1;
}
