// state_json.c - the scripts' states as text, for checkpoints, and back. See script.h.
//
// The text is JSON. A table is an array of [key, value] pairs in key order, and each byte of a
// string is the character of that number (256 for 0), so that every Lua value that is data is
// restored exactly.
#include <lauxlib.h>
#include <string.h>
#include "base/json.h"
#include "runtime/hooks/script.h"

enum { NUL = 256 };

// -- Writing -----------------------------------------------------------------------------

static void put_value(lua_State *L, gr_sandbox *w);

static void put(gr_sandbox *w, const char *text, size_t len) { gr_wire_put(&w->out, text, len); }

static void put_string(gr_sandbox *w, const char *text, size_t len) {
  static const char digits[] = "0123456789abcdef";
  put(w, "\"", 1);
  for (size_t i = 0; i < len; i++) {
    unsigned c = (unsigned char)text[i];
    bool plain = c >= 32 && c < 127 && c != '"' && c != '\\';
    if (!c) c = NUL;
    char escape[6] = {'\\', 'u', '0', digits[c >> 8], digits[c >> 4 & 15], digits[c & 15]};
    put(w, plain ? text + i : escape, plain ? 1 : 6);
  }
  put(w, "\"", 1);
}

// Writes the table on top of the stack, which stays there. Keys are sorted, so that equal states
// give equal text.
static void put_table(lua_State *L, gr_sandbox *w) {
  luaL_checkstack(L, 8, "ctx.state is too deep");
  int table = lua_gettop(L);
  gr_sandbox_sorted_keys(L, table);
  put(w, "[", 1);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    put(w, ",[", i > 1 ? 2 : 0);
    put(w, "[", i > 1 ? 0 : 1);
    put_value(L, w);
    put(w, ",", 1);
    lua_rawget(L, table);
    put_value(L, w);
    put(w, "]", 1);
    lua_pop(L, 1);
  }
  put(w, "]", 1);
  lua_settop(L, table);
}

static void put_number(lua_State *L, gr_sandbox *w) {
  gr_text *t = &w->number;
  t->len = 0;
  if (lua_isinteger(L, -1))
    gr_text_printf(t, "%lld", (long long)lua_tointeger(L, -1));
  else
    gr_text_put_float(t, lua_tonumber(L, -1));
  put(w, t->chars, t->len);
}

// Writes a value that gr_state_write has accepted.
static void put_value(lua_State *L, gr_sandbox *w) {
  size_t len;
  int type = lua_type(L, -1);
  if (type == LUA_TBOOLEAN) {
    put(w, lua_toboolean(L, -1) ? "true" : "false", lua_toboolean(L, -1) ? 4 : 5);
  } else if (type == LUA_TNUMBER) {
    put_number(L, w);
  } else if (type == LUA_TSTRING) {
    const char *text = lua_tolstring(L, -1, &len);
    put_string(w, text, len);
  } else {
    lua_pushvalue(L, -1);
    gr_sandbox_unwrap(L, -1);
    put_table(L, w);
    lua_pop(L, 1);
  }
}

static int write_text(lua_State *L) {
  gr_lua_script *s = lua_touserdata(L, 1);
  gr_sandbox *w = gr_sandbox_of(L);
  size_t at = gr_wire_open(&w->out);
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->state);
  put_value(L, w);
  gr_wire_close(&w->out, at);
  return 0;
}

bool gr_state_text(gr_sandbox *w) {
  bool ok = true;
  gr_wire_begin(&w->out, GR_WIRE_DONE);
  for (int i = 0; i < w->n_scripts && ok; i++)
    ok = gr_sandbox_run(w, &w->scripts[i], write_text, &w->scripts[i]);
  return ok;
}

// -- Reading ---------------------------------------------------------------------------

typedef struct restoring {
  gr_lua_script *script;
  const gr_json *state;  // NULL: the saved run did not have this script
} restoring;

static void push_string(lua_State *L, const char *s) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int n; *s && (n = gr_utf8_len(s)) > 0; s += n) {
    uint32_t c = gr_utf8_code(s, n);
    luaL_addchar(&b, (char)(c == NUL ? 0 : c));
  }
  luaL_pushresult(&b);
}

