// state.c - limits what ctx.state may hold, and copies it for the run after each call.
//
// The run continues from its copy when it has had to kill this process, so that a call that fails
// has no effect. Copies are made after every call that may have changed the state; to be fast they
// keep the tables' order and numbers in binary.
#include <lauxlib.h>
#include "runtime/hooks/script.h"

enum { MAX_DEPTH = 12 };  // a table takes two levels of JSON, and the reader allows 32

// -- Copying -----------------------------------------------------------------------------

// Destination of a state: a message, or nothing, to measure its size.
typedef struct sink {
  gr_wire *to;    // NULL: only measure
  size_t bytes;   // upper bound of its text in a checkpoint
  size_t values;  // number of keys and values
  size_t most_bytes, most_values;
  bool tables;  // it contains tables
} sink;

static void put_value(lua_State *L, sink *s, int depth);

static size_t text_bytes(const char *text, size_t len) {
  size_t n = len + 2;
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 32 || c >= 127 || c == '"' || c == '\\') n += 5;
  }
  return n;
}

static void put_string(lua_State *L, sink *s) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  s->bytes += s->bytes + len > s->most_bytes ? len : text_bytes(text, len);
  if (s->bytes > s->most_bytes) return;
  if (s->to) gr_wire_put_bytes(s->to, text, len);
}

static void put_number(lua_State *L, sink *s) {
  lua_Integer i = lua_tointeger(L, -1);
  lua_Number f = lua_tonumber(L, -1);
  bool whole = lua_isinteger(L, -1) != 0;
  s->bytes += !whole ? 24 : i < 0 ? 2 : 1;
  for (lua_Integer left = i; whole && (left /= 10);) s->bytes++;
  if (!s->to) return;
  if (whole)
    gr_wire_put_int(s->to, i);
  else
    gr_wire_put_float(s->to, f);
}

// Copies the table on top of the stack, which stays there.
static void put_table(lua_State *L, sink *s, int depth) {
  if (depth == MAX_DEPTH)
    luaL_error(L, "ctx.state is nested more than %d tables deep, or contains itself", MAX_DEPTH);
  luaL_checkstack(L, 8, "ctx.state is too deep");
  lua_pushvalue(L, -1);
  gr_sandbox_unwrap(L, -1);
  s->bytes += 2, s->tables |= depth > 0;
  if (s->to) gr_wire_put_table(s->to);
  for (lua_pushnil(L); s->bytes <= s->most_bytes && s->values <= s->most_values;) {
    if (!lua_next(L, -2)) {
      lua_pushnil(L);
      break;
    }
    int t = lua_type(L, -2);
    if (t != LUA_TNUMBER && t != LUA_TSTRING && t != LUA_TBOOLEAN)
      luaL_error(L, "ctx.state has a %s as a key: use numbers, text or booleans",
                 lua_typename(L, t));
    s->bytes += 4;
    lua_pushvalue(L, -2);
    put_value(L, s, depth + 1);
    lua_pop(L, 1);
    put_value(L, s, depth + 1);
    lua_pop(L, 1);
  }
  if (s->to) gr_wire_put_end(s->to);
  lua_pop(L, 2);
}

static void put_value(lua_State *L, sink *s, int depth) {
  int type = lua_type(L, -1);
  if (++s->values > s->most_values) return;
  if (type == LUA_TBOOLEAN) {
    s->bytes += 5;
    if (s->to) gr_wire_put_bool(s->to, lua_toboolean(L, -1));
  } else if (type == LUA_TNUMBER) {
    put_number(L, s);
  } else if (type == LUA_TSTRING) {
    put_string(L, s);
  } else if (type == LUA_TTABLE) {
    put_table(L, s, depth);
  } else {
    luaL_error(L, "ctx.state holds a %s; it may hold numbers, text, booleans and tables",
               lua_typename(L, type));
  }
}

// A sink that starts with the sizes of the other scripts' states, which share the limits.
static sink make_sink(gr_sandbox *w, const gr_lua_script *s, gr_wire *to) {
  sink k = {.to = to, .most_bytes = GR_HOOK_STATE_BYTES, .most_values = GR_HOOK_STATE_VALUES};
  for (int i = 0; i < w->n_scripts; i++) {
    const gr_lua_script *other = &w->scripts[i];
    if (other == s) continue;
    k.most_bytes -= other->bytes < k.most_bytes ? other->bytes : k.most_bytes;
    k.most_values -= other->values < k.most_values ? other->values : k.most_values;
  }
  return k;
}

static bool is_full(const sink *s) {
  return s->bytes > s->most_bytes || s->values > s->most_values;
}

static int too_large(lua_State *L, const char *dot, const char *key) {
  return luaL_error(L,
                    "ctx.state%s%s is too large: the states of all scripts together may have %d "
                    "bytes in a checkpoint, and %d keys and values; keep less, or write data to a "
                    "file with graphrun.append",
                    dot, key, (int)GR_HOOK_STATE_BYTES, (int)GR_HOOK_STATE_VALUES);
}

