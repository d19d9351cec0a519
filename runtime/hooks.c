// hooks.c - see hooks.h: loading scripts, making ctx, reading what they return.
#include "runtime/hooks.h"
#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "base/text.h"
#include "runtime/hooks_part.h"

enum { MOST_SCRIPT = 1 << 20 };

const char *const gr_hook_names[GR_HOOK_EVENTS] = {
    "on_start", "lr", "on_step_end", "on_epoch_end", "on_eval_end", "on_checkpoint", "on_stop"};

// -- Loading -----------------------------------------------------------------------------

typedef struct loading {
  gr_script *script;
  const char *text;
  size_t len;
} loading;

static int event_of(const char *name) {
  for (int i = 0; i < GR_HOOK_EVENTS; i++)
    if (!strcmp(name, gr_hook_names[i])) return i;
  return -1;
}

static void check_table(lua_State *L, gr_script *s) {
  if (!lua_istable(L, -1))
    luaL_error(L, "a hook ends with 'return { lr = function(ctx) ... end }', not with a %s",
               luaL_typename(L, -1));
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    int event = event_of(key);
    const char *near = gr_text_nearest(key, gr_hook_names, GR_HOOK_EVENTS);
    if (event < 0)
      luaL_error(L, "there is no event '%s'%s%s%s", key, near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
    if (!lua_isfunction(L, -1))
      luaL_error(L, "'%s' is a %s and must be a function", key, luaL_typename(L, -1));
    s->has[event] = true;
  }
}

static int load(lua_State *L) {
  loading *l = lua_touserdata(L, 1);
  const char *chunk = lua_pushfstring(L, "@%s", l->script->name);
  if (luaL_loadbufferx(L, l->text, l->len, chunk, "t")) return lua_error(L);
  gr_hooks_env(L);
  lua_setupvalue(L, -2, 1);
  lua_call(L, 0, 1);
  check_table(L, l->script);
  l->script->table = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  l->script->state = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static gr_status open_script(gr_hooks *h, gr_script *s, const gr_hook_script *from) {
  char *text;
  const char *slash = strrchr(from->path, '/');
  s->from = *from, s->name = slash ? slash + 1 : from->path;
  if (!gr_is_file(from->path))
    return gr_hint(gr_fail(GR_ERR_CONFIG, from->from, "there is no hook '%s'", from->path),
                   "paths are relative to the directory in which graphrun is started");
  loading l = {.script = s};
  GR_TRY(gr_file_read(h->arena, from->path, MOST_SCRIPT, &text, &l.len));
  l.text = text;
  h->rng = gr_rng_make(h->spec.seed, gr_arena_printf(h->arena, "hook:%s", s->name), 0);
  h->drawn = 0;
  return gr_hooks_run(h, s, load, &l);
}

gr_status gr_hooks_open(const gr_hooks_spec *spec, gr_hooks **out) {
  *out = NULL;
  gr_hooks *h = calloc(1, sizeof *h);
  if (!h) return gr_fail(GR_ERR_IO, GR_NOWHERE, "no memory for hooks");
  h->arena = gr_arena_create();
  h->spec = *spec;
  if (!h->spec.memory_bytes) h->spec.memory_bytes = (size_t)64 << 20;
  if (h->spec.seconds <= 0) h->spec.seconds = 1;
  h->scripts = GR_NEW(h->arena, gr_script, spec->n_scripts);
  gr_status e = GR_OK;
  if (!gr_hooks_world(h)) e = gr_fail(GR_ERR_HOOK, GR_NOWHERE, "no memory for hooks");
  for (int i = 0; i < spec->n_scripts && !e; i++)
    e = open_script(h, &h->scripts[i], &spec->scripts[i]);
  if (e)
    gr_hooks_close(h);
  else
    *out = h;
  return e;
}

void gr_hooks_close(gr_hooks *h) {
  if (!h) return;
  if (h->L) lua_close(h->L);
  gr_arena_destroy(h->arena);
  free(h);
}

bool gr_hooks_has(const gr_hooks *h, gr_hook_event event) {
  for (int i = 0; i < h->spec.n_scripts; i++)
    if (h->scripts[i].has[event]) return true;
  return false;
}

// -- ctx ---------------------------------------------------------------------------------

static void set_int(lua_State *L, const char *name, int64_t v) {
  lua_pushinteger(L, v);
  lua_setfield(L, -2, name);
}

static void set_known(lua_State *L, const char *name, int64_t v) {
  if (v > 0) set_int(L, name, v);
}

static void set_number(lua_State *L, const char *name, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, -2, name);
}

