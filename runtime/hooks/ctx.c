// ctx.c - the ctx argument of hooks. See script.h.
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "runtime/hooks/script.h"

// -- ctx.params and ctx.state --------------------------------------------------------------

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
  lua_pushfstring(L, "ctx has no field '%s'", name);
  return gr_hook_unknown(L, near, "it has", gr_hook_fields, n);
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
    return luaL_error(
        L, "ctx.lr cannot be set" GR_HOOK_HINT "the function lr(ctx) returns the learning rate");
  if (strcmp(name, "state"))
    return luaL_error(
        L, "ctx.%s cannot be set" GR_HOOK_HINT "keep the script's own values in ctx.state", name);
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
