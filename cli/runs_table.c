// runs_table.c - see runs_table.h.
#include "cli/runs_table.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "job/effects.h"
#include "runtime/page/folder.h"
#include "runtime/report/series.h"

enum { MAX_DEPTH = 6 };

// ---- Reading a run --------------------------------------------------------------------------

static gr_status add_run(gr_runs_table *t, const char *path) {
  GR_GROW(t->arena, t->runs, t->n, t->room);
  gr_ranked_run *r = &t->runs[t->n++];
  *r = (gr_ranked_run){.path = path, .best = NAN, .last = NAN, .speed = NAN};
  r->status = gr_folder_status(t->arena, path, &r->ranks);
  return gr_conf_read(t->arena, gr_arena_printf(t->arena, "%s/.hydra/config.yaml", path), &r->conf);
}

// Runs in a folder and the folders below it, in the order of their names.
static gr_status find_runs(gr_runs_table *t, const char *dir, int depth) {
  struct dirent **found;
  gr_status s = GR_OK;
  if (gr_is_file(gr_arena_printf(t->arena, "%s/.hydra/config.yaml", dir))) return add_run(t, dir);
  int n = depth < MAX_DEPTH ? scandir(dir, &found, NULL, alphasort) : -1;
  for (int i = 0; i < n; i++) {
    const char *name = found[i]->d_name;
    bool wanted = !s && *name != '.' && strcmp(name, "checkpoints") && found[i]->d_type != DT_LNK;
    const char *path = wanted ? gr_arena_printf(t->arena, "%s/%s", dir, name) : NULL;
    if (path && gr_is_dir(path)) s = find_runs(t, path, depth + 1);
    free(found[i]);
  }
  if (n >= 0) free(found);
  return s;
}

// ---- The metric -----------------------------------------------------------------------------

// By --by=METRIC[:min|max], else by what the first run keeps its best checkpoints.
static gr_status choose_metric(gr_runs_table *t, const char *by) {
  gr_conf *conf = t->runs[0].conf;
  const char *monitored = gr_conf_text_of(gr_conf_find(conf, "checkpoint.metric"), "loss");
  const char *colon = by ? strrchr(by, ':') : NULL;
  t->metric = !by ? monitored : colon ? gr_arena_strndup(t->arena, by, (size_t)(colon - by)) : by;
  if (!strncmp(t->metric, "validation.", 11)) t->metric += 11;
  if (colon && strcmp(colon, ":min") && strcmp(colon, ":max"))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "--by is METRIC, METRIC:min or METRIC:max, but is '%s'", by);
  t->max = gr_effects_rises(t->metric);
  if (!strcmp(t->metric, monitored))
    t->max = !strcmp(gr_conf_text_of(gr_conf_find(conf, "checkpoint.mode"), "min"), "max");
  if (colon) t->max = !strcmp(colon, ":max");
  return GR_OK;
}

static void measure(const gr_runs_table *t, gr_ranked_run *r, const gr_series_list *all) {
  const gr_series *s = gr_series_find(all, gr_arena_printf(t->arena, "validation.%s", t->metric));
  const gr_series *loss = gr_series_find(all, "loss");
  if (!s) s = gr_series_find(all, t->metric);
  const gr_series *rate = gr_series_find(all, "samples_per_s");
  if (loss && loss->n) r->steps = (int64_t)loss->x[loss->n - 1];
  if (rate) r->speed = gr_series_steady(t->arena, rate);
  for (int i = 0; s && i < s->n; i++) {
    if (!isfinite(s->y[i])) continue;
    r->last = s->y[i];
    if (!isnan(r->best) && !(t->max ? s->y[i] > r->best : s->y[i] < r->best)) continue;
    r->best = s->y[i], r->best_step = (int64_t)s->x[i];
  }
}

// A run without any value yet is listed without a metric.
static gr_status measure_all(gr_runs_table *t) {
  gr_text list = gr_text_make(t->arena);
  bool any = false;
  for (int i = 0; i < t->n; i++) {
    gr_series_list all;
    gr_status s = gr_series_read(t->arena, t->runs[i].path, &all);
    if (s && gr_status_loc(s).file) return s;
    gr_status_drop(s);
    bool first = !list.len;
    measure(t, &t->runs[i], &all);
    any |= !isnan(t->runs[i].best);
    for (int k = 0; first && k < all.n; k++)
      if (!strncmp(all.items[k].key, "validation.", 11))
        gr_text_printf(&list, " %s", all.items[k].key + 11);
  }
  if (any || !list.len) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run has measured '%s'", t->metric),
                 "--by is one of:%s", list.chars);
}

