// sandbox.c - the libraries that scripts can use. See script.h.
//
// Every C function of Lua that is allowed ends in time linear in its memory, or is wrapped so that
// it does. So the count hook can name the line of most scripts that exceed the time limit; for the
// others the run kills the process. Excluded for that reason are xpcall (its handlers run without
// hooks),
// __gc and __len, table.move and string.dump; next is excluded because its order differs between
// runs.
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>
#include "runtime/hooks/script.h"

enum { MAX_REP = 1 << 26, MAX_LENGTH = 1 << 24 };
#define MAX_MATCH 5e8  // worst-case steps of a pattern match, which take a second or two

// -- Wrapped functions -------------------------------------------------------------------

static int print(lua_State *L) {
  luaL_Buffer b;
  int n = lua_gettop(L);
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  gr_sandbox *w = gr_sandbox_of(L);
  char line[2200];  // the log cuts lines at 2048
  snprintf(line, sizeof line, "%.100s: %s", w->running->name, lua_tostring(L, -1));
  gr_sandbox_log(w, GR_INFO, line, strlen(line));
  return 0;
}

static int next_pair(lua_State *L) {  // upvalues: table, keys, how many are done
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
  lua_settop(L, 0);
  do {
    lua_settop(L, 0);
    if (lua_rawgeti(L, lua_upvalueindex(2), ++i) == LUA_TNIL) return 1;
    lua_pushvalue(L, 1);
  } while (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL);  // the script has removed the key since
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(3));
  return 2;
}

static int sorted_pairs(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  gr_sandbox_unwrap(L, 1);
  gr_sandbox_sorted_keys(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_pair, 3);
  return 1;
}

// Calls the wrapped Lua function with the arguments on the stack.
static int call_wrapped(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// Reads the fields raw: reading through a metatable would call the script, which could change what
// has just been checked.
static int safe_setmetatable(lua_State *L) {
  static const char *const refused[] = {"__gc", "__len", "__close", "__mode"};
  for (int i = 0; i < 4 && lua_istable(L, 2); i++) {
    lua_pushstring(L, refused[i]);
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_error(L, "hooks have no metamethod %s", refused[i]);
    lua_pop(L, 1);
  }
  gr_sandbox_unwrap_state(L, 1);
  return call_wrapped(L);
}

static int safe_rawread(lua_State *L) {
  gr_sandbox_unwrap(L, 1);
  return call_wrapped(L);
}

static int safe_rawset(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 3);
  lua_pushvalue(L, 1);
  bool proxy = gr_sandbox_unwrap(L, 4);
  lua_settop(L, 3);
  if (!proxy) return call_wrapped(L);
  lua_settable(L, 1);
  return 1;
}

static int safe_rep(lua_State *L) {
  if (luaL_checkinteger(L, 2) > MAX_REP) return luaL_error(L, "string.rep: too many repetitions");
  return call_wrapped(L);
}

// Lua's table functions use the table's length, which a metatable or a few scattered keys can make
// huge.
static int safe_table(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  gr_sandbox_unwrap_state(L, 1);
  if (lua_getmetatable(L, 1))
    return luaL_error(L, "table functions accept only tables without a metatable");
  if (lua_rawlen(L, 1) > MAX_LENGTH) return luaL_error(L, "the table has more than 2^24 elements");
  return call_wrapped(L);
}

// Refuses a match whose upper bound of steps is too large: each repetition may try each length at
// each start.
static int safe_match(lua_State *L) {
  size_t len, plen;
  luaL_checklstring(L, 1, &len);
  const char *p = luaL_checklstring(L, 2, &plen);
  double cost = (double)(len + 1) * (double)(plen + 1);
  for (size_t i = 0; i < plen; i++) {
    bool deep = p[i] == '%' && (p[i + 1] == 'b' || (p[i + 1] >= '1' && p[i + 1] <= '9'));
    if (deep || memchr("*+-?", p[i], 4)) cost *= (double)(len + 1);
  }
  if (cost > MAX_MATCH)
    return luaL_error(L, "a pattern with so many repetitions could take too long on %d characters",
                      (int)len);
  return call_wrapped(L);
}

static int seeded_random(lua_State *L) {
  gr_sandbox *w = gr_sandbox_of(L);
  int n = lua_gettop(L);
  uint64_t index = w->drawn++;
  if (!n) {
    lua_pushnumber(L, gr_rng_uniform(&w->rng, index));
    return 1;
  }
  lua_Integer low = n > 1 ? luaL_checkinteger(L, 1) : 1, high = luaL_checkinteger(L, n > 1 ? 2 : 1);
  luaL_argcheck(L, low <= high, n, "the interval is empty");
  uint64_t wide = (uint64_t)high - (uint64_t)low;
  luaL_argcheck(L, wide < UINT32_MAX, n, "the interval is too large");
  lua_pushinteger(L, low + (lua_Integer)gr_rng_below(&w->rng, index, wide + 1));
  return 1;
}

