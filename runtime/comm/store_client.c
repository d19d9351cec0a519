// store_client.c - a client of the store: joins it, and sends requests. See store.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/store_parts.h"

// Seconds: to connect to one port; for the answer to a hello, on one of several ports; that the
// server is given beyond a request's own time-out; for which a port of another job is tried again,
// because it may be that of a run which is just ending; that rank 0 waits for the others to leave;
// that requests which are answered at once may take; that rank 0 waits for its own server, a thread
// which runs when this one does: time in which the process does not run is no silence of rank 0.
static const double connect_s = 2, hello_s = 3, grace_s = 5, other_job_s = 5, leave_s = 2,
                    at_once_s = 10, own_s = 3600;

static double at_least_own(const gr_store *s, double seconds) {
  return s->server && seconds < own_s ? own_s : seconds;
}

static gr_net_wait wait_of(const gr_store *s, double seconds) {
  return (gr_net_wait){gr_seconds() + seconds, s->opt.stop};
}

gr_status gr_store_stopped(void) {
  return gr_hint(
      gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal before all ranks had started"),
      "existing checkpoints are unchanged");
}

// ---- The server's port --------------------------------------------------------------------------

static gr_status port_in_use(const gr_store_options *o, int port) {
  char owner[128];
  gr_net_port_owner(port, owner, sizeof owner);
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "rank 0 cannot listen on port %d: %s is listening there", port, owner),
                 "end that process, or set %s to a free port", o->setting);
}

static gr_status start_server(gr_store *s) {
  const gr_store_options *o = &s->opt;
  int fd = -1, port, error = EADDRINUSE;
  for (int i = 0; i < o->ports && error == EADDRINUSE; i++)
    error = gr_net_listen(o->local ? o->host : NULL, o->port + i, &fd, &port);
  if (!error) return gr_store_server_start(fd, s->token, o, &s->server);
  if (error == EADDRINUSE) return port_in_use(o, o->port);
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "rank 0 cannot listen on port %d of '%s': %s",
                         o->port, o->host, strerror(error)),
                 "set %s to another port", o->setting);
}

// ---- Joining ------------------------------------------------------------------------------------

// What was found on a port. What does not answer may be rank 0 behind a bad network.
typedef enum found { NOTHING, SILENT, STRANGER, OTHER_JOB, JOINED } found;

static gr_status read_reply(gr_store *s, gr_net_wait w, gr_store_reply *r, char **value,
                            int *error) {
  *value = NULL;
  *error = gr_net_receive(s->fd, r, sizeof *r, w);
  if (!*error && (r->magic != GR_STORE_MAGIC || r->bytes > SIZE_MAX / 4)) *error = EPROTO;
  if (*error) return GR_OK;
  *value = calloc(1, (size_t)r->bytes + 1);
  if (!*value) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a value of the store");
  *error = gr_net_receive(s->fd, *value, (size_t)r->bytes, w);
  if (!*error) return GR_OK;
  free(*value);
  *value = NULL;
  return GR_OK;
}

static gr_status say_hello(gr_store *s, found *out) {
  gr_store_hello h = {GR_STORE_MAGIC, GR_STORE_VERSION, s->token,
                      s->opt.rank,    s->opt.ranks,     s->opt.job};
  gr_store_reply r = {0};
  gr_net_wait w = wait_of(s, hello_s);
  if (s->opt.ports == 1) w.until = s->until;
  char *text = NULL;
  int error = gr_net_send(s->fd, &h, sizeof h, w);
  gr_status st = error ? GR_OK : read_reply(s, w, &r, &text, &error);
  if (st) return st;
  s->error = error;
  *out = error == ETIMEDOUT               ? SILENT
         : error                          ? STRANGER
         : r.answer == GR_STORE_OTHER_JOB ? OTHER_JOB
                                          : JOINED;
  if (!error && r.answer == GR_STORE_REFUSED)
    st = gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "rank 0 refused this process: %s", text),
                 "start every rank with the same graphrun, and with a rank of its own");
  if (*out == OTHER_JOB) snprintf(s->other_job, sizeof s->other_job, "%s", text);
  free(text);
  return error == ECANCELED ? gr_also(st, gr_store_stopped()) : st;
}