// The fewer of max_steps and max_epochs * steps_per_epoch; 0: not known.
static int64_t total_steps(const gr_hook_context *c) {
  int64_t by_epoch = 0;
  if (c->max_epochs > 0 && c->steps_per_epoch > 0 &&
      __builtin_mul_overflow(c->max_epochs, c->steps_per_epoch, &by_epoch))
    by_epoch = 0;
  if (c->max_steps <= 0) return by_epoch;
  return by_epoch > 0 && by_epoch < c->max_steps ? by_epoch : c->max_steps;
}

static void push_params(lua_State *L, const gr_script *s) {
  lua_newtable(L);
  for (int i = 0; i < s->from.n_params; i++) {
    const gr_param *p = &s->from.params[i];
    if (p->kind == GR_PARAM_INT)
      lua_pushinteger(L, p->i);
    else if (p->kind == GR_PARAM_FLOAT)
      lua_pushnumber(L, p->f);
    else if (p->kind == GR_PARAM_BOOL)
      lua_pushboolean(L, p->i != 0);
    else
      lua_pushstring(L, p->text);
    lua_setfield(L, -2, p->key);
  }
}

static void push_context(lua_State *L, const gr_script *s, const gr_hook_context *c, double lr) {
  lua_newtable(L);
  set_int(L, "step", c->step);
  set_int(L, "epoch", c->epoch);
  set_known(L, "steps_per_epoch", c->steps_per_epoch);
  set_known(L, "max_steps", c->max_steps);
  set_known(L, "max_epochs", c->max_epochs);
  set_known(L, "total_steps", total_steps(c));
  set_int(L, "world_size", c->world_size);
  set_number(L, "base_lr", c->base_lr);
  set_number(L, "lr", lr);
  if (!isnan(c->loss)) set_number(L, "loss", c->loss);
  lua_newtable(L);
  for (int i = 0; i < c->n_metrics; i++) set_number(L, c->metrics[i].name, c->metrics[i].value);
  lua_setfield(L, -2, "metrics");
  if (c->reason) {
    lua_pushstring(L, c->reason);
    lua_setfield(L, -2, "reason");
  }
  push_params(L, s);
  lua_setfield(L, -2, "params");
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->state);
  lua_setfield(L, -2, "state");
}

// -- What scripts return -----------------------------------------------------------------

static void cut_to_utf8(char *text) {
  for (size_t n = strlen(text); n && !gr_utf8_valid(text);) text[--n] = 0;
}

static void take_stop(lua_State *L, const gr_script *s, gr_hook_result *r) {
  char reason[GR_HOOK_REASON];
  if (lua_type(L, -1) == LUA_TSTRING)
    snprintf(reason, sizeof reason, "%s", lua_tostring(L, -1)), cut_to_utf8(reason);
  else if (lua_isboolean(L, -1))
    snprintf(reason, sizeof reason, "%s says so", s->name);
  else
    luaL_error(L, "'stop' is a %s and must be true or a reason", luaL_typename(L, -1));
  if (r->stop || !lua_toboolean(L, -1)) return;
  r->stop = true;
  memcpy(r->reason, reason, sizeof reason);
}

static void take_save(lua_State *L, const gr_script *s, gr_hook_result *r) {
  (void)s;
  if (!lua_isboolean(L, -1))
    luaL_error(L, "'save' is a %s and must be true or false", luaL_typename(L, -1));
  r->save |= lua_toboolean(L, -1) != 0;
}

