// complete.c - shell completion of overrides. See gr_show_completion.
#include <string.h>
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "compose/tree/lexis.h"

typedef struct completion {
  gr_arena *arena;
  gr_text *out;
  const char *prefix;  // repeated before every candidate: "+", "++", "~", "--explain=" or ""
  const char *word;    // what the user has typed after it
  bool delete;         // after "~" a key alone is a complete word
  gr_map seen;
} completion;

static void offer(completion *c, const char *text) {
  if (strncmp(text, c->word, strlen(c->word))) return;
  const char *line = gr_arena_printf(c->arena, "%s%s", c->prefix, text);
  if (gr_map_find(&c->seen, line, NULL)) return;
  gr_map_put(&c->seen, line, 1);
  gr_text_printf(c->out, "%s\n", line);
}

static void offer_key(completion *c, const char *key) {
  offer(c, c->delete ? key : gr_arena_printf(c->arena, "%s=", key));
}

// ---- Composing what there is -----------------------------------------------------

static gr_composed try_compose(gr_composer *k, gr_arena *a, const gr_compose_request *q) {
  gr_composed composed = {0};
  gr_status s = gr_composer_open(k, a, q);
  if (!s) s = gr_composer_list(k, true);
  if (!s) s = gr_composer_merge(k, &composed);
  if (s) composed = (gr_composed){0};
  gr_status_drop(s);
  return composed;
}

// If the arguments have errors or are incomplete, composes without them.
static gr_composed compose(gr_composer *k, gr_arena *a, const gr_compose_request *q) {
  gr_composed composed = try_compose(k, a, q);
  if (composed.job || !q->n_overrides) return composed;
  gr_compose_request bare = *q;
  bare.n_overrides = 0;
  return try_compose(k, a, &bare);
}

// ---- Groups ----------------------------------------------------------------------

static bool shown(const completion *c, const char *group) {
  return strncmp(group, "hydra", 5) || !strncmp(c->word, "hydra", 5);
}

// Offers all groups, and the entries of the defaults list with another package: "db@backup".
static void offer_groups(completion *c, const gr_composer *k) {
  const char **groups;
  int n = gr_sources_groups(&k->sources, &groups);
  for (int i = 0; i < n; i++)
    if (shown(c, groups[i])) offer_key(c, groups[i]);
  for (int i = 0; i < k->defaults.known.n; i++)
    if (shown(c, k->defaults.known.items[i].key)) offer_key(c, k->defaults.known.items[i].key);
}

// ---- Keys ------------------------------------------------------------------------

// Offers keys one level below what is typed: "training." leads to "training.lr=".
static void offer_keys(completion *c, const gr_conf *map, const char *before) {
  for (int i = 0; map && map->kind == GR_CONF_MAP && i < map->n; i++) {
    const char *path = gr_arena_printf(c->arena, "%s%s", before, map->keys[i]);
    const char *inner = gr_arena_printf(c->arena, "%s.", path);
    bool section = map->items[i]->kind == GR_CONF_MAP && map->items[i]->n;
    if (section && !strncmp(c->word, inner, strlen(inner)))
      offer_keys(c, map->items[i], inner);
    else if (section)
      offer(c, inner);
    if (!section || c->delete) offer_key(c, path);
  }
}

static void offer_schema(completion *c) {
  size_t typed = strlen(c->word);
  for (int i = 0; i < gr_schema_count; i++) {
    const char *path = gr_schema_keys[i].path;
    if (strncmp(path, c->word, typed)) continue;
    const char *dot = strchr(path + typed, '.');
    if (dot)
      offer(c, gr_arena_printf(c->arena, "%.*s", (int)(dot - path) + 1, path));
    else
      offer_key(c, path);
  }
}

// ---- Values ----------------------------------------------------------------------

static void offer_options(completion *c, const gr_sources *s, const char *group,
                          const char *before) {
  const char **options;
  int n = gr_sources_options(s, group, false, &options);
  for (int i = 0; i < n; i++) offer(c, gr_arena_printf(c->arena, "%s%s", before, options[i]));
}

