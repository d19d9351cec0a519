// script.c - loads scripts and calls their functions. See script.h.
#include "runtime/hooks/script.h"
#include <lauxlib.h>
#include <string.h>
#include "base/text.h"

// -- Loading -----------------------------------------------------------------------------

static int event_of(const char *name) {
  for (int i = 0; i < GR_HOOK_EVENTS; i++)
    if (!strcmp(name, gr_hook_events[i].name)) return i;
  return -1;
}

// Events as other programs call them.
static const char *event_elsewhere(const char *name) {
  static const char *const known[][2] = {{"on_batch_end", "on_step_end"},
                                         {"on_train_batch_end", "on_step_end"},
                                         {"on_optimizer_step", "on_step_end"},
                                         {"on_train_begin", "on_start"},
                                         {"on_train_start", "on_start"},
                                         {"on_fit_start", "on_start"},
                                         {"on_train_end", "on_stop"},
                                         {"on_fit_end", "on_stop"},
                                         {"on_epoch_begin", "on_epoch_start"},
                                         {"on_train_epoch_start", "on_epoch_start"},
                                         {"on_train_epoch_end", "on_epoch_end"},
                                         {"on_validation_end", "on_eval_end"},
                                         {"on_validation_epoch_end", "on_eval_end"},
                                         {"on_evaluate", "on_eval_end"},
                                         {"on_validation_start", "on_eval_start"},
                                         {"on_save_checkpoint", "on_checkpoint"},
                                         {"on_save", "on_checkpoint"},
                                         {"on_log", "on_step_end"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i][0])) return known[i][1];
  return NULL;
}

static int unknown_event(lua_State *L, const char *key) {
  const char *names[GR_HOOK_EVENTS];
  for (int i = 0; i < GR_HOOK_EVENTS; i++) names[i] = gr_hook_events[i].name;
  const char *other = event_elsewhere(key);
  const char *near = other ? other : gr_text_nearest(key, names, GR_HOOK_EVENTS);
  lua_pushfstring(L, "there is no event '%s'", key);
  return gr_hook_unknown(L, near, "the events are", names, GR_HOOK_EVENTS);
}

// The line of the function on top of the stack, for errors in what it returns.
static int line_defined(lua_State *L) {
  lua_Debug ar;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  return ar.linedefined;
}

// Takes the function of name `key` from the top of the stack.
static void take_event(lua_State *L, gr_lua_script *s, const char *key) {
  int event = event_of(key);
  if (event < 0) unknown_event(L, key);
  if (!lua_isfunction(L, -1))
    luaL_error(L, "'%s' must be a function, but is a %s", key, luaL_typename(L, -1));
  if (lua_iscfunction(L, -1))
    luaL_error(
        L, "'%s' is one of Lua's own functions" GR_HOOK_HINT "write '%s = function(ctx) ... end'",
        key, key);
  s->line[event] = line_defined(L);
  lua_pushvalue(L, -1);
  s->event[event] = luaL_ref(L, LUA_REGISTRYINDEX);
}

static int set_event(lua_State *L) {
  return luaL_error(L,
                    "'%s' cannot be set: the functions of a script are fixed when its table is "
                    "returned",
                    luaL_tolstring(L, 2, NULL));
}

// Takes the functions from the table that the script returned, and makes the table read-only.
static void take_table(lua_State *L, gr_lua_script *s) {
  if (!lua_istable(L, -1) || lua_getmetatable(L, -1))
    luaL_error(
        L, "a hook script must end with 'return { lr = function(ctx) ... end }', not with a %s%s",
        lua_istable(L, -1) ? "table with a metatable" : luaL_typename(L, -1), "");
  int table = lua_gettop(L);
  lua_newtable(L);
  gr_sandbox_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 2, i) != LUA_TNIL; i++) {
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!key)
      luaL_error(L, "the table has a value without a key" GR_HOOK_HINT
                    "write '{ lr = function(ctx) ... end }'");
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    take_event(L, s, key);
    lua_rawset(L, table + 1);
    lua_pushstring(L, key);
    lua_pushnil(L);
    lua_rawset(L, table);
  }
  lua_settop(L, table + 1);
  lua_pushcfunction(L, set_event);
  gr_sandbox_push_proxy(L, table + 1);
  lua_getmetatable(L, -1);
  lua_setmetatable(L, table);
}

