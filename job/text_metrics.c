// text_metrics.c - reads training.text_metrics and training.spelling.
#include <ctype.h>
#include <string.h>
#include "base/json.h"
#include "job/parts.h"

static const char KEY[] = "training.text_metrics", SPELLING[] = "training.spelling";
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

#define LIST_OF(items, list)      \
  gr_text list = gr_text_make(a); \
  for (int i = 0; items[i]; i++) gr_text_printf(&list, "%s%s", i ? ", " : "", items[i]->name)

static gr_status find_metric(gr_arena *a, const gr_conf *c, const char *name,
                             const gr_text_metric **out) {
  LIST_OF(gr_text_metrics, list);
  *out = gr_text_metric_find(name);
  if (*out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: there is no metric of texts '%s'", KEY, name),
                 "there are %s", list.chars);
}

static gr_status find_normaliser(gr_arena *a, const gr_conf *c, const char *name,
                                 const gr_normaliser **out) {
  LIST_OF(gr_normalisers, list);
  *out = gr_normaliser_find(name);
  if (*out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: there is no normaliser '%s'", KEY, name),
                 "there are %s", list.chars);
}

static gr_status check_keys(const gr_conf *c) {
  static const char *const known[] = {"metric", "normalise", "remove_diacritics", "split_letters"};
  for (int i = 0; i < c->n; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
      found |= !strcmp(c->keys[i], known[k]);
    if (!found)
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, c->items[i]->key_loc, "%s: unknown key '%s'", KEY, c->keys[i]),
          "metric, normalise, remove_diacritics and split_letters are known");
  }
  return GR_OK;
}

static gr_status read_map(gr_arena *a, gr_conf *c, gr_text_metric_spec *s) {
  const char *metric, *normaliser;
  gr_normaliser_options *o = &s->options;
  GR_TRY(check_keys(c));
  GR_TRY(gr_conf_text(c, "metric", s->name, &metric));
  GR_TRY(gr_conf_text(c, "normalise", "none", &normaliser));
  GR_TRY(gr_conf_bool(c, "remove_diacritics", false, &o->remove_diacritics));
  GR_TRY(gr_conf_bool(c, "split_letters", false, &o->split_letters));
  GR_TRY(find_metric(a, c, metric, &s->metric));
  GR_TRY(find_normaliser(a, c, normaliser, &s->normaliser));
  if ((!o->remove_diacritics && !o->split_letters) || !strcmp(normaliser, "basic")) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, c->loc,
                 "%s: remove_diacritics and split_letters are of normalise: basic, found %s", KEY,
                 normaliser);
}

static bool is_name(const char *s) {
  while (isalnum((unsigned char)*s) || *s == '_') s++;
  return !*s;
}

// NAME: METRIC, or NAME with how it is made.
static gr_status read_metric(gr_arena *a, const char *name, gr_conf *c, gr_text_metric_spec *s) {
  s->name = name, s->normaliser = gr_normaliser_find("none");
  if (!is_name(name) || !strcmp(name, "loss"))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->key_loc, "%s: '%s' is no name of a metric", KEY, name),
                   "letters, digits and _, and not loss");
  if (c->kind == GR_CONF_MAP) return read_map(a, c, s);
  if (c->kind == GR_CONF_TEXT) return find_metric(a, c, c->text, &s->metric);
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: '%s' must be a map or a name, found a %s", KEY,
                         name, gr_conf_kind_name(c->kind)),
                 "as in {wer: {normalise: english}, bleu: bleu}");
}

gr_status gr_text_metrics_read(gr_arena *a, gr_conf *root, gr_loop_settings *s) {
  gr_conf *map = gr_conf_find(root, KEY);
  const gr_spelling *spelling = NULL;
  gr_conf_mark(map);
  GR_TRY(read_spelling(a, root, &spelling));
  if (map->kind == GR_CONF_NULL) return GR_OK;
  if (map->kind != GR_CONF_MAP || map->n > MAX_METRICS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "%s must be a map of at most %d metrics", KEY,
                           MAX_METRICS),
                   "as in {wer: {normalise: english}, bleu: bleu}");
  s->text_metrics = GR_NEW(a, gr_text_metric_spec, map->n + 1);
  for (int i = 0; i < map->n; i++) {
    gr_text_metric_spec *m = &s->text_metrics[s->n_text_metrics++];
    GR_TRY(read_metric(a, map->keys[i], map->items[i], m));
    m->options.spelling = spelling;
  }
  return GR_OK;
}
