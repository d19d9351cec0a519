// set.c - the controls `set`, `freeze` and `unfreeze`: values that may change while a run goes on.
// See script.h.
#include <lauxlib.h>
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "base/text.h"
#include "runtime/hooks/script.h"

// ---- Setting -----------------------------------------------------------------------------------

// "'weight_decay'" or "'weight_decay' of group 'head.*'", for messages.
static const char *push_place(lua_State *L, const char *group, const char *key) {
  if (!group) return lua_pushfstring(L, "'%s'", key);
  return lua_pushfstring(L, "'%s' of group '%s'", key, group);
}

// What training.adjustable makes.
static bool any_but_frozen(const gr_sandbox *w) {
  for (int i = 0; i < w->n_adjust; i++)
    if (!w->adjust[i].freezes) return true;
  return false;
}

// Raises the error for a name that cannot be set.
static int no_such(lua_State *L, const char *group, const char *key) {
  const gr_sandbox *w = gr_sandbox_of(L);
  const char *names[GR_MAX_ADJUSTABLE];
  int n = 0;
  if (!any_but_frozen(w))
    luaL_error(L,
               "'set' needs training.adjustable=true: without it '%s' is a constant of the "
               "plan" GR_HOOK_HINT
               "training.adjustable=true in the configuration or on the command line",
               key);
  for (int i = 0; i < w->n_adjust; i++)
    if (gr_text_same(w->adjust[i].group, group)) names[n++] = w->adjust[i].key;
  if (!strcmp(key, "lr"))
    luaL_error(L,
               "'set' has no 'lr'" GR_HOOK_HINT "the function lr(ctx) returns the learning rate");
  lua_pushfstring(L, "%s cannot be set", push_place(L, group, key));
  return gr_hook_unknown(L, gr_text_nearest(key, names, n), "what can is", names, n);
}

static int out_of_range(lua_State *L, const gr_adjustable *a, double v) {
  const char *place = push_place(L, a->group, a->key);
  if (a->fixed) return luaL_error(L, "%s cannot be set: %s", place, a->fixed);
  if (!isfinite(v)) return luaL_error(L, "%s must be a finite number, not %f", place, gr_shown(v));
  lua_pushliteral(L, "");
  if (isfinite(a->lowest)) {
    lua_pushfstring(L, " %s %f", a->above_lowest ? ">" : ">=", a->lowest);
    lua_concat(L, 2);
  }
  if (isfinite(a->highest)) {
    lua_pushfstring(L, " %s %f", a->below_highest ? "<" : "<=", a->highest);
    lua_concat(L, 2);
  }
  return luaL_error(L, "%s must be%s, not %f", place, lua_tostring(L, -1), v);
}

static bool fits(const gr_adjustable *a, double v) {
  return !a->fixed && isfinite(v) && v >= a->lowest && v <= a->highest &&
         !(a->above_lowest && v <= a->lowest) && !(a->below_highest && v >= a->highest);
}

// Takes the value on top of the stack.
static void take_value(lua_State *L, const char *group, const char *key, gr_hook_result *r) {
  const gr_sandbox *w = gr_sandbox_of(L);
  int i = 0;
  while (i < w->n_adjust &&
         !(gr_text_same(w->adjust[i].group, group) && !strcmp(w->adjust[i].key, key)))
    i++;
  if (i == w->n_adjust) no_such(L, group, key);
  const char *type = luaL_typename(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER)
    luaL_error(L, "%s must be a number, not a %s", push_place(L, group, key), type);
  double v = lua_tonumber(L, -1);
  if (!fits(&w->adjust[i], v)) out_of_range(L, &w->adjust[i], v);
  r->is_set[i] = true, r->set[i] = v;
}

typedef void take_entry(lua_State *, const char *group, const char *key, gr_hook_result *);

// Calls `take` for each entry of the table on top of the stack, with its value there.
static void each(lua_State *L, const char *what, const char *group, take_entry *take,
                 gr_hook_result *r) {
  const char *type = luaL_typename(L, -1);
  if (!lua_istable(L, -1)) luaL_error(L, "'%s' must be { name = number }, but is a %s", what, type);
  int table = lua_gettop(L);
  gr_sandbox_unwrap(L, table);
  gr_sandbox_sorted_keys(L, table);
  for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
    if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "'%s' has a value without a name", what);
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    take(L, group, lua_tostring(L, -2), r);
    lua_settop(L, table + 1);
  }
  lua_settop(L, table);
}

static void take_group(lua_State *L, const char *ignored, const char *pattern, gr_hook_result *r) {
  (void)ignored;
  const gr_sandbox *w = gr_sandbox_of(L);
  bool known = !any_but_frozen(w);  // without any, what is in it has the better message
  for (int i = 0; i < w->n_adjust; i++)
    known |= w->adjust[i].group && gr_text_same(w->adjust[i].group, pattern);
  if (!known) luaL_error(L, "training.groups has no group '%s'", pattern);
  each(L, "groups", pattern, take_value, r);
}

static void take_entry_of_set(lua_State *L, const char *group, const char *key, gr_hook_result *r) {
  if (strcmp(key, "groups"))
    take_value(L, group, key, r);
  else
    each(L, "groups", NULL, take_group, r);
}

void gr_take_set(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  each(L, "set", NULL, take_entry_of_set, r);
}

// ---- Freezing ----------------------------------------------------------------------------------

// Raises the error for a pattern that the plan has no programs for.
static int not_freezable(lua_State *L, const char *control, const char *pattern) {
  const gr_sandbox *w = gr_sandbox_of(L);
  const char *names[GR_MAX_ADJUSTABLE];
  int n = 0;
  for (int i = 0; i < w->n_adjust; i++)
    if (w->adjust[i].freezes) names[n++] = w->adjust[i].group;
  if (!n)
    return luaL_error(L,
                      "'%s' needs training.freezable=[\"%s\"]: without it the plan has no program "
                      "in which these weights are frozen",
                      control, pattern);
  const char *near = gr_text_nearest(pattern, names, n);
  if (!near) near = names[0];
  return luaL_error(L, "training.freezable has no pattern '%s'; it has, for example, '%s'", pattern,
                    near);
}

// Takes the pattern on top of the stack.
static void take_pattern(lua_State *L, const char *control, double frozen, gr_hook_result *r) {
  const gr_sandbox *w = gr_sandbox_of(L);
  const char *type = luaL_typename(L, -1);
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "'%s' must be a pattern of weights or a list of them, but has a %s", control,
               type);
  const char *pattern = lua_tostring(L, -1);
  int i = 0;
  while (i < w->n_adjust && !(w->adjust[i].freezes && !strcmp(w->adjust[i].group, pattern))) i++;
  if (i == w->n_adjust) not_freezable(L, control, pattern);
  r->is_set[i] = true, r->set[i] = frozen;
}

static void take_patterns(lua_State *L, const char *control, double frozen, gr_hook_result *r) {
  int top = lua_gettop(L);
  if (!lua_istable(L, top)) {
    take_pattern(L, control, frozen, r);
    return;
  }
  gr_sandbox_unwrap(L, top);
  for (lua_Integer i = 1; lua_rawgeti(L, top, i) != LUA_TNIL; i++) {
    take_pattern(L, control, frozen, r);
    lua_pop(L, 1);
  }
  lua_settop(L, top);
}

void gr_take_freeze(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  take_patterns(L, "freeze", 1, r);
}

void gr_take_unfreeze(lua_State *L, const gr_lua_script *s, gr_hook_result *r) {
  (void)s;
  take_patterns(L, "unfreeze", 0, r);
}