typedef struct loading {
  gr_lua_script *script;
  const char *text;
  size_t len;
} loading;

// What Lua writes otherwise than other languages, by what a syntax error is near.
static const char *hint_of_syntax(const char *error) {
  static const char *const known[][2] = {
      {"near '!'", "Lua writes a ~= b for a != b, and not a for !a"},
      {"near '+'", "Lua has no += and ++: n = n + 1"},
      {"near '-'", "Lua has no -= and --: n = n - 1"},
      {"near '&'", "Lua writes a and b for a && b"},
      {"near '|'", "Lua writes a or b for a || b"},
      {"near ':'", "Lua writes if a then ... end"},
      {"near '{'", "Lua writes if a then ... end, and function() ... end"}};
  for (size_t i = 0; error && i < sizeof known / sizeof *known; i++)
    if (strstr(error, known[i][0])) return known[i][1];
  return "a hook is a script of Lua that returns its functions (docs/hooks.md): "
         "return { lr = function(ctx) return ctx.lr end }";
}

static int load(lua_State *L) {
  const loading *l = lua_touserdata(L, 1);
  gr_lua_script *s = l->script;
  const char *chunk = lua_pushfstring(L, "@%s", s->name);
  gr_sandbox_open_ctx(L, s, &gr_sandbox_of(L)->in);
  if (luaL_loadbufferx(L, l->text, l->len, chunk, "t")) {
    lua_pushfstring(L, GR_HOOK_HINT "%s", hint_of_syntax(lua_tostring(L, -1)));
    lua_concat(L, 2);
    return lua_error(L);
  }
  gr_sandbox_env(L);
  lua_setupvalue(L, -2, 1);
  lua_call(L, 0, 1);
  take_table(L, s);
  return 0;
}

bool gr_script_load(gr_sandbox *w, gr_lua_script *s, const char *text, size_t len) {
  loading now = {s, text, len};
  w->rng = gr_rng_make(w->seed, gr_arena_printf(w->arena, "hook:%s", s->name), 0);
  w->drawn = 0;
  return gr_sandbox_run(w, s, load, &now);
}

// -- Calling -----------------------------------------------------------------------------

typedef struct calling {
  gr_lua_script *script;
  gr_hook_event event;
  gr_hook_result *result;
} calling;

// Writes the result, and a copy of the state if it may have changed.
static void put_answer(lua_State *L, gr_lua_script *s, const gr_hook_result *r) {
  gr_wire *out = &gr_sandbox_of(L)->out;
  bool changed = s->touched || s->has_tables;
  gr_wire_begin(out, GR_WIRE_DONE);
  gr_wire_put_bytes(out, r, sizeof *r);
  gr_wire_put_bool(out, changed);
  if (changed) gr_state_write(L, s, out);
}

static int call(lua_State *L) {
  calling *c = lua_touserdata(L, 1);
  gr_lua_script *s = c->script;
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->event[c->event]);
  gr_sandbox_push_ctx(L, s, &gr_sandbox_of(L)->in);
  lua_call(L, 1, 1);
  gr_sandbox_of(L)->line = s->line[c->event];
  gr_script_take(L, s, c->event, c->result);
  put_answer(L, s, c->result);
  return 0;
}

bool gr_script_call(gr_sandbox *w, gr_lua_script *s, gr_hook_event event, int64_t step,
                    gr_hook_result *r) {
  char stream[256];
  calling now = {s, event, r};
  snprintf(stream, sizeof stream, "hook:%d:%.200s:%s", s->index, s->name,
           gr_hook_events[event].name);
  w->rng = gr_rng_make(w->seed, stream, (uint64_t)step);
  w->drawn = 0;
  return gr_sandbox_run(w, s, call, &now);
}
