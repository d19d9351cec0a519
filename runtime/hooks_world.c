// hooks_world.c - what a script can see and use: names, memory, time.
//
// Every function of Lua's that is let in ends in time linear in its memory, or is wrapped so
// that it does: the count hook stops Lua code, nothing stops C code. Left out for that reason
// are xpcall (handlers run without hooks), __gc and __len, table.move, next (order), string.dump.
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "runtime/hooks_part.h"

enum { COUNT = 1000, MOST_REP = 1 << 26, MOST_LENGTH = 1 << 24 };
#define MOST_MATCH 5e8  // steps of a pattern match at worst: a second or two

gr_hooks *gr_hooks_of(lua_State *L) { return *(gr_hooks **)lua_getextraspace(L); }

// -- Limits ------------------------------------------------------------------------------

static void *allocate(void *ctx, void *at, size_t old, size_t size) {
  gr_hooks *h = ctx;
  if (!at) old = 0;  // then it is a kind of object
  if (size > old && size - old > h->spec.memory_bytes - h->used) return NULL;
  void *p = NULL;
  if (size)
    p = realloc(at, size);
  else
    free(at);
  if (p || !size) h->used = h->used - old + size;
  return p;
}

// Of this thread, so that a busy machine stops no script.
static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  gr_hooks *h = gr_hooks_of(L);
  if (processor_seconds() < h->deadline) return;
  lua_sethook(L, count, LUA_MASKCOUNT, 1);  // again at once, so that pcall cannot swallow it
  luaL_error(L, "it ran longer than %f s: hooks run between steps and must be short",
             h->spec.seconds);
}

// Keeps message, line and traceback; nothing is left for the caller to read from Lua.
static int keep_error(lua_State *L) {
  gr_hooks *h = gr_hooks_of(L);
  lua_Debug ar;
  const char *text = lua_tostring(L, 1);
  if (!text) text = lua_pushfstring(L, "an error that is a %s", luaL_typename(L, 1));
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0) continue;
    h->line = ar.currentline;
    break;
  }
  luaL_traceback(L, L, NULL, 1);
  snprintf(h->message, sizeof h->message, "%s", text);
  snprintf(h->trace, sizeof h->trace, "%s", lua_tostring(L, -1));
  return 0;
}

// "name.lua:12: text" -> text, and the 12 where no better line is known (syntax errors).
static const char *without_place(gr_hooks *h) {
  size_t n = strlen(h->running->name);
  char *end, *text = h->message;
  if (strncmp(text, h->running->name, n) || text[n] != ':') return text;
  long line = strtol(text + n + 1, &end, 10);
  if (line < 1 || strncmp(end, ": ", 2)) return text;
  if (!h->line) h->line = (int)line;
  return end + 2;
}

static gr_status failed(gr_hooks *h) {
  const char *text = without_place(h);
  gr_loc at = {h->running->from.path, h->line ? h->line : 1, 1};
  gr_status e = gr_fail(GR_ERR_HOOK, at, "%s", text);
  if (*h->trace) e = gr_note(e, GR_NOWHERE, "%s", h->trace);
  return e;
}

gr_status gr_hooks_run(gr_hooks *h, const gr_script *s, int (*f)(lua_State *), void *arg) {
  h->running = s, h->line = 0, *h->message = *h->trace = 0;
  h->deadline = processor_seconds() + h->spec.seconds;
  lua_settop(h->L, 0);
  lua_sethook(h->L, count, LUA_MASKCOUNT, COUNT);
  lua_pushcfunction(h->L, keep_error);  // these three take no memory
  lua_pushcfunction(h->L, f);
  lua_pushlightuserdata(h->L, arg);
  int code = lua_pcall(h->L, 1, 0, 1);
  lua_sethook(h->L, NULL, 0, 0);
  if (code == LUA_OK) return GR_OK;
  if (code == LUA_ERRMEM)
    snprintf(h->message, sizeof h->message, "scripts hold more than %zu MiB of memory",
             h->spec.memory_bytes >> 20);
  else if (!*h->message)
    snprintf(h->message, sizeof h->message, "an error while an error was reported");
  return failed(h);
}

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
  gr_log(GR_INFO, "%s: %s", gr_hooks_of(L)->running->name, lua_tostring(L, -1));
  return 0;
}

static int by_key(lua_State *L) {
  int a = lua_type(L, 1), b = lua_type(L, 2);
  if (a != b) {  // numbers, text, booleans
    lua_pushboolean(L, a == LUA_TNUMBER || (a == LUA_TSTRING && b == LUA_TBOOLEAN));
  } else if (a == LUA_TBOOLEAN) {
    lua_pushboolean(L, !lua_toboolean(L, 1) && lua_toboolean(L, 2));
  } else {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
  }
  return 1;
}

void gr_hooks_sorted_keys(lua_State *L, int index) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, 6, "too deep");
  lua_newtable(L);
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    int t = lua_type(L, -2);
    if (t != LUA_TNUMBER && t != LUA_TSTRING && t != LUA_TBOOLEAN)
      luaL_error(L, "a table has a %s as a key: use numbers, text or booleans", lua_typename(L, t));
    lua_pushvalue(L, -2);
    lua_rawseti(L, -4, ++n);
  }
  lua_getfield(L, LUA_REGISTRYINDEX, "sort");
  lua_pushvalue(L, -2);
  lua_pushcfunction(L, by_key);
  lua_call(L, 2, 0);
}

