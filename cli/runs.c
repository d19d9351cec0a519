// runs.c - `graphrun runs DIR ...`: the runs in folders, ranked by a metric, with what differs in
// their configurations.
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/job/args.h"
#include "compose/tree/conf.h"
#include "runtime/page/folder.h"
#include "runtime/report/series.h"

enum { MAX_DEPTH = 6, VALUE_COLUMNS = 24, MAX_SHOWN = 8 };

typedef struct run {
  const char *path, *status;
  gr_conf *conf;
  int64_t steps, best_step;
  double best, last;    // of the metric; NaN: it has not been evaluated
  const char **values;  // by key that differs
} run;

typedef struct table {
  gr_arena *arena;
  run *runs;
  int n, room;
  const char *metric;  // without "validation."
  bool max;
  const char **keys;  // that differ
  int n_keys;
} table;

// ---- Reading a run --------------------------------------------------------------------------

static gr_status add_run(table *t, const char *path) {
  if (t->n == t->room) {
    run *more = GR_NEW(t->arena, run, 32 + 2 * t->room);
    if (t->n) memcpy(more, t->runs, sizeof *more * (size_t)t->n);
    t->runs = more, t->room = 32 + 2 * t->room;
  }
  run *r = &t->runs[t->n++];
  *r = (run){.path = path, .status = gr_folder_status(t->arena, path), .best = NAN, .last = NAN};
  return gr_conf_read(t->arena, gr_arena_printf(t->arena, "%s/.hydra/config.yaml", path), &r->conf);
}

// Runs in a folder and the folders below it, in the order of their names.
static gr_status find_runs(table *t, const char *dir, int depth) {
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

static const char *text_at(gr_conf *conf, const char *path, const char *missing) {
  const gr_conf *c = gr_conf_find(conf, path);
  return c && c->kind == GR_CONF_TEXT ? c->text : missing;
}

// By --by=METRIC[:min|max], else by what the first run keeps its best checkpoints.
static gr_status choose_metric(table *t, const char *by) {
  static const char *const rising[] = {"accuracy", "f1",  "auc",    "precision", "recall",
                                       "return",   "win", "sharpe", "reward"};
  gr_conf *conf = t->runs[0].conf;
  const char *own = text_at(conf, "checkpoint.metric", "loss");
  const char *colon = by ? strrchr(by, ':') : NULL;
  t->metric = !by ? own : colon ? gr_arena_strndup(t->arena, by, (size_t)(colon - by)) : by;
  if (!strncmp(t->metric, "validation.", 11)) t->metric += 11;
  if (colon && strcmp(colon, ":min") && strcmp(colon, ":max"))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "--by is METRIC, METRIC:min or METRIC:max, but is '%s'", by);
  for (size_t i = 0; i < sizeof rising / sizeof *rising; i++)
    t->max |= strstr(t->metric, rising[i]) != NULL;
  if (!strcmp(t->metric, own)) t->max = !strcmp(text_at(conf, "checkpoint.mode", "min"), "max");
  if (colon) t->max = !strcmp(colon, ":max");
  return GR_OK;
}

static void measure(const table *t, run *r, const gr_series_list *all) {
  const gr_series *s = gr_series_find(all, gr_arena_printf(t->arena, "validation.%s", t->metric));
  const gr_series *loss = gr_series_find(all, "loss");
  if (!s) s = gr_series_find(all, t->metric);
  if (loss && loss->n) r->steps = (int64_t)loss->x[loss->n - 1];
  for (int i = 0; s && i < s->n; i++) {
    if (!isfinite(s->y[i])) continue;
    r->last = s->y[i];
    if (!isnan(r->best) && !(t->max ? s->y[i] > r->best : s->y[i] < r->best)) continue;
    r->best = s->y[i], r->best_step = (int64_t)s->x[i];
  }
}

// A run without any value yet is listed without a metric.
static gr_status measure_all(table *t) {
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
      if (!strncmp(all.at[k].key, "validation.", 11))
        gr_text_printf(&list, " %s", all.at[k].key + 11);
  }
  if (any || !list.len) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run has measured '%s'", t->metric),
                 "--by is one of:%s", list.at);
}

static bool comes_first(const table *t, const run *a, const run *b) {
  if (isnan(a->best) || isnan(b->best)) return !isnan(a->best) && isnan(b->best);
  return t->max ? a->best > b->best : a->best < b->best;
}

// Equal runs stay in the order of their paths.
static void rank(table *t) {
  for (int i = 1; i < t->n; i++) {
    run moved = t->runs[i];
    int at = i;
    for (; at && comes_first(t, &moved, &t->runs[at - 1]); at--) t->runs[at] = t->runs[at - 1];
    t->runs[at] = moved;
  }
}

// ---- What differs ---------------------------------------------------------------------------

static const char *value_at(gr_arena *a, gr_conf *conf, const char *path) {
  const gr_conf *c = gr_conf_find(conf, path);
  gr_text t = gr_text_make(a);
  if (!c || c->kind == GR_CONF_MAP) return "-";
  if (c->kind == GR_CONF_TEXT) return c->text;
  gr_conf_json(&t, c, 0);
  return t.at;
}

static void collect(table *t, gr_map *seen, const gr_conf *c) {
  uint32_t at;
  for (int i = 0; c->kind == GR_CONF_MAP && i < c->n; i++) {
    if (c->items[i]->kind == GR_CONF_MAP) {
      collect(t, seen, c->items[i]);
      continue;
    }
    const char *path = gr_conf_path(t->arena, c->items[i]);
    if (!gr_map_find(seen, path, &at)) gr_map_put(seen, path, seen->n);
  }
}

