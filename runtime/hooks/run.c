// run.c - a script within its limits of memory and time, and its errors. See script.h.
//
// The count hook ends Lua code that runs too long, at its line. It cannot end a function of C;
// the run does that by ending the process (process.c), and has the line from on_place.
#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/hooks/process.h"
#include "runtime/hooks/script.h"

enum { COUNT = 1000 };

gr_world *gr_world_of(lua_State *L) { return *(gr_world **)lua_getextraspace(L); }

// -- Memory ------------------------------------------------------------------------------

int gr_world_line(gr_world *w) {
  lua_Debug ar;
  for (int level = 0; w->L && lua_getstack(w->L, level, &ar); level++) {
    lua_getinfo(w->L, "l", &ar);
    if (ar.currentline > 0) return ar.currentline;
  }
  return 0;
}

static void *allocate(void *ctx, void *at, size_t old, size_t size) {
  gr_world *w = ctx;
  if (!at) old = 0;  // then it is a kind of object
  bool fits = size <= old || size - old <= w->memory_bytes - w->used;
  void *p = NULL;
  if (size && fits)
    p = realloc(at, size);
  else if (!size)
    free(at);
  if (p || !size) w->used = w->used - old + size;
  if (!p && size) w->memory_line = gr_world_line(w);
  return p;
}

// -- Time --------------------------------------------------------------------------------

static void count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  gr_world *w = gr_world_of(L);
  w->late = gr_thread_seconds() >= w->deadline;
  int every = w->late ? 1 : COUNT;  // 1: so that pcall cannot swallow it
  if (lua_gethookcount(L) != every) lua_sethook(L, count, LUA_MASKCOUNT, every);  // goes by depth
  if (w->late) luaL_error(L, "too long");
}

static gr_world *volatile watched;  // by on_place; NULL: no script runs

// Says where the script is, and has the hook look at the clock before the next instruction. What
// Lua is doing is not known here, so reading its stack may fault: that ends the process, as the
// run is about to do.
static void on_place(int number) {
  (void)number;
  int e = errno;
  gr_world *w = watched;
  if (!w) return;
  lua_sethook(w->L, count, LUA_MASKCOUNT, 1);
  gr_hook_place place = {w->running->index, gr_world_line(w)};
  if (!w->late_line && gr_thread_seconds() >= w->deadline) w->late_line = place.line;
  if (write(w->places, &place, sizeof place) < 0) errno = e;  // full: earlier ones are there
  errno = e;
}

// -- Errors ------------------------------------------------------------------------------

// What to do about a value that is nil by its nature.
static void find_hint(gr_world *w) {
  static const struct {
    const char *field, *hint;
  } nil[] = {
      {"(field 'loss')", "ctx.loss is nil before the first step has run"},
      {"(field 'reason')", "ctx.reason is nil but in on_stop"},
      {"(field 'max_steps')", "ctx.max_steps is nil where training.max_steps is not set"},
      {"(field 'max_epochs')", "ctx.max_epochs is nil where training.max_epochs is not set"},
      {"(field 'total_steps')", "ctx.total_steps is nil where the run has no end"},
  };
  for (size_t i = 0; i < sizeof nil / sizeof *nil; i++)
    if (strstr(w->message, nil[i].field)) snprintf(w->hint, sizeof w->hint, "%s", nil[i].hint);
}

// Keeps message, line and traceback. It may be called more than once for an error that arises while
// a script is read.
static int keep_error(lua_State *L) {
  gr_world *w = gr_world_of(L);
  const char *text = lua_tostring(L, 1);
  int line = gr_world_line(w);
  if (!text) text = lua_pushfstring(L, "an error that is a %s", luaL_typename(L, 1));
  if (line) w->line = line;
  snprintf(w->message, sizeof w->message, "%s", text);
  luaL_traceback(L, L, NULL, 1);
  snprintf(w->trace, sizeof w->trace, "%s", lua_tostring(L, -1));
  lua_pushstring(L, text);
  return 1;
}

// "name.lua:12: text" -> text, and the 12 where no better line is known (syntax errors).
static void cut_place(gr_world *w) {
  size_t n = strlen(w->running->name);
  char *end, *text = w->message;
  if (strncmp(text, w->running->name, n) || text[n] != ':') return;
  long line = strtol(text + n + 1, &end, 10);
  if (line < 1 || strncmp(end, ": ", 2)) return;
  if (!w->line) w->line = (int)line;
  memmove(text, end + 2, strlen(end + 2) + 1);
}

static void describe(gr_world *w, int code) {
  w->code = w->late ? GR_ERR_HANG : w->code ? w->code : GR_ERR_HOOK;
  if (w->late && w->late_line) w->line = w->late_line;  // the hook is called one instruction later
  if (code == LUA_ERRMEM && !*w->message) {
    w->line = w->memory_line;
    snprintf(w->message, sizeof w->message, "scripts hold more than %zu MiB of memory",
             w->memory_bytes >> 20);
    snprintf(w->hint, sizeof w->hint,
             "all scripts together have that much: keep less, or write it away with "
             "graphrun.append");
  } else if (!*w->message || code == LUA_ERRERR || strstr(w->message, "stack overflow")) {
    snprintf(w->message, sizeof w->message, "calls, tables or brackets are nested too deeply");
    snprintf(w->hint, sizeof w->hint,
             "Lua takes about 200 tables or brackets in each other, and 200000 calls: does a "
             "function call itself without an end?");
    *w->trace = 0;
  }
  cut_place(w);
  find_hint(w);
}

bool gr_world_run(gr_world *w, gr_lua_script *s, int (*f)(lua_State *), void *arg) {
  w->running = s, w->line = w->memory_line = w->late_line = 0, w->late = false, w->code = 0;
  *w->message = *w->trace = *w->hint = 0;
  w->deadline = gr_thread_seconds() + w->seconds;
  lua_settop(w->L, 0);
  lua_sethook(w->L, count, LUA_MASKCOUNT, COUNT);
  lua_pushcfunction(w->L, keep_error);  // these three take no memory
  lua_pushcfunction(w->L, f);
  lua_pushlightuserdata(w->L, arg);
  watched = w;
  int code = lua_pcall(w->L, 1, 0, 1);
  watched = NULL;
  lua_sethook(w->L, NULL, 0, 0);
  if (code != LUA_OK) describe(w, code);
  return code == LUA_OK;
}

bool gr_world_open(gr_world *w) {
  struct sigaction a = {.sa_handler = on_place, .sa_flags = SA_RESTART};
  sigemptyset(&a.sa_mask);
  w->L = lua_newstate(allocate, w);
  if (!w->L || sigaction(GR_HOOK_PLACE_SIGNAL, &a, NULL)) return false;
  *(gr_world **)lua_getextraspace(w->L) = w;
  lua_pushcfunction(w->L, gr_world_build);
  return lua_pcall(w->L, 0, 0, 0) == LUA_OK;
}
