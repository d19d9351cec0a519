// casts.c - the casts of the override grammar (int, float, str, bool), and helpers for calls.
#include <math.h>
#include <string.h>
#include <strings.h>
#include "compose/override/functions.h"
#include "compose/tree/scalar.h"

int64_t gr_call_integer(const gr_conf *v) {
  return v->kind == GR_CONF_BOOL ? v->truth : v->integer;
}

gr_status gr_call_wrong(const gr_call *c, const char *what) {
  return gr_fail(GR_ERR_USAGE, c->loc, "%s(...): %s", c->name, what);
}

gr_override_value gr_call_simple(const gr_call *c) {
  gr_sweep *s = GR_NEW(c->arena, gr_sweep, 1);
  s->kind = GR_SWEEP_SIMPLE;
  s->list = gr_conf_make(c->arena, GR_CONF_LIST, c->loc);
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].one) gr_conf_append(c->arena, s->list, gr_conf_copy(c->arena, c->rest[i].one));
  return (gr_override_value){.many = s};
}

bool gr_call_any_sweep(const gr_call *c) {
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].many) return true;
  return false;
}

// ---- Casts -----------------------------------------------------------------------

static const char *const cast_names[] = {"int", "float", "str", "bool"};

static gr_status cannot(const gr_call *c, const gr_conf *v, gr_cast to) {
  gr_text t = gr_text_make(c->arena);
  gr_value_write(&t, v);
  return gr_hint(gr_fail(GR_ERR_USAGE, v->loc.file ? v->loc : c->loc,
                         "'%s' cannot be converted to %s", t.chars, cast_names[to]),
                 "give another value, or remove %s(...)", cast_names[to]);
}

static gr_status to_int(const gr_call *c, const gr_conf *v, gr_conf *out) {
  out->kind = GR_CONF_INT;
  if (gr_conf_has_text(v)) {
    int64_t i;
    if (!gr_scalar_py_int(v->text, &i)) return cannot(c, v, GR_CAST_INT);
    out->integer = i;
  } else if (v->kind == GR_CONF_FLOAT) {
    if (!(fabs(v->number) < 9.2e18)) return cannot(c, v, GR_CAST_INT);
    out->integer = (int64_t)v->number;
  } else {
    out->integer = gr_call_integer(v);
  }
  return GR_OK;
}

static gr_status to_float(const gr_call *c, const gr_conf *v, gr_conf *out) {
  double x = gr_conf_has_text(v) ? 0 : gr_conf_number(v);
  if (gr_conf_has_text(v) && !gr_scalar_py_float(v->text, &x)) return cannot(c, v, GR_CAST_FLOAT);
  out->kind = GR_CONF_FLOAT, out->number = x;
  return GR_OK;
}

static gr_status to_str(const gr_call *c, const gr_conf *v, gr_conf *out) {
  gr_text t = gr_text_make(c->arena);
  gr_conf plain = *v;
  plain.quote = 0;
  if (gr_conf_has_text(v))
    gr_text_put(&t, v->text);
  else
    gr_value_write(&t, &plain);
  gr_conf_set_text(out, t.chars);
  return GR_OK;
}

static gr_status to_bool(const gr_call *c, const gr_conf *v, gr_conf *out) {
  bool truth = v->kind != GR_CONF_NULL && !gr_conf_has_text(v) && gr_conf_number(v) != 0;
  if (gr_conf_has_text(v)) {
    truth = !strcasecmp(v->text, "true");
    if (!truth && strcasecmp(v->text, "false")) return cannot(c, v, GR_CAST_BOOL);
  }
  out->kind = GR_CONF_BOOL, out->truth = truth;
  return GR_OK;
}

static gr_status cast_items(const gr_call *c, const gr_conf *v, gr_cast to, gr_conf *out) {
  for (int i = 0; i < v->n; i++) {
    gr_conf *item = NULL;
    GR_TRY(gr_call_cast(c, v->items[i], to, &item));
    gr_conf key = {0};
    if (v->kind == GR_CONF_MAP) key = gr_conf_key(v, i);
    if (v->kind == GR_CONF_MAP)
      gr_conf_put_key(c->arena, out, &key, item);
    else
      gr_conf_append(c->arena, out, item);
  }
  return GR_OK;
}

gr_status gr_call_cast(const gr_call *c, const gr_conf *v, gr_cast to, gr_conf **out) {
  static gr_status (*const run[])(const gr_call *, const gr_conf *, gr_conf *) = {to_int, to_float,
                                                                                  to_str, to_bool};
  *out = gr_conf_make(c->arena, v->kind, v->loc);
  if (v->kind == GR_CONF_MAP || v->kind == GR_CONF_LIST) return cast_items(c, v, to, *out);
  if (v->kind == GR_CONF_NULL && to != GR_CAST_BOOL) return cannot(c, v, to);
  return run[to](c, v, *out);
}

static gr_status cast_sweep(const gr_call *c, const gr_sweep *source, gr_cast to,
                            gr_override_value *out) {
  gr_sweep *s = out->many = GR_NEW(c->arena, gr_sweep, 1);
  s->kind = source->kind;
  bool interval = source->kind == GR_SWEEP_INTERVAL;
  if (source->kind == GR_SWEEP_GLOB || (to >= GR_CAST_STR && source->start))
    return gr_call_wrong(
        c, "ranges and intervals can be cast only to int or float, globs cannot be cast");
  if (source->list) return gr_call_cast(c, source->list, to, &s->list);
  GR_TRY(gr_call_cast(c, source->start, to, &s->start));
  GR_TRY(gr_call_cast(c, source->stop, to, &s->stop));
  if (interval) s->tags = source->tags, s->n_tags = source->n_tags;
  return interval ? GR_OK : gr_call_cast(c, source->step, to, &s->step);
}

static gr_status run_cast(const gr_call *c, gr_cast to, gr_override_value *out) {
  if (c->n_rest && c->by[0])
    return gr_call_wrong(c, "give the value by position or by name, not both");
  if (!c->n_rest && !c->by[0]) return gr_call_wrong(c, "it needs a value");
  if (c->n_rest > 1 && gr_call_any_sweep(c))
    return gr_call_wrong(c, "a sweep must be the only argument");
  gr_override_value v = c->by[0] ? *c->by[0] : c->n_rest == 1 ? c->rest[0] : gr_call_simple(c);
  return v.many ? cast_sweep(c, v.many, to, out) : gr_call_cast(c, v.one, to, &out->one);
}

gr_status gr_function_int(const gr_call *c, gr_override_value *out) {
  return run_cast(c, GR_CAST_INT, out);
}
gr_status gr_function_float(const gr_call *c, gr_override_value *out) {
  return run_cast(c, GR_CAST_FLOAT, out);
}
gr_status gr_function_str(const gr_call *c, gr_override_value *out) {
  return run_cast(c, GR_CAST_STR, out);
}
gr_status gr_function_bool(const gr_call *c, gr_override_value *out) {
  return run_cast(c, GR_CAST_BOOL, out);
}