// Keys that say where a run's files are differ always.
static void find_differences(table *t) {
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
    if (differs && strcmp(key, "output.dir") && strcmp(key, "checkpoint.resume"))
      t->keys[t->n_keys++] = key;
  }
}

// ---- Printing -------------------------------------------------------------------------------

static const char *number(gr_arena *a, double v) {
  return isnan(v) ? "-" : gr_arena_printf(a, "%.6g", v);
}

// The end of a key that no other key has: "lr" of "training.lr".
static const char *short_key(const table *t, int key) {
  const char *whole = t->keys[key], *at = whole + strlen(whole);
  for (;;) {
    while (at > whole && at[-1] != '.') at--;
    int same = 0;
    for (int k = 0; k < t->n_keys; k++) {
      size_t n = strlen(t->keys[k]), len = strlen(at);
      bool ends = n >= len && !strcmp(t->keys[k] + n - len, at);
      same += ends && (n == len || t->keys[k][n - len - 1] == '.');
    }
    if (same == 1 || at == whole) return at;
    at--;
  }
}

static const char *shortened(gr_arena *a, const char *text) {
  size_t n = strlen(text);
  return n <= VALUE_COLUMNS ? text : gr_arena_printf(a, "%.*s...", VALUE_COLUMNS - 3, text);
}

// Cell `column` of a run, or of the head (NULL).
static const char *cell(const table *t, const run *r, int column) {
  gr_arena *a = t->arena;
  switch (column) {
    case 0:
      return r ? r->path : "run";
    case 1:
      return r ? shortened(a, r->status) : "status";
    case 2:
      return r ? gr_arena_printf(a, "%lld", (long long)r->steps) : "steps";
    case 3:
      return r ? number(a, r->best) : gr_arena_printf(a, "best %s", t->metric);
    case 4:
      return !r               ? "at step"
             : isnan(r->best) ? "-"
                              : gr_arena_printf(a, "%lld", (long long)r->best_step);
    case 5:
      return r ? number(a, r->last) : "last";
    default:
      return r ? shortened(a, r->values[column - 6]) : short_key(t, column - 6);
  }
}

static void print_table(const table *t) {
  int shown = t->n_keys < MAX_SHOWN ? t->n_keys : MAX_SHOWN;
  for (int row = -1; row < t->n; row++) {
    gr_text line = gr_text_make(t->arena);
    for (int c = 0; c < 6 + shown; c++) {
      int width = 0;
      for (int i = -1; i < t->n; i++) {
        int n = (int)strlen(cell(t, i < 0 ? NULL : &t->runs[i], c));
        width = n > width ? n : width;
      }
      bool last = c == 5 + shown, right = c >= 2 && c <= 5;
      gr_text_printf(&line, "%*s%s",
                     right  ? width
                     : last ? 0
                            : -width,
                     cell(t, row < 0 ? NULL : &t->runs[row], c), last ? "" : "  ");
    }
    gr_print_line(stdout, line.at, line.len);
    putchar('\n');
  }
  if (shown < t->n_keys) printf("%d more keys differ: --json lists all\n", t->n_keys - shown);
}

static void put_number(gr_text *t, const char *name, double v) {
  gr_text_printf(t, ", \"%s\": ", name);
  if (isnan(v))
    gr_text_put(t, "null");
  else
    gr_text_json_float(t, v);
}

static void print_json(const table *t) {
  gr_text out = gr_text_make(t->arena);
  gr_text_put(&out, "[");
  for (int i = 0; i < t->n; i++) {
    const run *r = &t->runs[i];
    gr_text_put(&out, i ? ",\n {\"run\": " : "\n {\"run\": ");
    gr_text_json(&out, r->path);
    gr_text_put(&out, ", \"status\": ");
    gr_text_json(&out, r->status);
    gr_text_printf(&out, ", \"steps\": %lld, \"metric\": ", (long long)r->steps);
    gr_text_json(&out, t->metric);
    put_number(&out, "best", r->best);
    gr_text_printf(&out, ", \"best_step\": %lld", (long long)r->best_step);
    put_number(&out, "last", r->last);
    gr_text_put(&out, ", \"differs\": {");
    for (int k = 0; k < t->n_keys; k++) {
      gr_text_put(&out, k ? ", " : "");
      gr_text_json(&out, t->keys[k]);
      gr_text_put(&out, ": ");
      gr_text_json(&out, r->values[k]);
    }
    gr_text_put(&out, "}}");
  }
  puts(out.at);
  puts("]");
}

static gr_status show(table *t, const gr_args *args) {
  const char *first = args->config ? args->config : "outputs";
  if (args->n_overrides)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is no folder", args->overrides[0]);
  for (int i = 0; i <= args->n_words; i++) {
    const char *given = i ? args->words[i - 1] : first;
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/') n--;
    const char *dir = gr_arena_strndup(t->arena, given, n);
    if (!gr_is_dir(dir))
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no folder '%s'", dir),
                     "graphrun runs DIR: a folder of runs, by default outputs");
    GR_TRY(find_runs(t, dir, 0));
  }
  if (!t->n)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no run in '%s'", first),
                   "a run's folder has .hydra/config.yaml");
  GR_TRY(choose_metric(t, args->by));
  GR_TRY(measure_all(t));
  rank(t);
  find_differences(t);
  if (args->json)
    print_json(t);
  else
    print_table(t);
  return GR_OK;
}

gr_status gr_cmd_runs(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  table t = {.arena = arena};
  gr_status s = gr_args_parse(arena, argc, argv, gr_args_first(argc, argv), &args);
  s = s ? s : show(&t, &args);
  if (s) return s;  // the error's locations point into the arena, which is therefore not freed
  gr_arena_destroy(arena);
  return GR_OK;
}