static void offer_words(completion *c, const char *key, const char *before) {
  enum { MOST = 32 };
  const char *words[MOST];
  const gr_schema_key *k = gr_schema_find(key);
  int n = k ? gr_schema_choices(c->arena, k, words, MOST) : 0;
  for (int i = 0; i < n; i++) offer(c, gr_arena_printf(c->arena, "%s%s", before, words[i]));
}

// Whether a string needs quotes because YAML would read it as another type ("1", "true").
static bool reads_otherwise(gr_arena *a, const char *text) {
  gr_conf word = {0};
  gr_status s = gr_lexis_type(a, &word, text);
  gr_status_drop(s);
  return s || word.kind != GR_CONF_TEXT;
}

// Offers the current value of the key, or its default.
static void offer_current(completion *c, gr_conf *root, const char *key, const char *before) {
  gr_conf *now = root ? gr_conf_find(root, key) : NULL;
  const gr_schema_key *k = gr_schema_find(key);
  gr_text t = gr_text_make(c->arena);
  gr_status s = !now && k ? gr_schema_default(c->arena, k, &now) : GR_OK;
  gr_status_drop(s);
  if (s || !now || now->kind == GR_CONF_MAP || now->kind == GR_CONF_MISSING) return;
  gr_conf word = *now;
  if (now->kind == GR_CONF_TEXT && reads_otherwise(c->arena, now->text)) word.quote = '\'';
  gr_value_write(&t, &word);
  offer(c, gr_arena_printf(c->arena, "%s%s", before, t.chars));
}

// Completes the last value of "db@backup=my" or "training.optimizer=sgd,ad".
static void offer_values(completion *c, const gr_composer *k, const gr_composed *made,
                         const char *equals) {
  const char *key = gr_arena_strndup(c->arena, c->word, (size_t)(equals - c->word));
  const char *group = gr_arena_strndup(c->arena, key, strcspn(key, "@")), *last = equals + 1;
  bool of_hydra = !strncmp(key, "hydra.", 6);
  for (const char *s = last; *s; s++)
    if (*s == ',' || *s == '[' || *s == '(') last = s + 1;
  const char *before = gr_arena_strndup(c->arena, c->word, (size_t)(last - c->word));
  if (*group && gr_sources_group(&k->sources, group)) {
    offer_options(c, &k->sources, group, before);
    return;
  }
  offer_words(c, key, before);
  if (last == equals + 1)
    offer_current(c, of_hydra ? made->hydra : made->job, key + (of_hydra ? 6 : 0), before);
}

// ---- Words -----------------------------------------------------------------------

static completion start(gr_text *out, gr_arena *a, const char *prefix, const char *word) {
  return (completion){
      .arena = a, .out = out, .prefix = prefix, .word = word, .seen = gr_map_make(a)};
}

void gr_show_completion(gr_text *out, gr_arena *a, const gr_compose_request *q, const char *word) {
  gr_composer k;
  gr_composed made = compose(&k, a, q);
  size_t n = strspn(word, "+~");
  completion c = start(out, a, gr_arena_strndup(a, word, n), word + n);
  c.delete = !strcmp(c.prefix, "~");
  const char *equals = strchr(c.word, '=');
  if (equals) {
    offer_values(&c, &k, &made, equals);
    return;
  }
  offer_groups(&c, &k);
  offer_keys(&c, made.job, "");
  if (!strncmp(c.word, "hydra.", 6)) offer_keys(&c, made.hydra, "hydra.");
  if (!c.delete) offer_schema(&c);
}

void gr_show_keys(gr_text *out, gr_arena *a, const gr_compose_request *q, const char *before,
                  const char *word) {
  gr_composer k;
  gr_composed made = {0};
  completion c = start(out, a, before, word + strlen(before));
  c.delete = true;
  if (q->path) made = compose(&k, a, q);
  offer_keys(&c, made.job, "");
  offer_schema(&c);
}
