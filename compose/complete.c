// complete.c - what may come next on a command line. See gr_show_completion.
#include <string.h>
#include "compose/schema.h"
#include "compose/show.h"

typedef struct completion {
  gr_arena *arena;
  gr_text *out;
  const char *prefix;  // '+', '++', '~' or ""
  const char *word;    // what follows it
  gr_map seen;
} completion;

static void offer(completion *c, const char *text) {
  if (strncmp(text, c->word, strlen(c->word))) return;
  const char *line = gr_arena_printf(c->arena, "%s%s", c->prefix, text);
  if (gr_map_find(&c->seen, line, NULL)) return;
  gr_map_put(&c->seen, line, 1);
  gr_text_printf(c->out, "%s\n", line);
}

static void offer_groups(completion *c, const gr_sources *s) {
  const char **groups;
  int n = gr_sources_groups(s, &groups);
  for (int i = 0; i < n; i++) {
    bool own = strncmp(groups[i], "hydra", 5) || !strncmp(c->word, "hydra", 5);
    if (own) offer(c, gr_arena_printf(c->arena, "%s=", groups[i]));
  }
}

static void offer_options(completion *c, const gr_sources *s, const char *group) {
  const char **options;
  int n = gr_sources_options(s, group, false, &options);
  for (int i = 0; i < n; i++) offer(c, gr_arena_printf(c->arena, "%s=%s", group, options[i]));
}

// Keys one level beyond what is typed: "training." leads to "training.lr=".
static void offer_keys(completion *c, const gr_conf *map, const char *before) {
  for (int i = 0; map->kind == GR_CONF_MAP && i < map->n; i++) {
    const char *path = gr_arena_printf(c->arena, "%s%s", before, map->keys[i]);
    bool inner = map->items[i]->kind == GR_CONF_MAP && map->items[i]->n;
    const char *end = inner ? "." : !strcmp(c->prefix, "~") ? "" : "=";
    size_t n = strlen(path);
    if (inner && !strncmp(c->word, path, n) && c->word[n] == '.')
      offer_keys(c, map->items[i], gr_arena_printf(c->arena, "%s.", path));
    else
      offer(c, gr_arena_printf(c->arena, "%s%s", path, end));
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
      offer(c, gr_arena_printf(c->arena, "%s=", path));
  }
}

static void offer_values(completion *c, const char *key, gr_conf *job) {
  enum { MOST = 32 };
  const char *words[MOST];
  const gr_schema_key *k = gr_schema_find(key);
  int n = k ? gr_schema_choices(c->arena, k, words, MOST) : 0;
  for (int i = 0; i < n; i++) offer(c, gr_arena_printf(c->arena, "%s=%s", key, words[i]));
  const gr_conf *now = job ? gr_conf_find(job, key) : NULL;
  gr_text t = gr_text_make(c->arena);
  if (!now || now->kind == GR_CONF_MAP) return;
  gr_value_write(&t, now);
  offer(c, gr_arena_printf(c->arena, "%s=%s", key, t.at));
}

static gr_conf *try_compose(gr_composer *k, gr_arena *a, const gr_compose_request *q) {
  gr_composed composed = {0};
  gr_status s = gr_composer_open(k, a, q);
  if (!s) s = gr_composer_list(k, true);
  if (!s) s = gr_composer_merge(k, &composed);
  gr_status_drop(s);
  return s ? NULL : composed.job;
}

void gr_show_completion(gr_text *out, gr_arena *a, const gr_compose_request *q, const char *word) {
  gr_composer k;
  gr_conf *job = try_compose(&k, a, q);
  size_t n = strspn(word, "+~");
  completion c = {.arena = a,
                  .out = out,
                  .prefix = gr_arena_strndup(a, word, n),
                  .word = word + n,
                  .seen = gr_map_make(a)};
  const char *equals = strchr(c.word, '=');
  const char *key = equals ? gr_arena_strndup(a, c.word, (size_t)(equals - c.word)) : NULL;
  if (key && gr_sources_group(&k.sources, key)) {
    offer_options(&c, &k.sources, key);
  } else if (key) {
    offer_values(&c, key, job);
  } else {
    offer_groups(&c, &k.sources);
    if (job) offer_keys(&c, job, "");
    offer_schema(&c);
  }
}
