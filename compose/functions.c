// functions.c - the functions of the override grammar: casts and sweeps (hydra.md 3.3).
// They follow Python's calling convention, by position and then by name.
#include <math.h>
#include <string.h>
#include <strings.h>
#include "compose/override.h"
#include "compose/scalar.h"

enum { MAX_PARAMETERS = 4 };

// A call with its arguments sorted out: many by position where the function takes any number,
// the rest by parameter.
typedef struct call {
  gr_arena *arena;
  const char *name;
  gr_loc at;
  const gr_value *rest;  // positional, of functions that take any number
  int n_rest;
  const gr_value *by[MAX_PARAMETERS];  // NULL: not given
} call;

typedef gr_status handler(const call *, gr_value *out);

typedef struct function {
  const char *name;
  bool variadic;  // all positional arguments go to `rest`; parameters only by name
  const char *parameters[MAX_PARAMETERS];
  int needed;  // parameters that must be given
  handler *run;
} function;

static gr_status wrong(const call *c, const char *what) {
  return gr_fail(GR_ERR_USAGE, c->at, "%s(...): %s", c->name, what);
}

static bool is_number(const gr_conf *v) {
  return v->kind == GR_CONF_INT || v->kind == GR_CONF_FLOAT || v->kind == GR_CONF_BOOL;
}
static bool is_text(const gr_conf *v) {
  return v->kind == GR_CONF_TEXT || v->kind == GR_CONF_INTERP || v->kind == GR_CONF_MISSING;
}
static double number(const gr_conf *v) {
  return v->kind == GR_CONF_FLOAT ? v->number
         : v->kind == GR_CONF_INT ? (double)v->integer
                                  : v->truth;
}
static int64_t integer(const gr_conf *v) { return v->kind == GR_CONF_BOOL ? v->truth : v->integer; }

// ---- Casts -----------------------------------------------------------------------

typedef enum cast { CAST_INT, CAST_FLOAT, CAST_STR, CAST_BOOL } cast;

static const char *const cast_names[] = {"int", "float", "str", "bool"};

static gr_status cannot(const call *c, const gr_conf *v, cast to) {
  gr_text t = gr_text_make(c->arena);
  gr_value_write(&t, v);
  return gr_fail(GR_ERR_USAGE, v->loc.file ? v->loc : c->at, "'%s' cannot become %s", t.at,
                 cast_names[to]);
}

static gr_status to_int(const call *c, const gr_conf *v, gr_conf *out) {
  out->kind = GR_CONF_INT;
  if (is_text(v)) {
    int64_t i;
    if (!gr_scalar_py_int(v->text, &i)) return cannot(c, v, CAST_INT);
    out->integer = i;
  } else if (v->kind == GR_CONF_FLOAT) {
    if (!(fabs(v->number) < 9.2e18)) return cannot(c, v, CAST_INT);
    out->integer = (int64_t)v->number;
  } else {
    out->integer = integer(v);
  }
  return GR_OK;
}

static gr_status to_float(const call *c, const gr_conf *v, gr_conf *out) {
  double x = is_text(v) ? 0 : number(v);
  if (is_text(v) && !gr_scalar_py_float(v->text, &x)) return cannot(c, v, CAST_FLOAT);
  out->kind = GR_CONF_FLOAT, out->number = x;
  return GR_OK;
}

static gr_status to_str(const call *c, const gr_conf *v, gr_conf *out) {
  gr_text t = gr_text_make(c->arena);
  gr_conf plain = *v;
  plain.quote = 0;
  if (is_text(v))
    gr_text_put(&t, v->text);
  else
    gr_value_write(&t, &plain);
  gr_conf_set_text(out, t.at);
  return GR_OK;
}

static gr_status to_bool(const call *c, const gr_conf *v, gr_conf *out) {
  bool truth = v->kind != GR_CONF_NULL && !is_text(v) && number(v) != 0;
  if (is_text(v)) {
    truth = !strcasecmp(v->text, "true");
    if (!truth && strcasecmp(v->text, "false")) return cannot(c, v, CAST_BOOL);
  }
  out->kind = GR_CONF_BOOL, out->truth = truth;
  return GR_OK;
}

static gr_status cast_one(const call *c, const gr_conf *v, cast to, gr_conf **out);

