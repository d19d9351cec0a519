// controls.c - reads what scripts return: the learning rate, or controls. See script.h.
#include <lauxlib.h>
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "base/text.h"
#include "runtime/hooks/script.h"

static void cut_to_utf8(char *text) {
  for (size_t n = strlen(text); n && !gr_utf8_valid(text);) text[--n] = 0;
}

static void gr_take_stop(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  char reason[GR_HOOK_REASON];
  if (lua_type(L, -1) == LUA_TSTRING)
    snprintf(reason, sizeof reason, "%s", lua_tostring(L, -1)), cut_to_utf8(reason);
  else if (lua_isboolean(L, -1))
    snprintf(reason, sizeof reason, "requested by %s", s->name);
  else
    luaL_error(L, "'stop' must be true or a reason, but is a %s", luaL_typename(L, -1));
  if (r->stop || !lua_toboolean(L, -1)) return;
  r->stop = true;
  memcpy(r->reason, reason, sizeof reason);
}

static bool take_bool(lua_State *L, const char *name) {
  if (!lua_isboolean(L, -1))
    luaL_error(L, "'%s' must be true or false, but is a %s", name, luaL_typename(L, -1));
  return lua_toboolean(L, -1) != 0;
}

static void gr_take_save(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  r->save |= take_bool(L, "save");
}

static void gr_take_evaluate(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  r->evaluate |= take_bool(L, "evaluate");
}

// Takes the name and the value on top of the stack.
static void take_one_log(lua_State *L, gr_hook_result *r) {
  static const char *const reserved[] = {"step",      "epoch",         "loss", "lr",
                                         "grad_norm", "samples_per_s", "wall"};
  const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
  if (!*name || strlen(name) >= GR_HOOK_NAME || !gr_utf8_valid(name) ||
      lua_type(L, -1) != LUA_TNUMBER)
    luaL_error(L, "'log' must be { name = number }, with names in UTF-8 of at most %d bytes",
               GR_HOOK_NAME - 1);
  for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++)
    if (!strcmp(reserved[k], name))
      luaL_error(L, "'log' cannot set '%s', which every row has", name);
  if (r->n_logs == GR_HOOK_LOGS)
    luaL_error(L, "'log' has more than %d values in one step", GR_HOOK_LOGS);
  snprintf(r->logs[r->n_logs].name, GR_HOOK_NAME, "%s", name);
  r->logs[r->n_logs++].value = lua_tonumber(L, -1);
}

static void gr_take_log(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  if (!lua_istable(L, -1))
    luaL_error(L, "'log' must be { name = number }, but is a %s", luaL_typename(L, -1));
  int table = lua_gettop(L);
  gr_sandbox_unwrap(L, table);
  gr_sandbox_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    take_one_log(L, r);
    lua_pop(L, 2);
  }
  lua_settop(L, table);
}

static void take_lr(lua_State *L, gr_hook_result *r) {
  double lr = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER)
    luaL_error(L, "lr(ctx) must return the learning rate, a number, but returned a %s",
               luaL_typename(L, -1));
  if (!isfinite(lr) || lr < 0)
    luaL_error(L, "lr(ctx) returned %f" GR_HOOK_HINT "a learning rate is finite and not negative",
               gr_shown(lr));
  r->lr = lr;
}

// -- The table ---------------------------------------------------------------------------

static void (*const takes[])(lua_State *, const gr_lua_script *, gr_hook_result *) = {
#define GR_HOOK_CONTROL(name, doc) gr_take_##name,
#include "runtime/hooks/hooks.def"
};
enum { N_CONTROLS = sizeof takes / sizeof *takes };

// Pushes "stop, save and log".
static const char *push_names(lua_State *L) {
  lua_pushliteral(L, "");
  for (int i = 0; i < N_CONTROLS; i++) {
    const char *before = !i ? "" : i == N_CONTROLS - 1 ? " and " : ", ";
    lua_pushfstring(L, "%s%s", before, gr_hook_control_names[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

static int unknown_control(lua_State *L, const char *event, const char *key) {
  const char *near = gr_text_nearest(key, gr_hook_control_names, N_CONTROLS);
  return luaL_error(L, "%s returned '%s'" GR_HOOK_HINT "it may return %s%s%s%s", event, key,
                    push_names(L), strcmp(key, "lr") ? "" : ", and lr(ctx) sets the learning rate",
                    near ? "; did you mean " : "", near ? near : "");
}

static void take_controls(lua_State *L, const gr_lua_script *s, const char *event,
                          gr_hook_result *r) {
  if (lua_isnil(L, -1)) return;
  const char *type = luaL_typename(L, -1);
  if (!lua_istable(L, -1))
    luaL_error(L, "%s returned a %s" GR_HOOK_HINT "it may return nothing or a table of %s", event,
               type, push_names(L));
  int table = lua_gettop(L);
  gr_sandbox_unwrap(L, table);
  gr_sandbox_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
    int k = 0;
    while (k < N_CONTROLS && strcmp(key, gr_hook_control_names[k])) k++;
    if (k == N_CONTROLS) unknown_control(L, event, key);
    lua_pushstring(L, key);
    lua_rawget(L, table);
    takes[k](L, s, r);
    lua_pop(L, 2);
  }
  lua_settop(L, table);
}

void gr_script_take(lua_State *L, const gr_lua_script *s, gr_hook_event event, gr_hook_result *r) {
  const gr_hook_row *row = &gr_hook_events[event];
  if (row->returns == GR_HOOK_RATE) take_lr(L, r);
  if (row->returns == GR_HOOK_CONTROLS) take_controls(L, s, row->name, r);
}
