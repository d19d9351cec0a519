// sweep_functions.c - the functions of the override grammar that make or order sweeps
//.
#include <math.h>
#include <string.h>
#include "compose/override/functions.h"

// ---- Sweeps ----------------------------------------------------------------------

static gr_sweep *new_sweep(const gr_call *c, gr_sweep_kind kind, gr_override_value *out) {
  out->many = GR_NEW(c->arena, gr_sweep, 1);
  out->many->kind = kind;
  return out->many;
}

gr_status gr_function_choice(const gr_call *c, gr_override_value *out) {
  if (!c->n_rest)
    return gr_hint(gr_call_wrong(c, "an empty choice makes no run"), "write choice(a,b,...)");
  if (c->n_rest == 1 && c->rest[0].many) {
    if (c->rest[0].many->kind != GR_SWEEP_SIMPLE)
      return gr_call_wrong(c, "choices cannot be nested");
    *out = c->rest[0];
    out->many->kind = GR_SWEEP_CHOICE;
    return GR_OK;
  }
  if (gr_call_any_sweep(c)) return gr_call_wrong(c, "a sweep cannot be one choice of another");
  for (int i = 0; i < c->n_rest; i++)
    if (c->rest[i].one->kind == GR_CONF_NULL) return gr_call_wrong(c, "null cannot be a choice");
  *out = gr_call_simple(c);
  out->many->kind = GR_SWEEP_CHOICE;
  return GR_OK;
}

static gr_status need_number(const gr_call *c, int parameter, const char *name, gr_conf **out) {
  const gr_override_value *v = c->by[parameter];
  if (v->many || !gr_conf_is_number(v->one))
    return gr_fail(GR_ERR_USAGE, v->one ? v->one->loc : c->loc, "%s(...): '%s' must be a number",
                   c->name, name);
  *out = v->one;
  return GR_OK;
}

gr_status gr_function_range(const gr_call *c, gr_override_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_RANGE, out);
  bool stop = c->by[1] && !(c->by[1]->one && c->by[1]->one->kind == GR_CONF_NULL);
  s->step = gr_conf_make_int(c->arena, 1, c->loc);
  GR_TRY(need_number(c, 0, "start", &s->start));
  if (stop) GR_TRY(need_number(c, 1, "stop", &s->stop));
  if (c->by[2]) GR_TRY(need_number(c, 2, "step", &s->step));
  if (!stop) s->stop = s->start, s->start = gr_conf_make_int(c->arena, 0, c->loc);
  return GR_OK;
}

gr_status gr_function_interval(const gr_call *c, gr_override_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_INTERVAL, out);
  GR_TRY(need_number(c, 0, "start", &s->start));
  GR_TRY(need_number(c, 1, "end", &s->stop));
  GR_TRY(gr_call_cast(c, s->start, GR_CAST_FLOAT, &s->start));
  return gr_call_cast(c, s->stop, GR_CAST_FLOAT, &s->stop);
}

static gr_status need_patterns(const gr_call *c, const gr_override_value *v, gr_conf **out) {
  *out = gr_conf_make(c->arena, GR_CONF_LIST, c->loc);
  if (!v || (v->one && v->one->kind == GR_CONF_NULL)) return GR_OK;
  bool text = v->one && gr_conf_has_text(v->one);
  if (!text && (!v->one || v->one->kind != GR_CONF_LIST))
    return gr_call_wrong(c, "patterns are a string or a list of strings");
  if (text) gr_conf_append(c->arena, *out, gr_conf_copy(c->arena, v->one));
  for (int i = 0; !text && i < v->one->n; i++) {
    if (!gr_conf_has_text(v->one->items[i]))
      return gr_call_wrong(c, "patterns are a string or a list of strings");
    gr_conf_append(c->arena, *out, gr_conf_copy(c->arena, v->one->items[i]));
  }
  return GR_OK;
}

gr_status gr_function_glob(const gr_call *c, gr_override_value *out) {
  gr_sweep *s = new_sweep(c, GR_SWEEP_GLOB, out);
  GR_TRY(need_patterns(c, c->by[0], &s->list));
  return need_patterns(c, c->by[1], &s->exclude);
}

static void add_tag(gr_sweep *s, const char *tag) {
  int index = 0;
  while (index < s->n_tags && strcmp(s->tags[index], tag) < 0) index++;
  if (index < s->n_tags && !strcmp(s->tags[index], tag)) return;
  memmove(s->tags + index + 1, s->tags + index, sizeof *s->tags * (size_t)(s->n_tags - index));
  s->tags[index] = tag;
  s->n_tags++;
}

gr_status gr_function_tag(const gr_call *c, gr_override_value *out) {
  int n = c->by[0] ? c->n_rest : c->n_rest - 1;
  const gr_override_value *last = c->by[0] ? c->by[0] : n >= 0 ? &c->rest[n] : NULL;
  if (!last || !last->many || last->many->kind == GR_SWEEP_GLOB)
    return gr_call_wrong(c, "the last argument must be a choice, a range or an interval");
  gr_sweep *s = GR_NEW(c->arena, gr_sweep, 1);
  *s = *last->many;
  s->tags = GR_NEW(c->arena, const char *, n + 1);
  s->n_tags = 0;
  for (int i = 0; i < n; i++) {
    if (!c->rest[i].one || !gr_conf_has_text(c->rest[i].one))
      return gr_call_wrong(c, "tags are strings");
    add_tag(s, c->rest[i].one->text);
  }
  out->many = s;
  return GR_OK;
}

// ---- Order -----------------------------------------------------------------------

