// text_metrics.c - reads training.text_metrics and training.spelling.
#include <string.h>
#include "base/json.h"
#include "job/parts.h"

static const char KEY[] = "training.text_metrics", SPELLING[] = "training.spelling";
#define EXAMPLE "as in {wer: {normalise: english}, bleu: bleu}"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
enum { MAX_METRICS = 16, SPELLING_BYTES = 16 << 20 };

// ---- The list of spellings ----------------------------------------------------------------------

static gr_status no_spelling(const gr_conf *c, const char *why) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is no list of spellings: %s", c->text, why),
                 "an object of JSON, of words and what takes their place: {\"colour\": \"color\"}");
}

static gr_status read_spelling(gr_arena *a, gr_conf *root, const gr_spelling **out) {
  const gr_conf *c = gr_conf_find(root, SPELLING);
  const gr_json *all;
  gr_json_error why;
  char *text;
  size_t n;
  if (c->kind != GR_CONF_TEXT) return GR_OK;
  GR_TRY(gr_file_read(a, c->text, SPELLING_BYTES, &text, &n));
  if (!gr_json_read(a, text, n, &all, &why))
    return gr_fail(GR_ERR_CONFIG, (gr_loc){c->text, why.line, why.col}, "%s, found %s", why.why,
                   why.found);
  if (all->kind != GR_JSON_OBJECT) return no_spelling(c, "it is no object");
  gr_spelling *s = GR_NEW(a, gr_spelling, 1);
  *s = (gr_spelling){gr_map_make(a), GR_NEW(a, const char *, all->n + 1)};
  for (const gr_json *v = all->first; v; v = v->next) {
    if (v->kind != GR_JSON_TEXT)
      return no_spelling(c, gr_arena_printf(a, "what takes the place of '%s' is no text", v->name));
    s->instead[s->words.n] = v->text;
    gr_map_put(&s->words, v->name, s->words.n);
  }
  *out = s;
  return GR_OK;
}

// ---- A metric -----------------------------------------------------------------------------------

#define GR_TEXT_METRIC(name, doc) ", " #name
static const char METRICS[] =
#include "runtime/text/metrics.def"
    ;
#define GR_NORMALISER(name, doc) ", " #name
static const char NORMALISERS[] =
#include "runtime/text/normalisers.def"
    ;

static gr_status none_called(const gr_conf *c, const char *what, const char *name,
                             const char *known) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: there is no %s '%s'", KEY, what, name),
                 "there are %s", known + strlen(", "));
}

// A name, or how it is made. Other keys are not looked up, which is an error of its own.
static gr_status read_metric(gr_conf *c, gr_text_metric_spec *s) {
  const char *metric = s->name, *normaliser = "none";
  gr_normaliser_options *o = &s->options;
  if (c->kind == GR_CONF_TEXT) {
    gr_conf_mark(c);
    metric = c->text;
  } else if (c->kind == GR_CONF_MAP) {
    c->read = true;  // {} has no keys that are
    GR_TRY(gr_conf_text(c, "metric", metric, &metric));
    GR_TRY(gr_conf_text(c, "normalise", normaliser, &normaliser));
    GR_TRY(gr_conf_bool(c, "remove_diacritics", false, &o->remove_diacritics));
    GR_TRY(gr_conf_bool(c, "split_letters", false, &o->split_letters));
  } else {
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: '%s' must be a map or a name, found a %s",
                           KEY, s->name, gr_conf_kind_name(c->kind)),
                   EXAMPLE);
  }
  s->metric = gr_text_metric_find(metric), s->normaliser = gr_normaliser_find(normaliser);
  if (!s->metric) return none_called(c, "metric of texts", metric, METRICS);
  if (!s->normaliser) return none_called(c, "normaliser", normaliser, NORMALISERS);
  if ((!o->remove_diacritics && !o->split_letters) || !strcmp(normaliser, "basic")) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, c->loc,
                 "%s: remove_diacritics and split_letters are of normalise: basic, found %s", KEY,
                 normaliser);
}

static gr_status check_name(const gr_conf *c, const char *name) {
  if (strspn(name, NAME_CHARACTERS) == strlen(name) && strcmp(name, "loss")) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->key_loc, "%s: '%s' is no name of a metric", KEY, name),
                 "letters, digits and _, and not loss");
}

gr_status gr_text_metrics_read(gr_arena *a, gr_conf *root, gr_loop_settings *s) {
  const gr_conf *map = gr_conf_find(root, KEY);
  const gr_spelling *spelling = NULL;
  GR_TRY(read_spelling(a, root, &spelling));
  if (map->kind == GR_CONF_NULL) return GR_OK;
  if (map->kind != GR_CONF_MAP || map->n > MAX_METRICS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "%s must be a map of at most %d metrics", KEY,
                           MAX_METRICS),
                   EXAMPLE);
  s->text_metrics = GR_NEW(a, gr_text_metric_spec, map->n + 1);
  for (int i = 0; i < map->n; i++) {
    gr_text_metric_spec *m = &s->text_metrics[s->n_text_metrics++];
    *m = (gr_text_metric_spec){.name = map->keys[i], .options = {.spelling = spelling}};
    GR_TRY(check_name(map->items[i], m->name));
    GR_TRY(read_metric(map->items[i], m));
  }
  return GR_OK;
}