static gr_status try_port(gr_store *s, int port, double seconds, found *out) {
  *out = NOTHING;
  int error = gr_net_connect(s->opt.host, port, wait_of(s, seconds), &s->fd);
  if (error == ECANCELED) return gr_store_stopped();
  s->error = error;
  if (error) return GR_OK;
  gr_net_retry_soon(s->fd);
  gr_status st = say_hello(s, out);
  if (*out == JOINED && !st) s->port = port;
  if (*out == JOINED && !st) return GR_OK;
  close(s->fd);
  s->fd = -1;
  return st;
}

static gr_status cannot_join(const gr_store *s, found best, double seconds) {
  const gr_store_options *o = &s->opt;
  if (best == OTHER_JOB)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                           "on port %d of '%s' is rank 0 of another job: %s; this is %s", o->port,
                           o->host, s->other_job, o->job_name ? o->job_name : "one without a name"),
                   "set %s to a port of this job's own; ranks of one job that are meant to differ "
                   "get the same GRAPHRUN_TOKEN",
                   o->setting);
  if (best == STRANGER)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                "what listens on port %d of '%s' is not graphrun's rank 0", o->port, o->host),
        "set %s to a free port", o->setting);
  if (s->error == ENOENT)
    return gr_hint(gr_fail(GR_ERR_HANG, GR_NOWHERE,
                           "rank 0 was not found within %g s: no machine is called '%s' here",
                           seconds, o->host),
                   "correct the name, or give the machine's address");
  return gr_hint(gr_fail(GR_ERR_HANG, GR_NOWHERE,
                         "rank 0 was not found within %g s: %s on port %d of '%s'%s%s", seconds,
                         best == SILENT ? "there is no answer" : "nothing listens", o->port,
                         o->host, s->error ? ": " : "", s->error ? strerror(s->error) : ""),
                 "has rank 0 started, and does a firewall let rank %d through? distributed.timeout "
                 "sets how long to wait",
                 o->rank % o->ranks);
}

gr_status gr_store_join(gr_store *s) {
  double begun = gr_seconds(), until = begun + s->opt.timeout_s;
  s->until = begun + at_least_own(s, s->opt.timeout_s);
  for (found best = NOTHING;; best = NOTHING) {
    for (int i = 0; i < s->opt.ports; i++) {
      double left = until - gr_seconds();
      found now;
      GR_TRY(try_port(s, s->opt.port + i, left < connect_s ? left : connect_s, &now));
      if (now == JOINED) return GR_OK;
      if (now > best) best = now;
    }
    double now = gr_seconds();
    bool gone = best > SILENT && s->opt.ports == 1 && now - begun > other_job_s;
    if (now > until || gone) return cannot_join(s, best, now - begun);
    if (s->opt.stop && s->opt.stop()) return gr_store_stopped();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  }
}

gr_status gr_store_open(const gr_store_options *opt, gr_store **out) {
  *out = NULL;
  gr_store *s = calloc(1, sizeof *s);
  if (!s) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for the store of the ranks");
  *s = (gr_store){.opt = *opt, .fd = -1, .token = gr_hash_text(opt->token)};
  gr_status st = opt->rank ? GR_OK : start_server(s);
  st = st ? st : gr_store_join(s);
  if (!st) gr_net_own_address(s->fd, s->address);
  st = st ? st : gr_store_barrier(s, "joined");
  if (st)
    gr_store_close(s);
  else
    *out = s;
  return st;
}

// ---- Requests -----------------------------------------------------------------------------------

gr_status gr_store_lost(int error, double seconds) {
  if (error == ECANCELED) return gr_store_stopped();
  if (error == ETIMEDOUT)
    return gr_hint(
        gr_fail(GR_ERR_HANG, GR_NOWHERE, "rank 0 does not answer within %g s", seconds),
        "is its machine, or the network, down? distributed.timeout sets how long to wait");
  return gr_fail(GR_ERR_RANK, GR_NOWHERE, GR_RANK_DIED "the connection to it was closed", 0);
}

static double patience(const gr_store *s, gr_store_call what) {
  double most = what == GR_STORE_GATHER        ? s->opt.timeout_s + grace_s
                : s->opt.timeout_s < at_once_s ? s->opt.timeout_s
                                               : at_once_s;
  return at_least_own(s, most);
}

