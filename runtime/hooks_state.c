// hooks_state.c - the scripts' states as text and back.
//
// JSON, in which a table is an array of [key, value] in sorted order, and a byte of text is a
// character of that number (0: 256), so that any Lua value that is data comes back as it was.
#include <lauxlib.h>
#include <string.h>
#include "base/log.h"
#include "base/text.h"
#include "runtime/hooks_part.h"
#include "runtime/json.h"

enum { MOST_DEPTH = 12, NUL = 256 };

// -- Saving ------------------------------------------------------------------------------

typedef struct saving {
  const gr_script *script;
  gr_text *text;
} saving;

static void put_value(lua_State *L, gr_text *t, int depth);

static void put_string(gr_text *t, const char *s, size_t len) {
  gr_text_put(t, "\"");
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 32 && c < 127 && c != '"' && c != '\\')
      gr_text_putn(t, s + i, 1);
    else
      gr_text_printf(t, "\\u%04x", c ? c : NUL);
  }
  gr_text_put(t, "\"");
}

// The table on top; it stays there.
static void put_table(lua_State *L, gr_text *t, int depth) {
  if (depth == MOST_DEPTH)
    luaL_error(L, "ctx.state is more than %d tables deep, or holds itself", MOST_DEPTH);
  int table = lua_gettop(L);
  luaL_checkstack(L, 8, "ctx.state is too deep");
  gr_hooks_sorted_keys(L, table);
  gr_text_put(t, "[");
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    gr_text_put(t, i > 1 ? ",[" : "[");
    put_value(L, t, depth + 1);
    gr_text_put(t, ",");
    lua_rawget(L, table);
    put_value(L, t, depth + 1);
    gr_text_put(t, "]");
    lua_pop(L, 1);
  }
  gr_text_put(t, "]");
  lua_settop(L, table);
}

static void put_value(lua_State *L, gr_text *t, int depth) {
  size_t len;
  int type = lua_type(L, -1);
  if (type == LUA_TBOOLEAN) {
    gr_text_put(t, lua_toboolean(L, -1) ? "true" : "false");
  } else if (lua_isinteger(L, -1)) {
    gr_text_printf(t, "%lld", (long long)lua_tointeger(L, -1));
  } else if (type == LUA_TNUMBER) {
    gr_text_json_float(t, lua_tonumber(L, -1));
  } else if (type == LUA_TSTRING) {
    const char *s = lua_tolstring(L, -1, &len);
    put_string(t, s, len);
  } else if (type == LUA_TTABLE) {
    put_table(L, t, depth);
  } else {
    luaL_error(L, "ctx.state holds a %s; it may hold numbers, text, booleans and tables",
               lua_typename(L, type));
  }
}

static int save(lua_State *L) {
  saving *s = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->script->state);
  put_value(L, s->text, 0);
  return 0;
}

gr_status gr_hooks_save(gr_hooks *h, gr_arena *a, char **out) {
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "{\"scripts\":[");
  for (int i = 0; i < h->spec.n_scripts; i++) {
    saving s = {&h->scripts[i], &t};
    gr_text_put(&t, i ? ",[" : "[");
    put_string(&t, s.script->name, strlen(s.script->name));
    gr_text_put(&t, ",");
    GR_TRY(gr_hooks_run(h, s.script, save, &s));
    gr_text_put(&t, "]");
  }
  gr_text_put(&t, "],\"files\":[");
  for (gr_hook_file *f = h->files; f; f = f->next)
    gr_text_printf(&t, "%s[\"%s\",%lld]", f == h->files ? "" : ",", f->name, (long long)f->bytes);
  gr_text_put(&t, "]}");
  *out = t.at;
  return GR_OK;
}

// -- Restoring ---------------------------------------------------------------------------

typedef struct restoring {
  const gr_script *script;
  const gr_json *state;
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
      if (pair->kind != GR_JSON_ARRAY || pair->n != 2) luaL_error(L, "the saved state is damaged");
      push_value(L, pair->first);
      push_value(L, pair->first->next);
      lua_settable(L, -3);
    }
  } else {
    luaL_error(L, "the saved state is damaged");
  }
}

static int restore(lua_State *L) {
  restoring *r = lua_touserdata(L, 1);
  if (r->state->kind != GR_JSON_ARRAY) luaL_error(L, "the saved state is damaged");
  push_value(L, r->state);
  lua_rawseti(L, LUA_REGISTRYINDEX, r->script->state);
  return 0;
}

static bool is_pair(const gr_json *v, gr_json_kind second) {
  return v->kind == GR_JSON_ARRAY && v->n == 2 && v->first->kind == GR_JSON_TEXT &&
         v->first->next->kind == second;
}

static gr_status restore_all(gr_hooks *h, gr_arena *a, const gr_json *list) {
  bool *done = GR_NEW(a, bool, h->spec.n_scripts + 1);
  for (const gr_json *v = list->first; v; v = v->next) {
    if (!is_pair(v, GR_JSON_ARRAY))
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "the saved state of hooks is damaged");
    int i = 0;
    while (i < h->spec.n_scripts && (done[i] || strcmp(h->scripts[i].name, v->first->text))) i++;
    if (i == h->spec.n_scripts) {
      gr_log(GR_WARN, "the checkpoint has a state of hook '%s', which this run has not",
             v->first->text);
      continue;
    }
    restoring r = {&h->scripts[i], v->first->next};
    done[i] = true;
    GR_TRY(gr_hooks_run(h, r.script, restore, &r));
  }
  return GR_OK;
}

gr_status gr_hooks_restore(gr_hooks *h, const char *text) {
  gr_arena *a = gr_arena_create();
  const gr_json *root;
  gr_json_error why;
  gr_status e = GR_OK;
  bool ok = gr_json_read(a, text, strlen(text), &root, &why);
  const gr_json *scripts = gr_json_get(root, "scripts", GR_JSON_ARRAY);
  const gr_json *files = gr_json_get(root, "files", GR_JSON_ARRAY);
  if (!ok || !scripts || !files)
    e = gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "the saved state of hooks is damaged");
  else
    e = restore_all(h, a, scripts);
  for (const gr_json *v = e ? NULL : files->first; v && !e; v = v->next)
    if (is_pair(v, GR_JSON_INT) && v->first->next->i >= 0)
      e = gr_hooks_continue_file(h, v->first->text, v->first->next->i);
  gr_arena_destroy(a);
  return e;
}