static void take_log(lua_State *L, const gr_script *s, gr_hook_result *r) {
  static const char *const taken[] = {"step",      "epoch",         "loss", "lr",
                                      "grad_norm", "samples_per_s", "wall"};
  (void)s;
  if (!lua_istable(L, -1))
    luaL_error(L, "'log' is a %s and must be { name = number }", luaL_typename(L, -1));
  int table = lua_gettop(L);
  gr_hooks_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (!*name || strlen(name) >= GR_HOOK_NAME || !gr_utf8_valid(name) ||
        lua_type(L, -1) != LUA_TNUMBER)
      luaL_error(L, "'log' must be { name = number }, names UTF-8 and at most %d long",
                 GR_HOOK_NAME - 1);
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
      if (!strcmp(taken[k], name))
        luaL_error(L, "'log' cannot set '%s': a field of every row", name);
    if (r->n_logs == GR_HOOK_LOGS)
      luaL_error(L, "'log' has more than %d values in one step", GR_HOOK_LOGS);
    snprintf(r->logs[r->n_logs].name, GR_HOOK_NAME, "%s", name);
    r->logs[r->n_logs++].value = lua_tonumber(L, -1);
    lua_pop(L, 2);
  }
  lua_settop(L, table);
}

static void take_lr(lua_State *L, gr_hook_result *r) {
  double lr = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER)
    luaL_error(L, "lr(ctx) returned a %s; it must return the learning rate, a number",
               luaL_typename(L, -1));
  if (!isfinite(lr) || lr < 0)
    luaL_error(L, "lr(ctx) returned %f; a learning rate is finite and not negative", lr);
  r->lr = lr;
}

static void take_knobs(lua_State *L, const gr_script *s, gr_hook_event event, gr_hook_result *r) {
  static const struct {
    const char *name;
    void (*take)(lua_State *, const gr_script *, gr_hook_result *);
  } knobs[] = {{"stop", take_stop}, {"save", take_save}, {"log", take_log}};
  if (lua_isnil(L, -1)) return;
  if (!lua_istable(L, -1))
    luaL_error(L, "%s returned a %s; it may return nothing or { stop =, save =, log = }",
               gr_hook_names[event], luaL_typename(L, -1));
  int table = lua_gettop(L);
  gr_hooks_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
    int k = 0;
    while (k < 3 && strcmp(key, knobs[k].name)) k++;
    if (k == 3)
      luaL_error(L, "%s returned '%s'; it may return stop, save and log%s", gr_hook_names[event],
                 key, strcmp(key, "lr") ? "" : ", and lr(ctx) sets the learning rate");
    lua_getfield(L, table, key);
    knobs[k].take(L, s, r);
    lua_pop(L, 2);
  }
}

// -- Calling -----------------------------------------------------------------------------

typedef struct calling {
  gr_hooks *h;
  const gr_script *script;
  gr_hook_event event;
  const gr_hook_context *context;
  gr_hook_result *result;
} calling;

// So that an error in what was returned names the function's line.
static int line_defined(lua_State *L) {
  lua_Debug ar;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  return ar.linedefined;
}

static int call(lua_State *L) {
  calling *c = lua_touserdata(L, 1);
  push_context(L, c->script, c->context, c->result->lr);
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->script->table);
  lua_getfield(L, -1, gr_hook_names[c->event]);
  int line = line_defined(L);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  c->h->line = line;
  if (lua_getfield(L, 2, "state") != LUA_TTABLE)
    luaL_error(L, "%s set ctx.state to a %s; it must stay a table", gr_hook_names[c->event],
               luaL_typename(L, -1));
  lua_rawseti(L, LUA_REGISTRYINDEX, c->script->state);
  if (c->event == GR_HOOK_LR)
    take_lr(L, c->result);
  else
    take_knobs(L, c->script, c->event, c->result);
  return 0;
}

gr_status gr_hooks_call(gr_hooks *h, gr_hook_event event, const gr_hook_context *context,
                        gr_hook_result *out) {
  *out = (gr_hook_result){.lr = context->lr};
  for (int i = 0; i < h->spec.n_scripts; i++) {
    gr_script *s = &h->scripts[i];
    char stream[256];
    calling c = {h, s, event, context, out};
    if (!s->has[event]) continue;
    snprintf(stream, sizeof stream, "hook:%d:%.200s:%s", i, s->name, gr_hook_names[event]);
    h->rng = gr_rng_make(h->spec.seed, stream, (uint64_t)context->step);
    h->drawn = 0;
    GR_TRY(gr_note(gr_hooks_run(h, s, call, &c), GR_NOWHERE, "in hook '%s' at step %lld",
                   gr_hook_names[event], (long long)context->step));
  }
  return GR_OK;
}