static void set_size(gr_lua_script *s, const sink *k) {
  s->bytes = k->bytes, s->values = k->values;
  s->has_tables = k->tables;
}

// Raises an error that names the largest value in the state on top of the stack.
static void refuse(lua_State *L) {
  const char *worst = "";
  size_t most = 0;
  int table = lua_gettop(L);
  gr_sandbox_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    sink k = {.most_bytes = (size_t)-1, .most_values = (size_t)-1};
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    lua_rawget(L, table);
    put_value(L, &k, 1);
    lua_pop(L, 1);
    if (k.bytes <= most) continue;
    most = k.bytes, worst = key;
  }
  too_large(L, *worst ? "." : "", worst);
}

void gr_state_write(lua_State *L, gr_lua_script *s, gr_wire *to) {
  sink k = make_sink(gr_sandbox_of(L), s, to);
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->state);
  put_value(L, &k, 0);
  if (is_full(&k)) refuse(L);
  lua_pop(L, 1);
  set_size(s, &k);
  s->touched = false;
}

// -- The table ---------------------------------------------------------------------------

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

bool gr_sandbox_unwrap_state(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index) || luaL_getmetafield(L, index, "__newindex") == LUA_TNIL) return false;
  bool is_state = lua_tocfunction(L, -1) == gr_state_set;
  lua_pop(L, 1);
  gr_lua_script *s = gr_sandbox_of(L)->running;
  if (is_state) s->touched = s->has_tables = true;
  return is_state && gr_sandbox_unwrap(L, index);
}

// -- Taking back -------------------------------------------------------------------------

void gr_sandbox_push_value(lua_State *L, gr_wire *w) {
  size_t len;
  gr_wire_tag tag = gr_wire_next(w);
  luaL_checkstack(L, 6, "ctx.state is too deep");
  if (tag == GR_WIRE_TABLE) {
    gr_wire_table(w);
    for (lua_newtable(L); !gr_wire_end(w); lua_rawset(L, -3))
      gr_sandbox_push_value(L, w), gr_sandbox_push_value(L, w);
  } else if (tag == GR_WIRE_INT) {
    lua_pushinteger(L, gr_wire_int(w));
  } else if (tag == GR_WIRE_FLOAT) {
    lua_pushnumber(L, gr_wire_float(w));
  } else if (tag == GR_WIRE_TRUE || tag == GR_WIRE_FALSE) {
    lua_pushboolean(L, gr_wire_bool(w));
  } else {
    const char *text = gr_wire_bytes(w, &len);
    lua_pushlstring(L, text, len);
    if (!text) lua_pop(L, 1), lua_pushnil(L);
  }
}

static int take_back(lua_State *L) {
  gr_lua_script *s = lua_touserdata(L, 1);
  gr_sandbox *w = gr_sandbox_of(L);
  gr_sandbox_push_value(L, &w->in);
  if (lua_istable(L, -1)) gr_sandbox_set_state(L, s);
  gr_state_write(L, s, &w->out);
  return 0;
}

bool gr_state_take_back(gr_sandbox *w) {
  gr_wire_begin(&w->out, GR_WIRE_DONE);
  for (int i = 0; i < w->n_scripts; i++)
    if (!gr_sandbox_run(w, &w->scripts[i], take_back, &w->scripts[i])) return false;
  return true;
}

// -- Setting -----------------------------------------------------------------------------

// The size of the value at an index, by itself.
static sink measure(lua_State *L, int index, gr_lua_script *s) {
  sink k = make_sink(gr_sandbox_of(L), s, NULL);
  lua_pushvalue(L, index);
  put_value(L, &k, 1);
  lua_pop(L, 1);
  return k;
}

// Implements ctx.state[key] = value. The value is measured and added to the size of the state; only
// if that exceeds the limit is the whole state measured, since the value may have replaced another.
int gr_state_set(lua_State *L) {
  gr_sandbox *w = gr_sandbox_of(L);
  gr_lua_script *s = w->running;
  lua_settop(L, 3);
  gr_sandbox_unwrap(L, 1);
  int t = lua_type(L, 2);
  if (t != LUA_TNUMBER && t != LUA_TSTRING && t != LUA_TBOOLEAN)
    return luaL_error(L, "ctx.state has a %s as a key: use numbers, text or booleans",
                      lua_typename(L, t));
  s->touched = true;
  const char *name = t == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const char *dot = *name ? "." : "";
  if (!lua_isnil(L, 3)) {
    sink key = measure(L, 2, s), value = measure(L, 3, s);
    if (is_full(&key) || is_full(&value)) return too_large(L, dot, name);
    s->bytes += key.bytes + value.bytes + 4, s->values += key.values + value.values;
    s->has_tables |= lua_istable(L, 3);
  }
  lua_settop(L, 3);
  lua_rawset(L, 1);
  sink all = make_sink(w, s, NULL);
  if (s->bytes <= all.most_bytes && s->values <= all.most_values) return 0;
  put_value(L, &all, 0);
  if (is_full(&all)) return too_large(L, dot, name);
  set_size(s, &all);
  return 0;
}