static bool comparable(const gr_conf *list) {
  bool texts = list->n && gr_conf_has_text(list->items[0]);
  for (int i = 0; i < list->n; i++) {
    const gr_conf *v = list->items[i];
    if (v->quote || (texts ? !gr_conf_has_text(v) : !gr_conf_is_number(v))) return list->n < 2;
  }
  return true;
}

static int compare(const gr_conf *a, const gr_conf *b) {
  if (gr_conf_has_text(a)) return strcmp(a->text, b->text);
  if (a->kind != GR_CONF_FLOAT && b->kind != GR_CONF_FLOAT)
    return (gr_call_integer(a) > gr_call_integer(b)) - (gr_call_integer(a) < gr_call_integer(b));
  return (gr_conf_number(a) > gr_conf_number(b)) - (gr_conf_number(a) < gr_conf_number(b));
}

// Insertion keeps the order of equals; sweeps are short.
static gr_status sort_list(const gr_call *c, const gr_conf *source, bool reverse, gr_conf **out) {
  gr_conf *list = *out = gr_conf_copy(c->arena, source);
  if (!comparable(list))
    return gr_call_wrong(c, "only numbers, or only unquoted strings, have an order");
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

static gr_conf *arithmetic(const gr_call *c, const gr_conf *a, double sign, const gr_conf *b) {
  gr_conf *v = gr_conf_make(c->arena, GR_CONF_FLOAT, c->loc);
  bool whole = a->kind != GR_CONF_FLOAT && b->kind != GR_CONF_FLOAT;
  if (whole) v->kind = GR_CONF_INT;
  if (whole)
    v->integer = (int64_t)((uint64_t)gr_call_integer(a) +
                           (uint64_t)(int64_t)sign * (uint64_t)gr_call_integer(b));
  else
    v->number = gr_conf_number(a) + sign * gr_conf_number(b);
  return v;
}

// A range walked from its last value to its first.
static void turn_range(const gr_call *c, gr_sweep *s, bool reverse) {
  double start = gr_conf_number(s->start), stop = gr_conf_number(s->stop);
  double step = gr_conf_number(s->step), steps = (stop - start) / step;
  if ((reverse ? start >= stop : start <= stop) || !(steps > 0 && steps < 1e9)) return;
  double last = ceil(steps - 1e-9) - 1;
  const gr_conf *first = s->start, *by = s->step;
  s->start = arithmetic(c, first, last, by);
  s->stop = arithmetic(c, first, -1, by);
  s->step = arithmetic(c, gr_conf_make_int(c->arena, 0, c->loc), -1, by);
}

static gr_status sort_sweep(const gr_call *c, const gr_sweep *source, bool reverse,
                            gr_override_value *out) {
  gr_sweep *s = out->many = GR_NEW(c->arena, gr_sweep, 1);
  *s = *source;
  if (source->kind == GR_SWEEP_SIMPLE || source->kind == GR_SWEEP_CHOICE)
    return sort_list(c, source->list, reverse, &s->list);
  if (source->kind != GR_SWEEP_RANGE) return gr_call_wrong(c, "intervals and globs have no order");
  turn_range(c, s, reverse);
  return GR_OK;
}

enum { BY_SWEEP, BY_LIST, BY_REVERSE };

gr_status gr_function_sort(const gr_call *c, gr_override_value *out) {
  const gr_override_value *r = c->by[BY_REVERSE];
  if (r && (!r->one || r->one->kind != GR_CONF_BOOL))
    return gr_call_wrong(c, "'reverse' is true or false");
  bool reverse = r && r->one->truth;
  const gr_override_value *one = c->by[BY_LIST]    ? c->by[BY_LIST]
                                 : c->by[BY_SWEEP] ? c->by[BY_SWEEP]
                                 : c->n_rest == 1  ? &c->rest[0]
                                                   : NULL;
  if (!one && !c->n_rest) return gr_call_wrong(c, "there is nothing to sort");
  if (!one && gr_call_any_sweep(c)) return gr_call_wrong(c, "a sweep must be the only argument");
  if (!one) return sort_sweep(c, gr_call_simple(c).many, reverse, out);
  if (one->many) return sort_sweep(c, one->many, reverse, out);
  if (one->one->kind == GR_CONF_LIST) return sort_list(c, one->one, reverse, &out->one);
  out->one = one->one;
  return one->one->kind == GR_CONF_NULL ? gr_call_wrong(c, "null has no order") : GR_OK;
}

gr_status gr_function_shuffle(const gr_call *c, gr_override_value *out) {
  const gr_override_value *one = c->by[BY_LIST]    ? c->by[BY_LIST]
                                 : c->by[BY_SWEEP] ? c->by[BY_SWEEP]
                                 : c->n_rest == 1  ? &c->rest[0]
                                                   : NULL;
  if (!one && gr_call_any_sweep(c)) return gr_call_wrong(c, "a sweep must be the only argument");
  *out = one ? *one : gr_call_simple(c);
  if (out->many) {
    if (out->many->kind > GR_SWEEP_RANGE)
      return gr_call_wrong(c, "intervals and globs have no order");
    out->many->shuffle = true;
  } else if (out->one->kind == GR_CONF_LIST) {
    gr_sweep_shuffle(c->arena, out->one = gr_conf_copy(c->arena, out->one), (uint64_t)c->loc.col);
  } else {
    gr_conf *list = gr_conf_make(c->arena, GR_CONF_LIST, c->loc);
    gr_conf_append(c->arena, list, out->one);
    out->one = list;
  }
  return GR_OK;
}
