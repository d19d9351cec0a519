// parsed.c - see parsed.h.
#include "parsed.h"
#include <string.h>
#include "compose/compose.h"
#include "compose/interp/interp.h"
#include "compose/override/override.h"

void put_text(gr_arena *a, gr_conf *map, const char *key, const char *value) {
  gr_conf *t = gr_conf_make(a, value ? GR_CONF_TEXT : GR_CONF_NULL, GR_NOWHERE);
  t->text = value;
  gr_conf_put(a, map, key, t);
}

void put_bool(gr_arena *a, gr_conf *map, const char *key, bool value) {
  gr_conf *t = gr_conf_make(a, GR_CONF_BOOL, GR_NOWHERE);
  t->truth = value;
  gr_conf_put(a, map, key, t);
}

static gr_conf *show(gr_arena *a, const gr_conf *c);

static gr_conf *wrap(gr_arena *a, const char *key, gr_conf *value) {
  gr_conf *m = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  gr_conf_put(a, m, key, value);
  return m;
}

static gr_conf *show_list(gr_arena *a, const gr_conf *c) {
  gr_conf *l = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  for (int i = 0; i < c->n; i++) {
    if (c->kind == GR_CONF_LIST) {
      gr_conf_append(a, l, show(a, c->items[i]));
      continue;
    }
    gr_conf key = gr_conf_key(c, i), *pair = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
    gr_conf_append(a, pair, show(a, &key));
    gr_conf_append(a, pair, show(a, c->items[i]));
    gr_conf_append(a, l, pair);
  }
  return l;
}

static gr_conf *show(gr_arena *a, const gr_conf *c) {
  gr_conf *t = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  if (c->kind == GR_CONF_MAP) return wrap(a, "$map", show_list(a, c));
  if (c->kind == GR_CONF_LIST) return show_list(a, c);
  if (c->kind == GR_CONF_FLOAT) {
    gr_text s = gr_text_make(a);
    gr_value_write(&s, c);
    t->text = s.chars;
    return wrap(a, "$float", t);
  }
  if (!c->quote) return gr_conf_copy(a, c);
  t->text = c->text;
  gr_conf *m = wrap(a, "$quoted", t);
  put_text(a, m, "q", c->quote == '"' ? "double" : "single");
  return m;
}

static gr_conf *show_tags(gr_arena *a, const gr_sweep *s) {
  gr_conf *l = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  for (int i = 0; i < s->n_tags; i++) {
    gr_conf *t = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
    t->text = s->tags[i];
    gr_conf_append(a, l, t);
  }
  return l;
}

static gr_conf *show_sweep(gr_arena *a, const gr_sweep *s) {
  static const char *const names[] = {"$choice", "$choice", "$range", "$interval", "$glob"};
  gr_conf *l = s->list ? show_list(a, s->list) : gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  if (s->start) gr_conf_append(a, l, show(a, s->start)), gr_conf_append(a, l, show(a, s->stop));
  if (s->step) gr_conf_append(a, l, show(a, s->step));
  gr_conf *m = wrap(a, names[s->kind], l);
  if (s->kind == GR_SWEEP_GLOB) {
    gr_conf_put(a, m, "exclude", show_list(a, s->exclude));
    return m;
  }
  if (s->kind <= GR_SWEEP_CHOICE) put_bool(a, m, "simple", s->kind == GR_SWEEP_SIMPLE);
  if (s->kind != GR_SWEEP_INTERVAL) put_bool(a, m, "shuffle", s->shuffle);
  gr_conf_put(a, m, "tags", show_tags(a, s));
  return m;
}

static gr_conf *show_value(gr_arena *a, gr_override_value v) {
  return v.many ? show_sweep(a, v.many) : show(a, v.one);
}

static gr_conf *show_override(gr_arena *a, const gr_override *o) {
  static const char *const kinds[] = {"CHANGE", "ADD", "FORCE_ADD", "DEL"};
  static const char *const types[] = {"SIMPLE_CHOICE_SWEEP", "CHOICE_SWEEP", "RANGE_SWEEP",
                                      "INTERVAL_SWEEP", "GLOB_CHOICE_SWEEP"};
  gr_conf *m = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  put_text(a, m, "$override", kinds[o->kind]);
  put_text(a, m, "key", o->key);
  put_text(a, m, "package", o->package);
  put_text(a, m, "vtype",
           !o->has_value   ? NULL
           : o->value.many ? types[o->value.many->kind]
                           : "ELEMENT");
  if (o->has_value)
    gr_conf_put(a, m, "value", show_value(a, o->value));
  else
    put_text(a, m, "value", NULL);
  return m;
}

// ---- Interpolations and YAML -------------------------------------------------------

static gr_status refer(gr_arena *a, const char *text, gr_conf **out) {
  static const char tree[] =
      "{a: 1, f: 1.5, t: text, n: null, b: true, l: [1, two, {k: 3}], m: {k: v, x: {up: "
      "'${..k}'}}, "
      "ref: '${a}', unset: '??\?', a-b: 2, which: a}";
  gr_conf *root = NULL, *v = gr_conf_make(a, GR_CONF_TEXT, (gr_loc){"text", 1, 1});
  GR_TRY(gr_conf_parse(a, "tree", tree, &root));
  gr_conf_set_text(v, text);
  gr_conf_put(a, root, "v", v);
  GR_TRY(gr_conf_resolve(a, root, true));
  *out = root->items[root->n - 1];
  if ((*out)->kind == GR_CONF_MISSING) return gr_fail(GR_ERR_CONFIG, v->loc, "it is missing");
  return GR_OK;
}

static gr_status document(gr_arena *a, const char *text, gr_conf **out) {
  gr_conf *c = NULL;
  GR_TRY(gr_conf_parse(a, "text", text, &c));
  if (c->kind == GR_CONF_BOOL || c->kind == GR_CONF_INT || c->kind == GR_CONF_FLOAT)
    return gr_fail(GR_ERR_CONFIG, c->loc, "a number is no configuration");
  if (c->kind < GR_CONF_MAP)
    GR_TRY(gr_conf_from_text(a, "text", c->kind ? c->text : "", c->loc, &c));
  GR_TRY(gr_expr_check(a, c));
  gr_text again = gr_text_make(a);
  gr_conf_yaml(&again, c);
  gr_conf *written = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  written->text = again.chars;
  *out = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  gr_conf_append(a, *out, c);
  gr_conf_append(a, *out, written);
  return GR_OK;
}

// Rules other than a whole override are parsed as one side of it.
gr_status parsed_rule(gr_arena *a, const char *rule, const char *text, gr_conf **out) {
  gr_override o;
  gr_override_value v = {0};
  if (!strcmp(rule, "refer")) return refer(a, text, out);
  if (!strcmp(rule, "yaml")) return document(a, text, out);
  if (!strcmp(rule, "override")) {
    GR_TRY(gr_override_parse(a, text, 1, &o));
    *out = show_override(a, &o);
  } else if (!strcmp(rule, "key") || !strncmp(rule, "package", 7)) {
    GR_TRY(gr_override_parse(a, gr_arena_printf(a, "%s=1", text), 1, &o));
    *out = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
    put_text(a, *out, "$key", o.key);
    put_text(a, *out, "package", o.package);
    if (strcmp(rule, "key")) *out = (*out)->items[0];
  } else {
    GR_TRY(gr_value_parse(a, text, (gr_loc){"argument 1", 1, 1}, &v));
    *out = show_value(a, v);
  }
  return GR_OK;
}