static gr_status cast_items(const call *c, const gr_conf *v, cast to, gr_conf *out) {
  for (int i = 0; i < v->n; i++) {
    gr_conf *item = NULL;
    GR_TRY(cast_one(c, v->items[i], to, &item));
    gr_conf key = {0};
    if (v->kind == GR_CONF_MAP) key = gr_conf_key(v, i);
    if (v->kind == GR_CONF_MAP)
      gr_conf_put_key(c->arena, out, &key, item);
    else
      gr_conf_append(c->arena, out, item);
  }
  return GR_OK;
}

static gr_status cast_one(const call *c, const gr_conf *v, cast to, gr_conf **out) {
  static gr_status (*const run[])(const call *, const gr_conf *, gr_conf *) = {to_int, to_float,
                                                                               to_str, to_bool};
  *out = gr_conf_make(c->arena, v->kind, v->loc);
  if (v->kind == GR_CONF_MAP || v->kind == GR_CONF_LIST) return cast_items(c, v, to, *out);
  if (v->kind == GR_CONF_NULL && to != CAST_BOOL) return cannot(c, v, to);
  return run[to](c, v, *out);
}

static gr_status cast_sweep(const call *c, const gr_sweep *from, cast to, gr_value *out) {
  gr_sweep *s = out->many = GR_NEW(c->arena, gr_sweep, 1);
  s->kind = from->kind;
  bool interval = from->kind == GR_SWEEP_INTERVAL;
  if (from->kind == GR_SWEEP_GLOB || (to >= CAST_STR && from->start))
    return wrong(c, "ranges and intervals can only become int or float, globs nothing");
  if (from->list) return cast_one(c, from->list, to, &s->list);
  GR_TRY(cast_one(c, from->start, to, &s->start));
  GR_TRY(cast_one(c, from->stop, to, &s->stop));
  if (interval) s->tags = from->tags, s->n_tags = from->n_tags;
  return interval ? GR_OK : cast_one(c, from->step, to, &s->step);
}

static gr_value as_simple(const call *c) {
  gr_sweep *s = GR_NEW(c->arena, gr_sweep, 1);
  s->kind = GR_SWEEP_SIMPLE;
  s->list = gr_conf_make(c->arena, GR_CONF_LIST, c->at);
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].one) gr_conf_append(c->arena, s->list, gr_conf_copy(c->arena, c->rest[i].one));
  return (gr_value){.many = s};
}

static bool any_sweep(const call *c) {
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].many) return true;
  return false;
}

static gr_status run_cast(const call *c, cast to, gr_value *out) {
  if (c->n_rest && c->by[0]) return wrong(c, "give the value by position or by name, not both");
  if (!c->n_rest && !c->by[0]) return wrong(c, "a value is needed");
  if (c->n_rest > 1 && any_sweep(c)) return wrong(c, "a sweep must be the only argument");
  gr_value v = c->by[0] ? *c->by[0] : c->n_rest == 1 ? c->rest[0] : as_simple(c);
  return v.many ? cast_sweep(c, v.many, to, out) : cast_one(c, v.one, to, &out->one);
}

static gr_status run_int(const call *c, gr_value *out) { return run_cast(c, CAST_INT, out); }
static gr_status run_float(const call *c, gr_value *out) { return run_cast(c, CAST_FLOAT, out); }
static gr_status run_str(const call *c, gr_value *out) { return run_cast(c, CAST_STR, out); }
static gr_status run_bool(const call *c, gr_value *out) { return run_cast(c, CAST_BOOL, out); }

// ---- Sweeps ----------------------------------------------------------------------

static gr_sweep *new_sweep(const call *c, gr_sweep_kind kind, gr_value *out) {
  out->many = GR_NEW(c->arena, gr_sweep, 1);
  out->many->kind = kind;
  return out->many;
}

static gr_status run_choice(const call *c, gr_value *out) {
  if (!c->n_rest) return wrong(c, "an empty choice makes no run");
  if (c->n_rest == 1 && c->rest[0].many) {
    if (c->rest[0].many->kind != GR_SWEEP_SIMPLE) return wrong(c, "choices cannot be nested");
    *out = c->rest[0];
    out->many->kind = GR_SWEEP_CHOICE;
    return GR_OK;
  }
  if (any_sweep(c)) return wrong(c, "a sweep cannot be one choice of another");
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].one->kind == GR_CONF_NULL) return wrong(c, "null cannot be a choice");
  *out = as_simple(c);
  out->many->kind = GR_SWEEP_CHOICE;
  return GR_OK;
}

