// functions.c - the table of functions in the override grammar, and binding arguments to parameters
// as Python does: by position, then by name.
#include "compose/override/functions.h"
#include <string.h>

typedef gr_status handler(const gr_call *, gr_override_value *out);

typedef struct function {
  const char *name;
  bool variadic;  // all positional arguments go to `rest`; parameters only by name
  const char *parameters[GR_MAX_PARAMETERS];
  int needed;  // number of required parameters
  handler *run;
} function;

// ---- Calling ---------------------------------------------------------------------

static const function functions[] = {
    {"bool", true, {"value"}, 0, gr_function_bool},
    {"choice", true, {NULL}, 0, gr_function_choice},
    {"float", true, {"value"}, 0, gr_function_float},
    {"glob", false, {"include", "exclude"}, 1, gr_function_glob},
    {"int", true, {"value"}, 0, gr_function_int},
    {"interval", false, {"start", "end"}, 2, gr_function_interval},
    {"range", false, {"start", "stop", "step"}, 1, gr_function_range},
    {"shuffle", true, {"sweep", "list"}, 0, gr_function_shuffle},
    {"sort", true, {"sweep", "list", "reverse"}, 0, gr_function_sort},
    {"str", true, {"value"}, 0, gr_function_str},
    {"tag", true, {"sweep"}, 0, gr_function_tag},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const function *functions_find(const char *name) {
  for (int i = 0; i < N_FUNCTIONS; i++)
    if (!strcmp(functions[i].name, name)) return &functions[i];
  return NULL;
}

static gr_status unknown(const char *name, gr_loc loc) {
  const char *names[N_FUNCTIONS];
  for (int i = 0; i < N_FUNCTIONS; i++) names[i] = functions[i].name;
  gr_status s = gr_fail(GR_ERR_USAGE, loc, "there is no function '%s'", name);
  return gr_hint(
      gr_hint_near(s, name, names, N_FUNCTIONS),
      "the functions are bool choice float glob int interval range shuffle sort str tag; "
      "quote a string that contains '('");
}

static gr_status bind_one(const function *f, gr_call *c, const gr_argument *arg, int position) {
  int to = arg->name || f->variadic ? -1 : position;
  for (int i = 0; arg->name && i < GR_MAX_PARAMETERS; i++)
    if (f->parameters[i] && !strcmp(f->parameters[i], arg->name)) to = i;
  if (arg->name && to < 0)
    return gr_fail(GR_ERR_USAGE, c->loc, "%s(...) has no argument '%s'", f->name, arg->name);
  if (to < 0) return GR_OK;
  if (to >= GR_MAX_PARAMETERS || !f->parameters[to])
    return gr_fail(GR_ERR_USAGE, c->loc, "%s(...) has too many arguments", f->name);
  bool by_position = !f->variadic && to < position;
  if (c->by[to] && (by_position || !arg->name))
    return gr_fail(GR_ERR_USAGE, c->loc, "%s(...) has '%s' twice", f->name, f->parameters[to]);
  c->by[to] = &arg->value;
  return GR_OK;
}

gr_status gr_function_call(gr_arena *a, const char *name, const gr_argument *args, int n,
                           gr_loc loc, gr_override_value *out) {
  const function *f = functions_find(name);
  if (!f) return unknown(name, loc);
  gr_call c = {.arena = a, .name = name, .loc = loc};
  gr_override_value *rest = GR_NEW(a, gr_override_value, n + 1);
  for (int i = 0; i < n; i++) {
    if (args[i].value.one) args[i].value.one->quote = 0;
    GR_TRY(bind_one(f, &c, &args[i], i));
    if (f->variadic && !args[i].name) rest[c.n_rest++] = args[i].value;
  }
  c.rest = rest;
  for (int i = 0; i < f->needed; i++)
    if (!c.by[i]) return gr_fail(GR_ERR_USAGE, loc, "%s(...) needs '%s'", name, f->parameters[i]);
  *out = (gr_override_value){0};
  return f->run(&c, out);
}
