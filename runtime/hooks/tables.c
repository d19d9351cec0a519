// tables.c - tables of Lua: proxies that check assignments, keys in order, and errors about names.
// See script.h.
//
// A proxy is an empty table whose metatable refers to the real one: because it stays empty, Lua
// calls __newindex for every assignment, also to an existing key. pairs, rawget and the like are
// wrapped (sandbox.c) to see the real table.
#include <lauxlib.h>
#include "runtime/hooks/script.h"

gr_sandbox *gr_sandbox_of(lua_State *L) { return *(gr_sandbox **)lua_getextraspace(L); }

// -- Proxies -----------------------------------------------------------------------------

static const char REAL;  // its address is the key of the real table in a proxy's metatable

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
  bool is_proxy = lua_rawgetp(L, -1, &REAL) == LUA_TTABLE;
  if (is_proxy) lua_copy(L, -1, index);
  lua_pop(L, 2);
  return is_proxy;
}

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

// -- Keys --------------------------------------------------------------------------------

// Order of keys: numbers, text, booleans.
static bool before(lua_State *L, int a, int b) {
  int ta = lua_type(L, a), tb = lua_type(L, b);
  if (ta != tb) return ta == LUA_TNUMBER || (ta == LUA_TSTRING && tb == LUA_TBOOLEAN);
  if (ta == LUA_TBOOLEAN) return !lua_toboolean(L, a) && lua_toboolean(L, b);
  return lua_compare(L, a, b, LUA_OPLT);
}

static int by_key(lua_State *L) {
  lua_pushboolean(L, before(L, 1, 2));
  return 1;
}

// A list (keys 1, 2, ...) needs no sorting.
void gr_sandbox_sorted_keys(lua_State *L, int index) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, 8, "too deep");
  lua_newtable(L);
  lua_Integer n = 0;
  bool sorted = true;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    int t = lua_type(L, -2);
    if (t != LUA_TNUMBER && t != LUA_TSTRING && t != LUA_TBOOLEAN)
      luaL_error(L, "a table has a %s as a key: use numbers, text or booleans", lua_typename(L, t));
    if (n && sorted) {
      lua_rawgeti(L, -3, n);
      sorted = before(L, -1, -3);
      lua_pop(L, 1);
    }
    lua_pushvalue(L, -2);
    lua_rawseti(L, -4, ++n);
  }
  if (sorted) return;
  lua_getfield(L, LUA_REGISTRYINDEX, "sort");
  lua_pushvalue(L, -2);
  lua_pushcfunction(L, by_key);
  lua_call(L, 2, 0);
}

// -- Names -------------------------------------------------------------------------------

int gr_hook_unknown(lua_State *L, const char *near, const char *are, const char *const *names,
                    int n) {
  const char *what = lua_tostring(L, -1);
  if (near) return luaL_error(L, "%s" GR_HOOK_HINT "did you mean '%s'?", what, near);
  lua_pushliteral(L, "");
  for (int i = 0; i < n; i++) {
    lua_pushfstring(L, "%s%s", i ? ", " : "", names[i]);
    lua_concat(L, 2);
  }
  return luaL_error(L, "%s" GR_HOOK_HINT "%s %s", what, are, lua_tostring(L, -1));
}
