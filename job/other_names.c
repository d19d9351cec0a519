// other_names.c - reads logging.tags and logging.results. See other_names.h.
#include <string.h>
#include "job/parts.h"

// What the names of members that every training_results.json has begin with or are.
static const char *const members[] = {"model",
                                      "ended",
                                      "exit_code",
                                      "backend",
                                      "device",
                                      "gpu_count",
                                      "ranks",
                                      "parameters",
                                      "epochs",
                                      "trainable_parameters",
                                      "steps",
                                      "final_loss",
                                      "best_metric",
                                      "best_value",
                                      "best_epoch",
                                      "best_step",
                                      "metrics.",
                                      "tables.",
                                      "history.",
                                      "best_checkpoint",
                                      "total_seconds",
                                      "started",
                                      "finished",
                                      "config",
                                      "total_minutes",
                                      "total_data_seconds",
                                      "config_hash",
                                      "identity",
                                      "resumed_from",
                                      "config.",
                                      "total_step_seconds"};
static const char *const tags[] = {"train/", "epoch/", "eval/"};

typedef struct kind {
  const char *key, *what, *hint;
  const char *const *known;
  int n;
} kind;
static const kind of_tags = {
    "logging.tags", "tag",
    "as in {Loss/train: epoch/train.loss, Loss/val: eval/validation.loss}; tags begin with train/, "
    "epoch/ or eval/",
    tags, sizeof tags / sizeof *tags};
static const kind of_results = {
    "logging.results", "value of training_results.json",
    "as in {best_val_acc: best_value, test_acc: metrics.validation.accuracy, val_loss: "
    "history.validation.loss}",
    members, sizeof members / sizeof *members};

static bool is_known(const kind *k, const char *of) {
  for (int i = 0; i < k->n; i++) {
    size_t n = strlen(k->known[i]);
    bool begins = k->known[i][n - 1] == '.' || k->known[i][n - 1] == '/';
    if (begins ? !strncmp(of, k->known[i], n) && of[n] : !strcmp(of, k->known[i])) return true;
  }
  return false;
}

static bool is_member(const char *name) {
  return is_known(&of_results, name) || !strcmp(name, "metrics") || !strcmp(name, "tables") ||
         !strcmp(name, "history");
}

static gr_status read_one(const kind *k, const gr_conf *map, int i, gr_other_name *out) {
  const gr_conf *c = map->items[i];
  if (c->kind != GR_CONF_TEXT || !is_known(k, c->text))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s: '%s' is no %s", k->key,
                           c->kind == GR_CONF_TEXT ? c->text : map->keys[i], k->what),
                   "%s", k->hint);
  if (k == &of_results && is_member(map->keys[i]))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->key_loc,
                           "%s: training_results.json has a '%s' already", k->key, map->keys[i]),
                   "choose another name");
  *out = (gr_other_name){map->keys[i], c->text};
  return GR_OK;
}

static gr_status read(gr_arena *a, gr_conf *root, const kind *k, gr_other_names *out) {
  gr_conf *map = gr_conf_find(root, k->key);
  *out = (gr_other_names){0};
  if (!map || map->kind == GR_CONF_NULL) return GR_OK;
  gr_conf_mark(map);
  if (map->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "%s must be a mapping of names, but is %s",
                           k->key, gr_conf_a_kind(map->kind)),
                   "%s", k->hint);
  gr_other_name *items = GR_NEW(a, gr_other_name, map->n + 1);
  gr_status all = GR_OK;
  for (int i = 0; i < map->n; i++) all = gr_also(all, read_one(k, map, i, &items[i]));
  *out = (gr_other_names){items, map->n};
  return all;
}

gr_status gr_other_names_read(gr_arena *a, gr_conf *root, gr_outputs_settings *s) {
  gr_status bad = read(a, root, &of_tags, &s->tags);
  return gr_also(bad, read(a, root, &of_results, &s->result_names));
}