static bool comes_first(const gr_runs_table *t, const gr_ranked_run *a, const gr_ranked_run *b) {
  if (isnan(a->best) || isnan(b->best)) return !isnan(a->best) && isnan(b->best);
  return t->max ? a->best > b->best : a->best < b->best;
}

// Equal runs stay in the order of their paths.
static void rank(gr_runs_table *t) {
  for (int i = 1; i < t->n; i++) {
    gr_ranked_run moved = t->runs[i];
    int slot = i;
    for (; slot && comes_first(t, &moved, &t->runs[slot - 1]); slot--)
      t->runs[slot] = t->runs[slot - 1];
    t->runs[slot] = moved;
  }
}

// ---- What differs ---------------------------------------------------------------------------

static const char *value_at(gr_arena *a, gr_conf *conf, const char *path) {
  const gr_conf *c = gr_conf_find(conf, path);
  gr_text t = gr_text_make(a);
  if (!c || c->kind == GR_CONF_MAP) return "-";
  if (c->kind == GR_CONF_TEXT) return c->text;
  gr_conf_json(&t, c, 0);
  return t.chars;
}

static void collect(gr_runs_table *t, gr_map *seen, const gr_conf *c) {
  uint32_t index;
  for (int i = 0; c->kind == GR_CONF_MAP && i < c->n; i++) {
    if (c->items[i]->kind == GR_CONF_MAP) {
      collect(t, seen, c->items[i]);
      continue;
    }
    const char *path = gr_conf_path(t->arena, c->items[i]);
    if (!gr_map_find(seen, path, &index)) gr_map_put(seen, path, seen->n);
  }
}

// Keys that differ between runs that do the same: where files are, and when a sweep ends a trial.
static bool is_of_one_run(const char *key) {
  static const char stop[] = "training.stop_unless.";
  return !strcmp(key, "output.dir") || !strcmp(key, "checkpoint.resume") ||
         !strncmp(key, stop, sizeof stop - 2);
}

static void find_differences(gr_runs_table *t) {
  gr_map seen = gr_map_make(t->arena);
  for (int i = 0; i < t->n; i++) collect(t, &seen, t->runs[i].conf);
  t->keys = GR_NEW(t->arena, const char *, seen.n + 1);
  for (int i = 0; i < t->n; i++) t->runs[i].values = GR_NEW(t->arena, const char *, seen.n + 1);
  for (uint32_t k = 0; k < seen.n; k++) {
    const char *key = seen.keys[k];
    bool differs = false;
    for (int i = 0; i < t->n; i++) {
      t->runs[i].values[t->n_keys] = value_at(t->arena, t->runs[i].conf, key);
      differs |= strcmp(t->runs[i].values[t->n_keys], t->runs[0].values[t->n_keys]) != 0;
    }
    if (differs && !is_of_one_run(key)) t->keys[t->n_keys++] = key;
  }
}

gr_status gr_runs_find(gr_runs_table *t, const char *dir) { return find_runs(t, dir, 0); }

gr_status gr_runs_rank(gr_runs_table *t, const char *by) {
  GR_TRY(choose_metric(t, by));
  GR_TRY(measure_all(t));
  rank(t);
  find_differences(t);
  return GR_OK;
}

// ---- The page -------------------------------------------------------------------------------

gr_page_runs gr_runs_of_page(const gr_runs_table *t, const char *dir) {
  gr_page_run *runs = GR_NEW(t->arena, gr_page_run, t->n + 1);
  for (int i = 0; i < t->n; i++) {
    const gr_ranked_run *r = &t->runs[i];
    runs[i] = (gr_page_run){.dir = r->path,
                            .label = gr_runs_label(t, i),
                            .status = r->status,
                            .best = r->best,
                            .last = r->last,
                            .best_step = r->best_step,
                            .ranks = r->ranks,
                            .speed = r->speed,
                            .values = r->values};
  }
  return (gr_page_runs){.dir = dir,
                        .metric = t->metric,
                        .max = t->max,
                        .keys = t->keys,
                        .n_keys = t->n_keys,
                        .runs = runs,
                        .n = t->n};
}