static gr_status refused(const gr_store_reply *r, const char *text) {
  gr_store_failure f;
  if (r->answer == GR_STORE_LATE)
    return gr_hint(gr_fail(GR_ERR_HANG, GR_NOWHERE, "%s", text),
                   "a rank may have died while it started; distributed.timeout sets how long to "
                   "wait");
  if (r->answer != GR_STORE_FAILED || r->bytes != sizeof f)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the store refused a request: %s", text);
  memcpy(&f, text, sizeof f);
  return gr_fail((gr_code)f.code, GR_NOWHERE, "%s", f.why);
}

// Before another request: the answers that are yet to come to those of store_watch.c.
static int settle(gr_store *s, gr_net_wait w) {
  int error = atomic_load(&s->given_up) ? ETIMEDOUT : 0;
  while (!error && s->asked != s->answers) {
    error = gr_net_receive(s->fd, (char *)&s->answer + s->got, sizeof s->answer - s->got, w);
    s->got = 0, s->answers++;
  }
  return error;
}

// One request and its answer. The answer's value is the caller's to free. After one that was late
// nothing else is asked: its answer may still come.
static gr_status call(gr_store *s, gr_store_call what, const char *key, const void *value,
                      size_t bytes, gr_store_reply *out, char **out_value) {
  gr_store_request r = {.magic = GR_STORE_MAGIC,
                        .call = what,
                        .bytes = (uint32_t)bytes,
                        .timeout_s = s->opt.timeout_s};
  double seconds = patience(s, what);
  gr_net_wait w = wait_of(s, seconds);
  *out_value = NULL;
  if (strlen(key) >= sizeof r.key || bytes > GR_STORE_VALUE)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "'%s' is too long for the store", key);
  snprintf(r.key, sizeof r.key, "%s", key);
  int error = settle(s, w);
  if (!error) error = gr_net_send(s->fd, &r, sizeof r, w);
  if (!error) error = gr_net_send(s->fd, value, bytes, w);
  if (!error) GR_TRY(read_reply(s, w, out, out_value, &error));
  if (error == ETIMEDOUT) atomic_store(&s->given_up, true);
  if (error) return gr_store_lost(error, seconds);
  if (out->answer == GR_STORE_DONE) return GR_OK;
  gr_status st = refused(out, *out_value);
  free(*out_value);
  *out_value = NULL;
  return st;
}

gr_status gr_store_gather(gr_store *s, const char *key, const void *part, size_t bytes, void *all) {
  gr_store_reply r;
  char *value;
  GR_TRY(call(s, GR_STORE_GATHER, key, part, bytes, &r, &value));
  bool right = r.bytes == bytes * (size_t)s->opt.ranks;
  if (right && bytes) memcpy(all, value, (size_t)r.bytes);
  free(value);
  return right ? GR_OK : gr_fail(GR_ERR_BUG, GR_NOWHERE, "'%s' differs between ranks", key);
}

gr_status gr_store_barrier(gr_store *s, const char *key) {
  return gr_store_gather(s, key, NULL, 0, NULL);
}

// ---- Failures -----------------------------------------------------------------------------------

void gr_store_fail(gr_store *s, const gr_store_failure *f) {
  gr_store_reply r;
  char *none;
  gr_status st = call(s, GR_STORE_FAIL, "", f, sizeof *f, &r, &none);
  free(none);
  gr_status_drop(st);
}

const char *gr_store_own_address(const gr_store *s) { return s->address; }

// Says that this rank leaves, without waiting for the answers to what it has asked before: a server
// that is late finds it behind that, and takes the closed connection for no death.
static void leave(gr_store *s) {
  gr_store_request r = {.magic = GR_STORE_MAGIC, .call = GR_STORE_LEAVE};
  gr_store_reply reply;
  char *none = NULL;
  gr_net_wait w = wait_of(s, s->opt.timeout_s < leave_s ? s->opt.timeout_s : leave_s);
  int error = atomic_load(&s->given_up) ? ETIMEDOUT : gr_net_send(s->fd, &r, sizeof r, w);
  if (!error) error = settle(s, w);
  if (!error) gr_status_drop(read_reply(s, w, &reply, &none, &error));
  free(none);
}

void gr_store_close(gr_store *s) {
  if (!s) return;
  if (s->watch && s->watch->fd >= 0) close(s->watch->fd);
  free(s->watch);
  if (s->fd >= 0) {
    s->opt.stop = NULL;
    leave(s);
    close(s->fd);
  }
  if (s->server) gr_store_server_end(s->server, leave_s);
  free(s);
}