static int unknown_name(lua_State *L) {
  static const char *const there[] = {"assert", "ctx",    "error",    "graphrun", "ipairs", "math",
                                      "pairs",  "pcall",  "print",    "select",   "string", "table",
                                      "type",   "rawget", "tonumber", "tostring"};
  const char *name = luaL_tolstring(L, 2, NULL);
  if (!strcmp(name, "ctx"))
    return luaL_error(L, "there is no global 'ctx'" GR_HOOK_HINT
                         "it is the argument of each hook: function(ctx) ... end");
  const char *near = gr_text_nearest(name, there, sizeof there / sizeof *there);
  if (near)
    return luaL_error(L, "there is no global '%s'" GR_HOOK_HINT "did you mean '%s'?", name, near);
  return luaL_error(
      L,
      "there is no global '%s'" GR_HOOK_HINT
      "declare it with 'local' before its use; hooks have no io, os or require (docs/hooks.md)",
      name);
}

static int new_global(lua_State *L) {
  const char *name = luaL_tolstring(L, 2, NULL);
  for (int i = 0; i < GR_HOOK_EVENTS; i++)
    if (!strcmp(name, gr_hook_events[i].name))
      return luaL_error(L,
                        "'%s' must be in the table that the script returns" GR_HOOK_HINT
                        "write 'return { %s = function(ctx) ... end }'",
                        name, name);
  return luaL_error(L,
                    "'%s' is not declared" GR_HOOK_HINT
                    "write 'local %s = ...' at its first assignment, or keep it in ctx.state if it "
                    "must survive a resume",
                    name, name);
}

// -- The environment ---------------------------------------------------------------------

static const char *const base_names[] = {"assert",   "error",    "getmetatable", "ipairs",
                                         "pcall",    "select",   "rawequal",     "type",
                                         "tonumber", "tostring", "_VERSION",     NULL};
static const char *const raw_names[] = {"rawget", "rawlen", NULL};
static const char *const string_names[] = {"byte",    "char", "format", "len", "lower",
                                           "reverse", "sub",  "upper",  NULL};
static const char *const match_names[] = {"find", "gmatch", "gsub", "match", NULL};
static const char *const table_names[] = {"concat", "insert", "pack", "remove",
                                          "sort",   "unpack", NULL};
static const char *const math_names[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};

// Copies functions of the library at `from` to the table on top of the stack, wrapped by `wrap`
// unless that is NULL.
static void copy(lua_State *L, int library, const char *const *names, lua_CFunction wrap) {
  for (; *names; names++) {
    lua_getfield(L, library, *names);
    if (wrap) lua_pushcclosure(L, wrap, 1);
    lua_setfield(L, -2, *names);
  }
}

static void copy_one(lua_State *L, int library, const char *name, lua_CFunction wrap) {
  copy(L, library, (const char *const[]){name, NULL}, wrap);
}

static void add(lua_State *L, const char *name, lua_CFunction f) {
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, name);
}

// Builds the restricted base, string, table and math libraries.
int gr_sandbox_build(lua_State *L) {
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
  luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 0);
  int top = lua_gettop(L), base = top - 3, string = top - 2, table = top - 1, math = top;
  lua_getfield(L, table, "sort");
  lua_setfield(L, LUA_REGISTRYINDEX, "sort");
  lua_newtable(L);
  copy(L, string, string_names, NULL);
  copy(L, string, match_names, safe_match);
  copy_one(L, string, "rep", safe_rep);
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");  // so that ("x"):rep(3) is restricted, too
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
  lua_setfield(L, LUA_REGISTRYINDEX, "safe.string");
  lua_newtable(L);
  copy(L, table, table_names, safe_table);
  copy_one(L, table, "pack", NULL);
  lua_setfield(L, LUA_REGISTRYINDEX, "safe.table");
  lua_newtable(L);
  copy(L, math, math_names, NULL);
  add(L, "random", seeded_random);
  lua_setfield(L, LUA_REGISTRYINDEX, "safe.math");
  lua_newtable(L);
  copy(L, base, base_names, NULL);
  copy(L, base, raw_names, safe_rawread);
  copy_one(L, base, "rawset", safe_rawset);
  copy_one(L, base, "setmetatable", safe_setmetatable);
  add(L, "print", print);
  add(L, "pairs", sorted_pairs);
  lua_newtable(L);
  add(L, "log", print);
  add(L, "append", gr_sandbox_append);
  lua_setfield(L, -2, "graphrun");
  lua_setfield(L, LUA_REGISTRYINDEX, "safe.base");
  return 0;
}

void gr_sandbox_env(lua_State *L) {
  static const char *const libs[] = {"string", "table", "math"};
  lua_newtable(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "safe.base");
  for (lua_pushnil(L); lua_next(L, -2);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, LUA_REGISTRYINDEX, lua_pushfstring(L, "safe.%s", libs[i]));
    lua_setfield(L, -3, libs[i]);
    lua_pop(L, 1);
  }
  lua_newtable(L);
  add(L, "__index", unknown_name);
  add(L, "__newindex", new_global);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}