static gr_status need_number(const call *c, int parameter, const char *name, gr_conf **out) {
  const gr_value *v = c->by[parameter];
  if (v->many || !is_number(v->one))
    return gr_fail(GR_ERR_USAGE, v->one ? v->one->loc : c->at, "%s(...): '%s' must be a number",
                   c->name, name);
  *out = v->one;
  return GR_OK;
}

static gr_conf *make_int(const call *c, int64_t value) {
  gr_conf *i = gr_conf_make(c->arena, GR_CONF_INT, c->at);
  i->integer = value;
  return i;
}

static gr_status run_range(const call *c, gr_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_RANGE, out);
  bool stop = c->by[1] && !(c->by[1]->one && c->by[1]->one->kind == GR_CONF_NULL);
  s->step = make_int(c, 1);
  GR_TRY(need_number(c, 0, "start", &s->start));
  if (stop) GR_TRY(need_number(c, 1, "stop", &s->stop));
  if (c->by[2]) GR_TRY(need_number(c, 2, "step", &s->step));
  if (!stop) s->stop = s->start, s->start = make_int(c, 0);
  return GR_OK;
}

static gr_status run_interval(const call *c, gr_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_INTERVAL, out);
  GR_TRY(need_number(c, 0, "start", &s->start));
  GR_TRY(need_number(c, 1, "end", &s->stop));
  GR_TRY(cast_one(c, s->start, CAST_FLOAT, &s->start));
  return cast_one(c, s->stop, CAST_FLOAT, &s->stop);
}

static gr_status need_patterns(const call *c, const gr_value *v, gr_conf **out) {
  *out = gr_conf_make(c->arena, GR_CONF_LIST, c->at);
  if (!v || (v->one && v->one->kind == GR_CONF_NULL)) return GR_OK;
  bool text = v->one && is_text(v->one);
  if (!text && (!v->one || v->one->kind != GR_CONF_LIST))
    return wrong(c, "patterns are a text or a list of texts");
  if (text) gr_conf_append(c->arena, *out, gr_conf_copy(c->arena, v->one));
  for (int i = 0; !text && i < v->one->n; i++) {
    if (!is_text(v->one->items[i])) return wrong(c, "patterns are a text or a list of texts");
    gr_conf_append(c->arena, *out, gr_conf_copy(c->arena, v->one->items[i]));
  }
  return GR_OK;
}

static gr_status run_glob(const call *c, gr_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_GLOB, out);
  GR_TRY(need_patterns(c, c->by[0], &s->list));
  return need_patterns(c, c->by[1], &s->exclude);
}

static void add_tag(gr_sweep *s, const char *tag) {
  int at = 0;
  while (at < s->n_tags && strcmp(s->tags[at], tag) < 0) at++;
  if (at < s->n_tags && !strcmp(s->tags[at], tag)) return;
  memmove(s->tags + at + 1, s->tags + at, sizeof *s->tags * (size_t)(s->n_tags - at));
  s->tags[at] = tag;
  s->n_tags++;
}

static gr_status run_tag(const call *c, gr_value *out) {
  int n = c->by[0] ? c->n_rest : c->n_rest - 1;
  const gr_value *last = c->by[0] ? c->by[0] : n >= 0 ? &c->rest[n] : NULL;
  if (!last || !last->many || last->many->kind == GR_SWEEP_GLOB)
    return wrong(c, "the last argument must be a choice, a range or an interval");
  gr_sweep *s = GR_NEW(c->arena, gr_sweep, 1);
  *s = *last->many;
  s->tags = GR_NEW(c->arena, const char *, n + 1);
  s->n_tags = 0;
  for (int i = 0; i < n; i++) {
    if (!c->rest[i].one || !is_text(c->rest[i].one)) return wrong(c, "tags are texts");
    add_tag(s, c->rest[i].one->text);
  }
  out->many = s;
  return GR_OK;
}

// ---- Order -----------------------------------------------------------------------

static bool comparable(const gr_conf *list) {
  bool texts = list->n && is_text(list->items[0]);
  for (int i = 0; i < list->n; i++) {
    const gr_conf *v = list->items[i];
    if (v->quote || (texts ? !is_text(v) : !is_number(v))) return list->n < 2;
  }
  return true;
}

static int compare(const gr_conf *a, const gr_conf *b) {
  if (is_text(a)) return strcmp(a->text, b->text);
  if (a->kind != GR_CONF_FLOAT && b->kind != GR_CONF_FLOAT)
    return (integer(a) > integer(b)) - (integer(a) < integer(b));
  return (number(a) > number(b)) - (number(a) < number(b));
}

