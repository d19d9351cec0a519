// process.c - starts, queries and supervises the process that runs scripts. See process.h.
//
// Scripts run in a process of their own because nothing else can end a C function that does not
// return, and because a crash of Lua must not crash the run. It is a new instance of this program
// (fork alone is not safe with MPI and threads) with two open descriptors besides standard error,
// and it dies with the thread that started it.
#define _GNU_SOURCE
#include "runtime/hooks/process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/port.h"

extern char **environ;

static const double TICK = 0.02;  // seconds between checks of a call in progress
static const double GRACE = 0.5;  // processor seconds past the limit, to end by itself
static const double STOP_SECONDS =
    0.5;                                // processor seconds that a call has once the run must stop,
static const double STOP_PATIENCE = 5;  // or wall-clock seconds
static const double SILENCE = 60;       // wall-clock seconds beyond 20 limits, for a busy machine

// -- Starting and ending -----------------------------------------------------------------

// Duplicates a descriptor above the numbers that the child expects, so that dup2 there cannot close
// it.
static int above(int fd) {
  int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, GR_HOOK_PLACES + 1);
  if (fd >= 0) close(fd);
  return up;
}

static int spawn(gr_hooks *h, int socket, int places) {
  char parent[24];
  char *argv[] = {(char *)"graphrun", (char *)GR_HOOK_WORD, parent, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t all;
  snprintf(parent, sizeof parent, "%d", (int)getpid());
  sigfillset(&all);  // blocked until the child has set up its handlers
  int e = posix_spawn_file_actions_init(&files);
  if (e) return e;
  e = posix_spawnattr_init(&how);
  if (!e) e = posix_spawnattr_setsigmask(&how, &all);
  if (!e) e = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  for (int fd = 0; fd < 2 && !e; fd++)  // standard error stays open, for internal errors
    e = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  if (!e) e = posix_spawn_file_actions_adddup2(&files, socket, GR_HOOK_SOCKET);
  if (!e) e = posix_spawn_file_actions_adddup2(&files, places, GR_HOOK_PLACES);
  if (!e) e = posix_spawn(&h->pid, "/proc/self/exe", &files, &how, argv, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return e;
}

gr_status gr_hooks_spawn(gr_hooks *h) {
  int ends[2] = {-1, -1}, pipes[2] = {-1, -1};
  h->pid = 0;
  int e = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
                  pipe2(pipes, O_CLOEXEC | O_NONBLOCK)
              ? errno
              : 0;
  for (int i = 0; i < 2 && !e; i++) {
    ends[i] = above(ends[i]), pipes[i] = above(pipes[i]);
    if (ends[i] < 0 || pipes[i] < 0) e = errno;
  }
  if (!e) e = spawn(h, ends[1], pipes[1]);
  if (ends[1] >= 0) close(ends[1]);
  if (pipes[1] >= 0) close(pipes[1]);
  h->socket = ends[0], h->places = pipes[0];
  if (!e) e = clock_getcpuclockid(h->pid, &h->clock);
  if (!e) return GR_OK;
  if (!h->pid) close(h->socket), close(h->places);
  gr_hooks_kill(h);
  return gr_hint(
      gr_fail(GR_ERR_HOOK, GR_NOWHERE, "cannot start the process that runs hooks: %s", strerror(e)),
      "graphrun runs /proc/self/exe for it; check `ulimit -u` (processes) and `ulimit -n` "
      "(open files)");
}

static void read_place(gr_hooks *h) {
  gr_hook_place p;
  while (read(h->places, &p, sizeof p) == sizeof p)
    if (p.line > 0) h->place = p;
}

// Waits for the process to end; *out_status is waitpid's, or 0 if that is not known.
static void reap(gr_hooks *h, int *out_status) {
  *out_status = 0;
  kill(h->pid, SIGKILL);
  while (waitpid(h->pid, out_status, 0) < 0 && errno == EINTR) {
  }
  read_place(h);
  close(h->socket), close(h->places);
  h->pid = 0;
}

void gr_hooks_kill(gr_hooks *h) {
  int status;
  if (h->pid > 0) reap(h, &status);
}

// -- Watching ----------------------------------------------------------------------------

typedef struct watch {
  gr_hooks *h;
  double began, used;  // wall-clock and processor time when the request was sent
  double next;         // time of the next check
  double stopping;     // since when the run must stop; 0: it need not
  bool late;
  gr_code verdict;  // why it is killed: GR_ERR_HANG, GR_ERR_STOPPED, GR_ERR_RANK (no answer)
} watch;

static double process_seconds(const gr_hooks *h) {
  struct timespec t;
  if (clock_gettime(h->clock, &t)) return 0;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// False: the process must be killed, for the reason in w->verdict.
static bool check_limits(watch *w) {
  gr_hooks *h = w->h;
  double now = gr_seconds(), used = process_seconds(h) - w->used, most = h->spec.seconds;
  if (now < w->next) return true;
  w->next = now + TICK;
  w->late = used >= most;
  if (!w->stopping && h->spec.stop && h->spec.stop()) w->stopping = now;
  double since = w->stopping ? now - w->stopping : 0;
  if (w->late || w->stopping) kill(h->pid, GR_HOOK_PLACE_SIGNAL), read_place(h);
  if (since >= STOP_PATIENCE || (since >= 4 * TICK && used >= STOP_SECONDS))
    w->verdict = GR_ERR_STOPPED;
  else if (used >= most + GRACE)
    w->verdict = w->stopping ? GR_ERR_STOPPED : GR_ERR_HANG;
  else if (now - w->began >= SILENCE + 20 * most)
    w->verdict = GR_ERR_RANK;
  return !w->verdict;
}

static bool wait_for(void *ctx, int fd, short events) {
  watch *w = ctx;
  for (;;) {
    struct pollfd p = {.fd = fd, .events = events};
    int n = poll(&p, 1, (int)(1e3 * TICK));
    if (n > 0) return true;
    if ((n < 0 && errno != EINTR) || !check_limits(w)) return false;
  }
}

// -- Errors ------------------------------------------------------------------------------

static gr_status too_long(const gr_hooks *h, gr_loc loc, const char *trace) {
  gr_status e =
      gr_fail(GR_ERR_HOOK, loc, "it ran longer than %g s of processor time", h->spec.seconds);
  if (trace && *trace) e = gr_note(e, GR_NOWHERE, "%s", trace);
  return gr_hint(
      e, "hooks run between steps and should be short; hooks_seconds sets the limit of one call");
}

// What is nil in a message of Lua about a value that has no field's name, or is no table.
static gr_status with_value(gr_status e, const char *message) {
  const char *nil = strstr(message, "a nil value ("), *name = nil ? strchr(nil, '\'') : NULL;
  const char *end = name ? strchr(name + 1, '\'') : NULL;
  bool compares = strstr(message, "attempt to compare") && strstr(message, "nil");
  if (strstr(message, "attempt to index a number value"))
    return gr_hint(e, "a number has no fields: remove what follows it after the '.'");
  if (!end && !compares && !strstr(message, "a nil value")) return e;
  if (end) e = gr_hint(e, "%.*s is nil here", (int)(end - name + 1), name);
  return gr_hint(e,
                 "%snil is a local before it has a value, an argument that is not given, or a "
                 "field that is not there: of ctx.metrics and ctx.params (docs/hooks.md lists "
                 "ctx's), or of a table; `x = x or 0` gives it a first value",
                 compares ? "one side is nil; " : "");
}

// A script that computes with a value of hooks_params which is not given fails with a nil value.
static gr_status with_missing_param(const gr_hooks *h, gr_loc loc, gr_status e,
                                    const char *message) {
  char key[128];
  for (int i = 0; loc.file && i < h->spec.n_scripts; i++) {
    const gr_hook_script *s = &h->spec.scripts[i];
    if (!strcmp(s->path, loc.file) && gr_hooks_missing_param(s, message, key, sizeof key))
      return gr_hint(e,
                     "hooks_params.%s, which this hook reads, is not given: hooks_params.%s=VALUE",
                     key, key);
  }
  if (strstr(message, "a nil value (field '"))
    return gr_hint(e,
                   "there is no such field: ctx.metrics has loss and the model's metrics, by the "
                   "names that a run prints");
  return with_value(e, message);
}

// The error of a FAILED answer: code, line, message, traceback, hint.
static gr_status failed(gr_hooks *h, gr_loc loc, bool stopping) {
  gr_wire *in = &h->in;
  gr_code code = (gr_code)gr_wire_int(in);
  int line = (int)gr_wire_int(in);
  const char *message = gr_wire_text(in), *trace = gr_wire_text(in), *hint = gr_wire_text(in);
  if (line > 0) loc.line = line;
  if (in->bad) return gr_fail(GR_ERR_BUG, loc, "the hooks' process sent an incomplete message");
  if (code == GR_ERR_HANG && stopping)
    return gr_fail(GR_ERR_STOPPED, loc, "it was ended because the run must stop");
  if (code == GR_ERR_HANG) return too_long(h, loc, trace);
  gr_status e = gr_fail(code, code == GR_ERR_CHECKPOINT ? GR_NOWHERE : loc, "%s", message);
  if (*trace) e = gr_note(e, GR_NOWHERE, "%s", trace);
  if (code == GR_ERR_HOOK && !*hint) return with_missing_param(h, loc, e, message);
  return *hint ? gr_hint(e, "%s", hint) : e;
}

// The error of a process that has ended without an answer.
static gr_status cut_off(const gr_hooks *h, gr_loc loc, const watch *w, int status) {
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  bool ours = w->verdict || w->late;
  if (w->verdict == GR_ERR_STOPPED || (ours && w->stopping))
    return gr_fail(GR_ERR_STOPPED, loc, "it was ended because the run must stop");
  if (w->verdict == GR_ERR_RANK)
    return gr_hint(
        gr_fail(GR_ERR_HOOK, loc, "it did not end within %.0f s", gr_seconds() - w->began),
        "its process used hardly any processor time; was it suspended?");
  if (ours) return too_long(h, loc, NULL);
  if (!number) return gr_fail(GR_ERR_HOOK, loc, "the hooks' process exited unexpectedly");
  return gr_hint(gr_fail(GR_ERR_HOOK, loc, "the hooks' process was killed by signal %d: %s", number,
                         strsignal(number)),
                 number == SIGKILL ? "by a user, or by the system when memory ran out"
                                   : "a bug in Lua or graphrun");
}

// -- Asking ------------------------------------------------------------------------------

static bool append(gr_hooks *h, watch *w) {
  size_t name_len, len;
  const char *name = gr_wire_bytes(&h->in, &name_len), *text = gr_wire_bytes(&h->in, &len);
  if (h->in.bad) return false;
  const char *why = h->restarting ? "" : gr_hooks_append(h, name, name_len, text, len);
  gr_wire_begin(&h->out, GR_WIRE_APPENDED);
  gr_wire_put_text(&h->out, why);
  return gr_wire_send(h->socket, &h->out, wait_for, w);
}

// Counts a line of the log. False: it is left out, which the first such line reports.
static bool may_log(gr_hooks *h, size_t bytes) {
  bool reported = h->logged_in_call > GR_HOOK_CALL_LOG || h->logged > GR_HOOK_RUN_LOG;
  h->logged_in_call += bytes;
  if (reported) return false;
  h->logged += bytes;
  if (h->logged > GR_HOOK_RUN_LOG) {
    gr_log(GR_WARN, "hooks have written %d MiB to the log; the lines that follow are left out",
           GR_HOOK_RUN_LOG >> 20);
    return false;
  }
  if (h->logged_in_call <= GR_HOOK_CALL_LOG) return true;
  h->logged -= bytes;
  gr_log(GR_WARN, "a hook has written %d KiB to the log in one call; the rest of it is left out",
         GR_HOOK_CALL_LOG >> 10);
  return false;
}

static void log_line(gr_hooks *h) {
  gr_level level = (gr_level)gr_wire_int(&h->in);
  const char *text = gr_wire_text(&h->in);
  if (text && !h->restarting && may_log(h, strlen(text) + 1)) gr_log(level, "%s", text);
}

// Serves the script's log and append messages until its answer arrives. False: there is none.
static bool answer(gr_hooks *h, watch *w) {
  for (bool ok = gr_wire_send(h->socket, &h->out, wait_for, w); ok;) {
    if (!gr_wire_receive(h->socket, &h->in, wait_for, w)) return false;
    if (h->in.kind == GR_WIRE_DONE || h->in.kind == GR_WIRE_FAILED) return true;
    if (h->in.kind == GR_WIRE_APPEND)
      ok = append(h, w);
    else
      log_line(h);
    ok = ok && check_limits(w);  // checks a script that keeps sending messages, too
  }
  return false;
}

gr_status gr_hooks_ask(gr_hooks *h, const gr_script *s, int event) {
  int status;
  watch w = {.h = h, .began = gr_seconds(), .used = process_seconds(h)};
  w.next = w.began + TICK;
  h->place.line = 0, h->logged_in_call = 0;
  bool answered = answer(h, &w);
  if (answered && h->in.kind == GR_WIRE_DONE) return GR_OK;
  reap(h, &status);
  gr_loc loc = {s->spec.path, event >= 0 && s->line[event] > 0 ? s->line[event] : 1, 1};
  if (answered) return failed(h, loc, w.stopping != 0);
  if (h->place.line) loc.line = h->place.line;
  return cut_off(h, loc, &w, status);
}
