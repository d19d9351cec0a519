// plot.c - `graphrun plot RUN ...`: curves of what runs have logged, over each other.
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/show_plot.h"
#include "runtime/report/series.h"

typedef struct options {
  const char *key;
  bool log;
} options;

enum { MAX_PANELS = 64, MAX_KEYS = 256, MAX_RUNS = 64 };

typedef struct plotted {
  gr_arena *arena;
  const char *run[MAX_RUNS], *label[MAX_RUNS];
  gr_series_list series[MAX_RUNS];
  int n_runs;
  const char *key[MAX_KEYS];
  int n_keys;
  bool log;
} plotted;

// ---- Runs -----------------------------------------------------------------------------------

// The last `parts` components of a path.
static const char *tail_of(gr_arena *a, const char *path, int parts) {
  const char *whole = gr_path_trimmed(a, path), *start = whole + strlen(whole);
  while (start > whole && !(start[-1] == '/' && --parts == 0)) start--;
  return start;
}

// As short as tells the runs apart.
static void label_runs(plotted *p) {
  bool same = true;
  for (int parts = 1; same && parts < 16; parts++) {
    same = false;
    for (int i = 0; i < p->n_runs; i++) {
      p->label[i] = gr_show_visible(p->arena, tail_of(p->arena, p->run[i], parts));
      for (int k = 0; k < i; k++) same |= !strcmp(p->label[i], p->label[k]);
    }
  }
}

static gr_status read_runs(plotted *p, const gr_args *args) {
  if (!args->config)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given"),
                   "graphrun plot outputs/DATE/TIME");
  if (args->n_overrides)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is no folder of a run", args->overrides[0]);
  if (args->n_words >= MAX_RUNS)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "more than %d runs", MAX_RUNS);
  p->run[p->n_runs++] = args->config;
  for (int i = 0; i < args->n_words; i++) p->run[p->n_runs++] = args->words[i];
  for (int i = 0; i < p->n_runs; i++) {
    if (!gr_is_dir(p->run[i]))
      return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no folder '%s'", p->run[i]),
                     "the folder that a run printed as its output, such as outputs/DATE/TIME");
    GR_TRY(gr_series_read(p->arena, p->run[i], &p->series[i]));
  }
  label_runs(p);
  return GR_OK;
}

// ---- Keys -----------------------------------------------------------------------------------

static bool has_key(const plotted *p, const char *key) {
  for (int i = 0; i < p->n_keys; i++)
    if (!strcmp(p->key[i], key)) return true;
  return false;
}

// Adds the keys that a pattern matches, in the order in which runs have them.
static int add_keys(plotted *p, const char *pattern) {
  int found = 0;
  for (int r = 0; r < p->n_runs; r++)
    for (int i = 0; i < p->series[r].n; i++) {
      const char *key = p->series[r].items[i].key;
      if (fnmatch(pattern, key, 0)) continue;
      found++;
      if (!has_key(p, key) && p->n_keys < MAX_KEYS) p->key[p->n_keys++] = key;
    }
  return found;
}

static gr_status no_key(plotted *p, const char *key) {
  p->n_keys = 0;
  add_keys(p, "*");
  const char *list = gr_text_names(p->arena, p->key, p->n_keys);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run has logged '%s'", key);
  const char *near = gr_text_nearest(key, p->key, p->n_keys);
  return near ? gr_hint(s, "did you mean '%s'? there are: %s", near, list)
              : gr_hint(s, "there are: %s", list);
}

static gr_status choose_keys(plotted *p, const char *given) {
  const char *cursor = given ? given : "loss,validation.*";
  for (size_t n; *cursor; cursor += n + (cursor[n] == ',')) {
    n = strcspn(cursor, ",");
    const char *pattern = gr_arena_strndup(p->arena, cursor, n);
    if (!add_keys(p, pattern) && given) return no_key(p, pattern);
  }
  return p->n_keys ? GR_OK : no_key(p, "loss");
}

// ---- Panels ---------------------------------------------------------------------------------

// Keys with the same last part share a panel: loss, validation.loss.
static const char *panel_of(const char *key) {
  const char *dot = strrchr(key, '.');
  return dot && dot[1] ? dot + 1 : key;
}

static void add_curves(const plotted *p, const char *title, gr_panel *out) {
  gr_curve *curves = GR_NEW(p->arena, gr_curve, p->n_keys * p->n_runs);
  int keys = 0;
  for (int k = 0; k < p->n_keys; k++) keys += !strcmp(panel_of(p->key[k]), title);
  *out = (gr_panel){.title = gr_show_visible(p->arena, title),
                    .x_label = "step",
                    .curves = curves,
                    .log = p->log};
  for (int k = 0; k < p->n_keys; k++)
    for (int r = 0; r < p->n_runs && !strcmp(panel_of(p->key[k]), title); r++) {
      const gr_series *s = gr_series_find(&p->series[r], p->key[k]);
      const char *key = gr_show_visible(p->arena, p->key[k]);
      if (!s) continue;
      const char *name = p->n_runs == 1 ? key
                         : keys == 1    ? p->label[r]
                                        : gr_arena_printf(p->arena, "%s %s", p->label[r], key);
      curves[out->n++] = (gr_curve){.name = name, .x = s->x, .y = s->y, .n = s->n};
    }
}

static gr_status plot(gr_arena *a, const gr_args *args) {
  const options *flags = args->options;
  plotted *p = GR_NEW(a, plotted, 1);
  p->arena = a;
  gr_panel *panels = GR_NEW(p->arena, gr_panel, MAX_PANELS);
  int n = 0;
  GR_TRY(read_runs(p, args));
  GR_TRY(choose_keys(p, flags->key));
  p->log = flags->log;
  for (int k = 0; k < p->n_keys; k++) {
    const char *title = panel_of(p->key[k]);
    bool drawn = false;
    for (int i = 0; i < k; i++) drawn |= !strcmp(panel_of(p->key[i]), title);
    if (drawn) continue;
    if (n == MAX_PANELS)
      return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "more than %d panels", MAX_PANELS);
    add_curves(p, title, &panels[n++]);
  }
  return gr_show_plot(p->arena, panels, n, args->out);
}

static const gr_flag own_flags[] = {
    {"--key", NULL, "LOGGED", GR_FLAG_TEXT, offsetof(options, key),
     "which values, by names and patterns (loss,validation.*)"},
    {"--log", NULL, NULL, GR_FLAG_SET, offsetof(options, log), "a logarithmic axis"},
    {0}};

const gr_command gr_command_plot = {
    .name = "plot",
    .usage = "RUN ... [--key=KEY,...] [--log] [--out=FILE.svg]",
    .doc = "curves of what runs have logged, in the terminal or as SVG",
    .example = "graphrun plot outputs/2026-01-01/* --key=loss,validation.* --out=curves.svg",
    .keys = "",
    .takes = {GR_FOLDER, GR_FOLDER, false},
    .flags = {gr_flags_out},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = plot,
};