// Insertion keeps the order of equals; sweeps are short.
static gr_status sort_list(const call *c, const gr_conf *from, bool reverse, gr_conf **out) {
  gr_conf *list = *out = gr_conf_copy(c->arena, from);
  if (!comparable(list)) return wrong(c, "only numbers, or only unquoted texts, have an order");
  for (int i = 1; i < list->n; i++) {
    gr_conf *v = list->items[i];
    int k = i;
    for (; k > 0; k--) {
      int order = compare(list->items[k - 1], v);
      if (reverse ? order >= 0 : order <= 0) break;
      list->items[k] = list->items[k - 1];
    }
    list->items[k] = v;
  }
  return GR_OK;
}

static gr_conf *arithmetic(const call *c, const gr_conf *a, double sign, const gr_conf *b) {
  gr_conf *v = gr_conf_make(c->arena, GR_CONF_FLOAT, c->at);
  bool whole = a->kind != GR_CONF_FLOAT && b->kind != GR_CONF_FLOAT;
  if (whole) v->kind = GR_CONF_INT;
  if (whole)
    v->integer = (int64_t)((uint64_t)integer(a) + (uint64_t)(int64_t)sign * (uint64_t)integer(b));
  else
    v->number = number(a) + sign * number(b);
  return v;
}

static gr_conf *magnitude(const call *c, const gr_conf *v) {
  gr_conf *zero = make_int(c, 0);
  return arithmetic(c, zero, number(v) < 0 ? -1 : 1, v);
}

// A range walked from its other end.
static void turn_range(const call *c, gr_sweep *s, bool reverse) {
  bool falls = number(s->start) > number(s->stop), rises = number(s->start) < number(s->stop);
  if (reverse ? !rises : !falls) return;
  const gr_conf *step = magnitude(c, s->step), *start = s->start;
  double sign = reverse ? -1 : 1;
  s->start = arithmetic(c, s->stop, sign, step);
  s->stop = arithmetic(c, start, sign, step);
  s->step = arithmetic(c, make_int(c, 0), -1, s->step);
}

static gr_status sort_sweep(const call *c, const gr_sweep *from, bool reverse, gr_value *out) {
  gr_sweep *s = out->many = GR_NEW(c->arena, gr_sweep, 1);
  *s = *from;
  if (from->kind == GR_SWEEP_SIMPLE || from->kind == GR_SWEEP_CHOICE)
    return sort_list(c, from->list, reverse, &s->list);
  if (from->kind != GR_SWEEP_RANGE) return wrong(c, "intervals and globs have no order");
  turn_range(c, s, reverse);
  return GR_OK;
}

enum { BY_SWEEP, BY_LIST, BY_REVERSE };

static gr_status run_sort(const call *c, gr_value *out) {
  const gr_value *r = c->by[BY_REVERSE];
  if (r && (!r->one || r->one->kind != GR_CONF_BOOL)) return wrong(c, "'reverse' is true or false");
  bool reverse = r && r->one->truth;
  const gr_value *one = c->by[BY_LIST]    ? c->by[BY_LIST]
                        : c->by[BY_SWEEP] ? c->by[BY_SWEEP]
                        : c->n_rest == 1  ? &c->rest[0]
                                          : NULL;
  if (!one && !c->n_rest) return wrong(c, "there is nothing to sort");
  if (!one && any_sweep(c)) return wrong(c, "a sweep must be the only argument");
  if (!one) return sort_sweep(c, as_simple(c).many, reverse, out);
  if (one->many) return sort_sweep(c, one->many, reverse, out);
  if (one->one->kind == GR_CONF_LIST) return sort_list(c, one->one, reverse, &out->one);
  out->one = one->one;
  return one->one->kind == GR_CONF_NULL ? wrong(c, "null has no order") : GR_OK;
}

static void shuffle_list(const call *c, gr_conf *list) {
  gr_rng rng = gr_rng_make(0, "sweep:shuffle", (uint64_t)c->at.col);
  uint32_t *order = GR_NEW(c->arena, uint32_t, list->n + 1);
  gr_conf **items = GR_NEW(c->arena, gr_conf *, list->n + 1);
  gr_rng_shuffle(&rng, order, (uint32_t)list->n);
  for (int i = 0; i < list->n; i++) items[i] = list->items[order[i]];
  if (list->n) memcpy(list->items, items, sizeof *items * (size_t)list->n);
}