static int damaged(lua_State *L) {
  gr_sandbox_of(L)->code = GR_ERR_CHECKPOINT;
  return luaL_error(L, "the saved state of hooks is damaged");
}

static void push_value(lua_State *L, const gr_json *v) {
  luaL_checkstack(L, 6, "ctx.state is too deep");
  if (v->kind == GR_JSON_BOOL) {
    lua_pushboolean(L, v->i != 0);
  } else if (v->kind == GR_JSON_INT) {
    lua_pushinteger(L, v->i);
  } else if (v->kind == GR_JSON_FLOAT) {
    lua_pushnumber(L, v->f);
  } else if (v->kind == GR_JSON_TEXT) {
    push_string(L, v->text);
  } else if (v->kind == GR_JSON_ARRAY) {
    lua_newtable(L);
    for (const gr_json *pair = v->first; pair; pair = pair->next) {
      const gr_json *key = pair->first;
      if (pair->kind != GR_JSON_ARRAY || pair->n != 2) damaged(L);
      if (key->kind == GR_JSON_ARRAY || key->kind == GR_JSON_NULL || key->f != key->f) damaged(L);
      push_value(L, key);
      push_value(L, key->next);
      lua_rawset(L, -3);
    }
  } else {
    damaged(L);
  }
}

static int restore(lua_State *L) {
  restoring *r = lua_touserdata(L, 1);
  if (r->state) {
    if (r->state->kind != GR_JSON_ARRAY) damaged(L);
    push_value(L, r->state);
    gr_sandbox_set_state(L, r->script);
  }
  gr_state_write(L, r->script, &gr_sandbox_of(L)->out);
  return 0;
}

static bool is_damaged(gr_sandbox *w) {
  w->code = GR_ERR_CHECKPOINT, w->line = 0;
  *w->trace = *w->hint = 0;
  snprintf(w->message, sizeof w->message, "the saved state of hooks is damaged");
  return false;
}

// Decodes a name that put_name of client.c has written.
static const char *name_of(gr_arena *a, const gr_json *v) {
  char *out = gr_arena_alloc(a, strlen(v->text) + 1);
  int n = 0;
  for (const char *s = v->text; *s; s += gr_utf8_len(s))
    out[n++] = (char)gr_utf8_code(s, gr_utf8_len(s));
  return out;
}

// Assigns the saved states to scripts by file name; scripts of the same name get theirs in order.
static bool assign(gr_sandbox *w, gr_arena *a, const gr_json *list, restoring *to) {
  for (const gr_json *v = list->first; v; v = v->next) {
    if (v->kind != GR_JSON_ARRAY || v->n != 2 || v->first->kind != GR_JSON_TEXT)
      return is_damaged(w);
    const char *name = name_of(a, v->first);
    int i = 0;
    while (i < w->n_scripts && (to[i].state || strcmp(w->scripts[i].name, name))) i++;
    if (i < w->n_scripts) {
      to[i].state = v->first->next;
      continue;
    }
    char text[300];
    int n =
        snprintf(text, sizeof text,
                 "the checkpoint has a state of hook '%.200s', which this run does not have", name);
    gr_sandbox_log(w, GR_WARN, text, (size_t)n);
  }
  return true;
}

bool gr_state_restore(gr_sandbox *w, const char *text) {
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  restoring *to = GR_NEW(a, restoring, w->n_scripts + 1);
  bool ok = gr_json_read(a, text, strlen(text), &root, &why);
  const gr_json *scripts = ok ? gr_json_get(root, "scripts", GR_JSON_ARRAY) : NULL;
  ok = scripts ? assign(w, a, scripts, to) : is_damaged(w);
  gr_wire_begin(&w->out, GR_WIRE_DONE);
  for (int i = 0; i < w->n_scripts && ok; i++) {
    to[i].script = &w->scripts[i];
    ok = gr_sandbox_run(w, to[i].script, restore, &to[i]);
  }
  gr_arena_destroy(a);
  return ok;
}