static int next_pair(lua_State *L) {  // upvalues: table, keys, how many are done
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
  lua_settop(L, 0);
  do {
    lua_settop(L, 0);
    if (lua_rawgeti(L, lua_upvalueindex(2), ++i) == LUA_TNIL) return 1;
    lua_pushvalue(L, 1);
  } while (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL);  // removed since
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(3));
  return 2;
}

static int sorted_pairs(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  gr_hooks_sorted_keys(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_pair, 3);
  return 1;
}

static int safe_setmetatable(lua_State *L) {
  static const char *const refused[] = {"__gc", "__len", "__close", "__mode"};
  for (int i = 0; i < 4 && lua_istable(L, 2); i++)
    if (lua_getfield(L, 2, refused[i]) != LUA_TNIL)
      return luaL_error(L, "hooks have no metamethod %s", refused[i]);
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

static int safe_rep(lua_State *L) {
  if (luaL_checkinteger(L, 2) > MOST_REP) return luaL_error(L, "string.rep: too often");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

// Lua's table functions go by a length that a metatable, or a few scattered keys, may make huge.
static int safe_table(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_getmetatable(L, 1)) return luaL_error(L, "table functions take tables without metatable");
  if (lua_rawlen(L, 1) > MOST_LENGTH) return luaL_error(L, "a table of more than 2^24 elements");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// An upper bound for the steps of a match: each repetition may try each length at each start.
static int safe_match(lua_State *L) {
  size_t len, plen;
  luaL_checklstring(L, 1, &len);
  const char *p = luaL_checklstring(L, 2, &plen);
  double cost = (double)(len + 1) * (double)(plen + 1);
  for (size_t i = 0; i < plen; i++) {
    bool deep = p[i] == '%' && (p[i + 1] == 'b' || (p[i + 1] >= '1' && p[i + 1] <= '9'));
    if (deep || memchr("*+-?", p[i], 4)) cost *= (double)(len + 1);
  }
  if (cost > MOST_MATCH)
    return luaL_error(L, "a pattern with so many repetitions could take too long on %d characters",
                      (int)len);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int seeded_random(lua_State *L) {
  gr_hooks *h = gr_hooks_of(L);
  int n = lua_gettop(L);
  uint64_t at = h->drawn++;
  if (!n) {
    lua_pushnumber(L, gr_rng_uniform(&h->rng, at));
    return 1;
  }
  lua_Integer low = n > 1 ? luaL_checkinteger(L, 1) : 1, high = luaL_checkinteger(L, n > 1 ? 2 : 1);
  luaL_argcheck(L, low <= high, n, "the interval is empty");
  uint64_t wide = (uint64_t)high - (uint64_t)low;
  luaL_argcheck(L, wide < UINT32_MAX, n, "the interval is too large");
  lua_pushinteger(L, low + (lua_Integer)gr_rng_below(&h->rng, at, wide + 1));
  return 1;
}

static int unknown_name(lua_State *L) {
  return luaL_error(L, "there is no '%s' here: hooks have no io, os or require (see docs/hooks.md)",
                    luaL_tolstring(L, 2, NULL));
}

static int new_global(lua_State *L) {
  return luaL_error(L, "'%s' is not local: write 'local %s', or ctx.state for what must survive",
                    luaL_tolstring(L, 2, NULL), luaL_tolstring(L, 2, NULL));
}

// -- The world ---------------------------------------------------------------------------

static const char *const base_names[] = {"assert", "error",    "getmetatable", "ipairs",   "pcall",
                                         "select", "rawequal", "rawget",       "rawlen",   "rawset",
                                         "type",   "tonumber", "tostring",     "_VERSION", NULL};
static const char *const string_names[] = {"byte",    "char", "format", "len", "lower",
                                           "reverse", "sub",  "upper",  NULL};
static const char *const match_names[] = {"find", "gmatch", "gsub", "match", NULL};
static const char *const table_names[] = {"concat", "insert", "pack", "remove",
                                          "sort",   "unpack", NULL};
static const char *const math_names[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};

// From the library at `from` to the table on top; wrapped, unless `wrap` is NULL.
static void copy(lua_State *L, int from, const char *const *names, lua_CFunction wrap) {
  for (; *names; names++) {
    lua_getfield(L, from, *names);
    if (wrap) lua_pushcclosure(L, wrap, 1);
    lua_setfield(L, -2, *names);
  }
}

static void copy_one(lua_State *L, int from, const char *name, lua_CFunction wrap) {
  copy(L, from, (const char *const[]){name, NULL}, wrap);
}

static void add(lua_State *L, const char *name, lua_CFunction f) {
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, name);
}

// Leaves the safe tables in the registry: base, string, table, math.
static int build(lua_State *L) {
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
  lua_setfield(L, -2, "__index");  // ("x"):rep(3) goes the same way
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
  copy_one(L, base, "setmetatable", safe_setmetatable);
  add(L, "print", print);
  add(L, "pairs", sorted_pairs);
  lua_newtable(L);
  add(L, "log", print);
  add(L, "append", gr_hooks_append);
  lua_setfield(L, -2, "graphrun");
  lua_setfield(L, LUA_REGISTRYINDEX, "safe.base");
  return 0;
}

void gr_hooks_env(lua_State *L) {
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

bool gr_hooks_world(gr_hooks *h) {
  h->L = lua_newstate(allocate, h);
  if (!h->L) return false;
  *(gr_hooks **)lua_getextraspace(h->L) = h;
  lua_pushcfunction(h->L, build);
  return lua_pcall(h->L, 0, 0, 0) == LUA_OK;
}
