// run.c - runs a script within its memory and time limits, and records its errors. See script.h.
//
// Lua's count hook ends Lua code that exceeds the time limit, with its line. It cannot end a C
// function; the run ends the process then (process.c) and knows the line from on_place.
#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/port.h"
#include "base/thread.h"
#include "runtime/hooks/process.h"
#include "runtime/hooks/script.h"

enum { COUNT = 1000 };

// -- Memory ------------------------------------------------------------------------------

// Of the innermost Lua function; 0: none.
static int current_line(gr_sandbox *w) {
  lua_Debug ar;
  for (int level = 0; w->L && lua_getstack(w->L, level, &ar); level++) {
    lua_getinfo(w->L, "l", &ar);
    if (ar.currentline > 0) return ar.currentline;
  }
  return 0;
}

static void *allocate(void *ctx, void *block, size_t old, size_t size) {
  gr_sandbox *w = ctx;
  if (!block) old = 0;  // lua_Alloc passes the kind of object in `old` then
  bool fits = size <= old || size - old <= w->memory_bytes - w->used;
  void *p = NULL;
  if (size && fits)
    p = realloc(block, size);
  else if (!size)
    free(block);
  if (p || !size) w->used = w->used - old + size;
  if (!p && size) w->memory_line = current_line(w);
  return p;
}

// -- Time --------------------------------------------------------------------------------

static void count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  gr_sandbox *w = gr_sandbox_of(L);
  w->late = gr_thread_seconds() >= w->deadline;
  int every = w->late ? 1 : COUNT;  // 1: raises the error again if pcall catches it
  if (lua_gethookcount(L) != every) lua_sethook(L, count, LUA_MASKCOUNT, every);
  if (w->late) luaL_error(L, "too long");
}

static gr_sandbox *volatile watched;  // for on_place; NULL: no script is running

// Signal handler: reports the script's line, and makes the count hook check the time before the
// next instruction. Lua's stack may be inconsistent here, so reading it may crash the process; that
// is acceptable, because the run is about to kill it.
static void on_place(int number) {
  (void)number;
  int e = errno;
  gr_sandbox *w = watched;
  if (!w) return;
  lua_sethook(w->L, count, LUA_MASKCOUNT, 1);
  gr_hook_place place = {w->running->index, current_line(w)};
  if (!w->late_line && gr_thread_seconds() >= w->deadline) w->late_line = place.line;
  if (write(w->places, &place, sizeof place) < 0) errno = e;  // the pipe is full of earlier reports
  errno = e;
}

// -- Errors ------------------------------------------------------------------------------

// Explains fields that are legitimately nil.
static void find_hint(gr_sandbox *w) {
  static const struct {
    const char *field, *hint;
  } nil[] = {
      {"(field 'loss')", "ctx.loss is nil before the first step has run"},
      {"(field 'reason')", "ctx.reason is nil except in on_stop"},
      {"(field 'max_steps')", "ctx.max_steps is nil when training.max_steps is not set"},
      {"(field 'max_epochs')", "ctx.max_epochs is nil when training.max_epochs is not set"},
      {"(field 'total_steps')", "ctx.total_steps is nil when the run has no limit"},
  };
  for (size_t i = 0; i < sizeof nil / sizeof *nil; i++)
    if (strstr(w->message, "a nil value") && strstr(w->message, nil[i].field))
      snprintf(w->hint, sizeof w->hint, "%s", nil[i].hint);
}

// Message handler of lua_pcall: records message, line and traceback. Lua may call it more than once
// for an error while a script is parsed.
static int keep_error(lua_State *L) {
  gr_sandbox *w = gr_sandbox_of(L);
  const char *text = lua_tostring(L, 1);
  int line = current_line(w);
  if (!text) text = lua_pushfstring(L, "an error that is a %s", luaL_typename(L, 1));
  if (line) w->line = line;
  snprintf(w->message, sizeof w->message, "%s", text);
  luaL_traceback(L, L, NULL, 1);
  const char *trace = lua_tostring(L, -1);
  bool shows = strcmp(trace, "stack traceback:\n\t[C]: in ?");  // more than that it was called
  snprintf(w->trace, sizeof w->trace, "%s", shows ? trace : "");
  lua_pushstring(L, text);
  return 1;
}

// Strips the location from "name.lua:12: text", and uses the 12 if no better line is known (syntax
// errors).
static void strip_location(gr_sandbox *w) {
  size_t n = strlen(w->running->name);
  char *end, *text = w->message;
  if (strncmp(text, w->running->name, n) || text[n] != ':') return;
  long line = strtol(text + n + 1, &end, 10);
  if (line < 1 || strncmp(end, ": ", 2)) return;
  if (!w->line) w->line = (int)line;
  memmove(text, end + 2, strlen(end + 2) + 1);
}

static void describe(gr_sandbox *w, int code) {
  w->code = w->late ? GR_ERR_HANG : w->code ? w->code : GR_ERR_HOOK;
  if (w->late && w->late_line) w->line = w->late_line;  // the hook is called one instruction later
  if (code == LUA_ERRMEM && !*w->message) {
    w->line = w->memory_line;
    snprintf(w->message, sizeof w->message, "scripts use more than %zu MiB of memory",
             w->memory_bytes >> 20);
    snprintf(w->hint, sizeof w->hint,
             "this is the limit for all scripts together: keep less, or write data to a file with "
             "graphrun.append");
  } else if (!*w->message || code == LUA_ERRERR || strstr(w->message, "stack overflow")) {
    snprintf(w->message, sizeof w->message, "calls, tables or brackets are nested too deeply");
    snprintf(w->hint, sizeof w->hint,
             "Lua allows about 200 nested tables or brackets, and 200000 nested calls: does a "
             "function call itself endlessly?");
    *w->trace = 0;
  }
  strip_location(w);
  find_hint(w);
  char *hint = strstr(w->message, GR_HOOK_HINT);
  if (!hint) return;
  *hint = 0;
  snprintf(w->hint, sizeof w->hint, "%s", hint + strlen(GR_HOOK_HINT));
}

bool gr_sandbox_run(gr_sandbox *w, gr_lua_script *s, int (*f)(lua_State *), void *arg) {
  w->running = s, w->line = w->memory_line = w->late_line = 0, w->late = false, w->code = 0;
  *w->message = *w->trace = *w->hint = 0;
  w->deadline = gr_thread_seconds() + w->seconds;
  lua_settop(w->L, 0);
  lua_sethook(w->L, count, LUA_MASKCOUNT, COUNT);
  lua_pushcfunction(w->L, keep_error);  // these three pushes cannot fail for lack of memory
  lua_pushcfunction(w->L, f);
  lua_pushlightuserdata(w->L, arg);
  watched = w;
  int code = lua_pcall(w->L, 1, 0, 1);
  watched = NULL;
  lua_sethook(w->L, NULL, 0, 0);
  if (code != LUA_OK) describe(w, code);
  return code == LUA_OK;
}

bool gr_sandbox_open(gr_sandbox *w, int (*build)(lua_State *)) {
  struct sigaction a = {.sa_handler = on_place, .sa_flags = SA_RESTART};
  w->L = lua_newstate(allocate, w);
  if (!w->L || gr_signal_handle(GR_HOOK_PLACE_SIGNAL, a, NULL)) return false;
  *(gr_sandbox **)lua_getextraspace(w->L) = w;
  lua_pushcfunction(w->L, build);
  return lua_pcall(w->L, 0, 0, 0) == LUA_OK;
}
