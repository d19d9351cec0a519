// ctx.c - the ctx argument of hooks, and proxies that check assignments. See script.h.
//
// A proxy is an empty table whose metatable refers to the real one: because it stays empty, Lua
// calls
// __newindex for every assignment, also to an existing key. pairs, rawget and the like are wrapped
// (sandbox.c) to see the real table.
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "runtime/hooks/script.h"

static const char REAL;  // its address is the key of the real table in a proxy's metatable

// -- Proxies -----------------------------------------------------------------------------

static int length(lua_State *L) {
  gr_sandbox_unwrap(L, 1);
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
  return 1;
}

void gr_sandbox_push_proxy(lua_State *L, int real) {
  real = lua_absindex(L, real);
  int set = lua_gettop(L);
  lua_newtable(L);
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, real);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, set);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, length);
  lua_setfield(L, -2, "__len");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, real);
  lua_rawsetp(L, -2, &REAL);
  lua_setmetatable(L, -2);
  lua_remove(L, set);
}

bool gr_sandbox_unwrap(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  bool is = lua_rawgetp(L, -1, &REAL) == LUA_TTABLE;
  if (is) lua_copy(L, -1, index);
  lua_pop(L, 2);
  return is;
}

bool gr_sandbox_unwrap_state(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index) || luaL_getmetafield(L, index, "__newindex") == LUA_TNIL) return false;
  bool is = lua_tocfunction(L, -1) == gr_state_set;
  lua_pop(L, 1);
  gr_lua_script *s = gr_sandbox_of(L)->running;
  if (is) s->touched = s->has_tables = true;
  return is && gr_sandbox_unwrap(L, index);
}

// -- ctx.params and ctx.state --------------------------------------------------------------

// __newindex of read-only tables; the upvalue is the table's name.
static int read_only(lua_State *L) {
  return luaL_error(L, "%s.%s cannot be set: keep the script's own values in ctx.state",
                    lua_tostring(L, lua_upvalueindex(1)), luaL_tolstring(L, 2, NULL));
}

void gr_sandbox_push_read_only(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  lua_pushcclosure(L, read_only, 1);
  gr_sandbox_push_proxy(L, -2);
  lua_remove(L, -2);
}

// Pushes the table that is the next value of the message; those in it cannot be set. `name` is its
// own for errors: "ctx", "ctx.set", or "ctx.set.groups", which those below have, too.
static void push_fields(lua_State *L, gr_wire *in, const char *name) {
  char inner[64];
  bool deep = strchr(name, '.') != strrchr(name, '.');
  gr_wire_table(in);
  for (lua_newtable(L); !gr_wire_end(in); lua_rawset(L, -3)) {
    const char *key = lua_pushstring(L, gr_wire_text(in));
    if (gr_wire_next(in) != GR_WIRE_TABLE) {
      gr_sandbox_push_value(L, in);
      continue;
    }
    if (!deep) snprintf(inner, sizeof inner, "%s.%s", name, key);
    push_fields(L, in, deep ? name : inner);
    gr_sandbox_push_read_only(L, deep ? name : inner);
  }
}

void gr_sandbox_set_state(lua_State *L, gr_lua_script *s) {
  gr_sandbox_unwrap(L, -1);
  if (s->state) luaL_unref(L, LUA_REGISTRYINDEX, s->state);
  if (s->state_proxy) luaL_unref(L, LUA_REGISTRYINDEX, s->state_proxy);
  s->state = s->state_proxy = 0;
  lua_pushvalue(L, -1);
  s->state = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushcfunction(L, gr_state_set);
  gr_sandbox_push_proxy(L, -2);
  s->state_proxy = luaL_ref(L, LUA_REGISTRYINDEX);
  s->touched = s->has_tables = true;
  lua_pop(L, 1);
}

void gr_sandbox_open_ctx(lua_State *L, gr_lua_script *s, gr_wire *in) {
  push_fields(L, in, "ctx.params");
  gr_sandbox_push_read_only(L, "ctx.params");
  s->params_proxy = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  gr_sandbox_set_state(L, s);
  s->touched = s->has_tables = false;
}

// -- ctx ---------------------------------------------------------------------------------

static bool is_field(const char *name) {
  for (int i = 0; gr_hook_fields[i]; i++)
    if (!strcmp(gr_hook_fields[i], name)) return true;
  return false;
}

// Raises the error for a name that is not a field of ctx.
static int no_field(lua_State *L) {
  int n = 0;
  while (gr_hook_fields[n]) n++;
  const char *name = luaL_tolstring(L, 2, NULL);
  const char *near = gr_text_nearest(name, gr_hook_fields, n);
  if (near) return luaL_error(L, "ctx has no field '%s'; did you mean '%s'?", name, near);
  lua_pushliteral(L, "");
  for (int i = 0; i < n; i++) {
    lua_pushfstring(L, "%s%s", i ? ", " : "", gr_hook_fields[i]);
    lua_concat(L, 2);
  }
  return luaL_error(L, "ctx has no field '%s'; it has %s", name, lua_tostring(L, -1));
}

static int get_missing(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!is_field(name)) return no_field(L);
  lua_pushnil(L);  // a known field without a value: a run without an end has no total_steps
  return 1;
}

static int set_field(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  gr_lua_script *s = gr_sandbox_of(L)->running;
  if (!is_field(name)) return no_field(L);
  if (!strcmp(name, "lr"))
    return luaL_error(L, "ctx.lr cannot be set: the function lr(ctx) returns the learning rate");
  if (strcmp(name, "state"))
    return luaL_error(L, "ctx.%s cannot be set: keep the script's own values in ctx.state", name);
  if (!lua_istable(L, 3))
    return luaL_error(L, "ctx.state cannot be a %s: it must stay a table", luaL_typename(L, 3));
  lua_settop(L, 3);
  gr_sandbox_set_state(L, s);
  gr_sandbox_unwrap(L, 1);
  lua_pushliteral(L, "state");
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->state_proxy);
  lua_rawset(L, 1);
  return 0;
}

static void set_ref(lua_State *L, const char *name, int ref) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
  lua_setfield(L, -2, name);
}

void gr_sandbox_push_ctx(lua_State *L, gr_lua_script *s, gr_wire *in) {
  push_fields(L, in, "ctx");
  set_ref(L, "params", s->params_proxy);
  set_ref(L, "state", s->state_proxy);
  if (luaL_newmetatable(L, "ctx.fields")) {
    lua_pushcfunction(L, get_missing);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  lua_pushcfunction(L, set_field);
  gr_sandbox_push_proxy(L, -2);
  lua_remove(L, -2);
}
