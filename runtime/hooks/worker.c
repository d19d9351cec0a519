// worker.c - the main loop of the process that runs scripts: answers requests until the run ends.
#define _GNU_SOURCE
#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/hooks/process.h"
#include "runtime/hooks/script.h"

// -- Requests ----------------------------------------------------------------------------

static const char *read_text(gr_sandbox *w) {
  const char *text = gr_wire_text(&w->in);
  return text ? gr_arena_strdup(w->arena, text) : NULL;
}
static bool read_bool(gr_sandbox *w) { return gr_wire_bool(&w->in); }
static double read_float(gr_sandbox *w) { return gr_wire_float(&w->in); }

static void read_adjustable(gr_sandbox *w) {
  w->n_adjust = (int)gr_wire_int(&w->in);
  w->adjust = GR_NEW(w->arena, gr_adjustable, w->n_adjust + 1);
  for (int i = 0; i < w->n_adjust; i++) {
#define GR_HOOK_ADJUSTABLE(type, member) w->adjust[i].member = read_##type(w);
#include "runtime/hooks/hooks.def"
  }
}

static bool set_up(gr_sandbox *w) {
  w->seed = (uint64_t)gr_wire_int(&w->in);
  w->memory_bytes = (size_t)gr_wire_int(&w->in);
  w->seconds = gr_wire_float(&w->in);
  w->n_scripts = (int)gr_wire_int(&w->in);
  read_adjustable(w);
  w->scripts = GR_NEW(w->arena, gr_lua_script, w->n_scripts + 1);
  w->running = w->scripts;
  w->running->name = "";
  w->code = GR_ERR_HOOK;
  snprintf(w->message, sizeof w->message, "no memory for Lua");
  gr_wire_begin(&w->out, GR_WIRE_DONE);
  return gr_sandbox_open(w, gr_sandbox_build);
}

static bool load(gr_sandbox *w) {
  int i = (int)gr_wire_int(&w->in);
  size_t len;
  gr_lua_script *s = &w->scripts[i];
  s->index = i;
  s->name = read_text(w);
  const char *text = gr_wire_bytes(&w->in, &len);
  if (!gr_script_load(w, s, text, len)) return false;
  gr_wire_begin(&w->out, GR_WIRE_DONE);
  for (int e = 0; e < GR_HOOK_EVENTS; e++) gr_wire_put_int(&w->out, s->line[e]);
  return true;
}

static bool call(gr_sandbox *w) {
  gr_hook_result result;
  gr_lua_script *s = &w->scripts[gr_wire_int(&w->in)];
  gr_hook_event event = (gr_hook_event)gr_wire_int(&w->in);
  int64_t step = gr_wire_int(&w->in);
  const void *so_far = gr_wire_bytes(&w->in, NULL);
  memcpy(&result, so_far, sizeof result);
  return gr_script_call(w, s, event, step, &result);
}

static bool serve(gr_sandbox *w) {
  switch (w->in.kind) {
    case GR_WIRE_SETUP:
      return set_up(w);
    case GR_WIRE_LOAD:
      return load(w);
    case GR_WIRE_CALL:
      return call(w);
    case GR_WIRE_STATES:
      return gr_state_take_back(w);
    default:
      _exit(1);
  }
}

static void put_failure(gr_sandbox *w) {
  gr_wire_begin(&w->out, GR_WIRE_FAILED);
  gr_wire_put_int(&w->out, w->code);
  gr_wire_put_int(&w->out, w->line);
  gr_wire_put_text(&w->out, w->message);
  gr_wire_put_text(&w->out, w->trace);
  gr_wire_put_text(&w->out, w->hint);
}

// -- The process -------------------------------------------------------------------------

// Signals sent to all processes of a run (Ctrl-C) are handled by the run, which ends this process
// when it is done.
static void ignore_signals(void) {
  static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGPIPE, GR_HOOK_PLACE_SIGNAL};
  sigset_t none;
  sigemptyset(&none);
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

void gr_hooks_enter(int argc, char **argv) {
  if (argc != 3 || strcmp(argv[1], GR_HOOK_WORD)) return;
  ignore_signals();
  // The run may have ended before PR_SET_PDEATHSIG took effect.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != (pid_t)strtol(argv[2], NULL, 10)) _exit(1);
  gr_close_from(GR_HOOK_PLACES + 1);
  gr_sandbox w = {.arena = gr_arena_create(), .socket = GR_HOOK_SOCKET, .places = GR_HOOK_PLACES};
  while (gr_wire_receive(w.socket, &w.in, NULL, NULL)) {
    if (!serve(&w)) put_failure(&w);
    gr_sandbox_send(&w);
  }
  _exit(0);  // the run has ended
}