static gr_status run_shuffle(const call *c, gr_value *out) {
  const gr_value *one = c->by[BY_LIST]    ? c->by[BY_LIST]
                        : c->by[BY_SWEEP] ? c->by[BY_SWEEP]
                        : c->n_rest == 1  ? &c->rest[0]
                                          : NULL;
  if (!one && any_sweep(c)) return wrong(c, "a sweep must be the only argument");
  *out = one ? *one : as_simple(c);
  if (out->many) {
    if (out->many->kind > GR_SWEEP_RANGE) return wrong(c, "intervals and globs have no order");
    out->many->shuffle = true;
  } else if (out->one->kind == GR_CONF_LIST) {
    shuffle_list(c, out->one = gr_conf_copy(c->arena, out->one));
  } else {
    gr_conf *list = gr_conf_make(c->arena, GR_CONF_LIST, c->at);
    gr_conf_append(c->arena, list, out->one);
    out->one = list;
  }
  return GR_OK;
}

// ---- Calling ---------------------------------------------------------------------

static const function functions[] = {
    {"bool", true, {"value"}, 0, run_bool},
    {"choice", true, {NULL}, 0, run_choice},
    {"float", true, {"value"}, 0, run_float},
    {"glob", false, {"include", "exclude"}, 1, run_glob},
    {"int", true, {"value"}, 0, run_int},
    {"interval", false, {"start", "end"}, 2, run_interval},
    {"range", false, {"start", "stop", "step"}, 1, run_range},
    {"shuffle", true, {"sweep", "list"}, 0, run_shuffle},
    {"sort", true, {"sweep", "list", "reverse"}, 0, run_sort},
    {"str", true, {"value"}, 0, run_str},
    {"tag", true, {"sweep"}, 0, run_tag},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const function *find(const char *name) {
  for (int i = 0; i < N_FUNCTIONS; i++)
    if (!strcmp(functions[i].name, name)) return &functions[i];
  return NULL;
}

static gr_status unknown(const char *name, gr_loc at) {
  const char *names[N_FUNCTIONS];
  for (int i = 0; i < N_FUNCTIONS; i++) names[i] = functions[i].name;
  const char *like = gr_text_nearest(name, names, N_FUNCTIONS);
  gr_status s = gr_fail(GR_ERR_USAGE, at, "there is no function '%s'", name);
  if (like) s = gr_hint(s, "did you mean '%s'?", like);
  return gr_hint(s,
                 "known are bool choice float glob int interval range shuffle sort str tag; "
                 "quote a text that holds '('");
}

static gr_status bind_one(const function *f, call *c, const gr_argument *arg, int position) {
  int to = arg->name || f->variadic ? -1 : position;
  for (int i = 0; arg->name && i < MAX_PARAMETERS; i++)
    if (f->parameters[i] && !strcmp(f->parameters[i], arg->name)) to = i;
  if (arg->name && to < 0)
    return gr_fail(GR_ERR_USAGE, c->at, "%s(...) has no argument '%s'", f->name, arg->name);
  if (to < 0) return GR_OK;
  if (to >= MAX_PARAMETERS || !f->parameters[to])
    return gr_fail(GR_ERR_USAGE, c->at, "%s(...) has too many arguments", f->name);
  if (c->by[to])
    return gr_fail(GR_ERR_USAGE, c->at, "%s(...) has '%s' twice", f->name, f->parameters[to]);
  c->by[to] = &arg->value;
  return GR_OK;
}

gr_status gr_function_call(gr_arena *a, const char *name, const gr_argument *args, int n, gr_loc at,
                           gr_value *out) {
  const function *f = find(name);
  if (!f) return unknown(name, at);
  call c = {.arena = a, .name = name, .at = at};
  gr_value *rest = GR_NEW(a, gr_value, n + 1);
  for (int i = 0; i < n; i++) {
    if (args[i].value.one) args[i].value.one->quote = 0;
    GR_TRY(bind_one(f, &c, &args[i], i));
    if (f->variadic && !args[i].name) rest[c.n_rest++] = args[i].value;
  }
  c.rest = rest;
  for (int i = 0; i < f->needed; i++)
    if (!c.by[i]) return gr_fail(GR_ERR_USAGE, at, "%s(...) needs '%s'", name, f->parameters[i]);
  *out = (gr_value){0};
  return f->run(&c, out);
}
