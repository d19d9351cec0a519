// pruner.c - trials that end before the others: successive halving. See trials.h.
//
// Which values a trial must reach is known when it begins, from the trials that its proposal is
// made from, too: the same command ends the same trials at the same rungs, whichever run is faster.
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "cli/trials/trials.h"
#include "compose/hydra/hydra.h"

// ---- Settings --------------------------------------------------------------------

static const struct option {
  const char *name;
  int64_t least, most;
  size_t offset;  // in gr_halving
} options[] = {
    {"min_resource", 1, GR_HALVING_MAX, offsetof(gr_halving, min_resource)},
    {"reduction_factor", 2, 1000, offsetof(gr_halving, reduction_factor)},
    {"min_early_stopping_rate", 0, 30, offsetof(gr_halving, min_early_stopping_rate)},
};
enum { N_OPTIONS = sizeof options / sizeof *options, LEAST_RUNGS = 3 };

static gr_status read_option(gr_trials *t, gr_conf *hydra, const char *key, const gr_conf *given) {
  gr_conf *v;
  for (const struct option *o = options; o < options + N_OPTIONS; o++) {
    if (strcmp(o->name, key)) continue;
    const char *path = gr_arena_printf(t->arena, "sweeper.pruner.%s", key);
    GR_TRY(gr_hydra_value(t->arena, hydra, path, &v));
    if (!v || v->kind != GR_CONF_INT || v->integer < o->least || v->integer > o->most)
      return gr_fail(GR_ERR_CONFIG, given->loc, "hydra.%s must be a whole number from %lld to %lld",
                     path, (long long)o->least, (long long)o->most);
    memcpy((char *)&t->halving + o->offset, &v->integer, sizeof v->integer);
    return GR_OK;
  }
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, given->loc, "there is no option '%s' of a pruner here", key),
      "the options of successive halving are min_resource (epochs), reduction_factor "
      "and min_early_stopping_rate");
}

static gr_status check_class(const gr_conf *map, const gr_conf *target) {
  static const char name[] = "SuccessiveHalvingPruner";
  const char *text = gr_conf_text_of(target, "");
  const char *dot = strrchr(text, '.');
  if (!strcmp(dot ? dot + 1 : text, name)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, target ? target->loc : map->loc, "there is no pruner '%s' here", text),
      "hydra/sweeper/pruner=successive_halving is optuna.pruners.%s", name);
}

// Trials are then also compared with those of the same pruner only.
static void add_rungs(gr_trials *t) {
  const gr_halving *h = &t->halving;
  while (gr_halving_resource(h, t->n_rungs)) t->n_rungs++;
  t->metric = gr_arena_printf(
      t->arena, "%s; the best 1/%lld go on past epochs %lld, %lld, %lld, ...", t->metric,
      (long long)h->reduction_factor, (long long)gr_halving_resource(h, 0),
      (long long)gr_halving_resource(h, 1), (long long)gr_halving_resource(h, 2));
}

gr_status gr_trials_pruner(gr_trials *t, gr_conf *hydra) {
  gr_conf *map = gr_conf_find(hydra, "sweeper.pruner"), *target;
  if (!map || map->kind == GR_CONF_NULL) return GR_OK;
  if (map->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "hydra.sweeper.pruner must be a map"),
                   "hydra/sweeper/pruner=successive_halving is one");
  GR_TRY(gr_hydra_value(t->arena, hydra, "sweeper.pruner._target_", &target));
  GR_TRY(check_class(map, target));
  t->halving = (gr_halving){.min_resource = 1, .reduction_factor = 4};
  for (int i = 0; i < map->n; i++)
    if (strcmp(map->keys[i], "_target_"))
      GR_TRY(read_option(t, hydra, map->keys[i], map->items[i]));
  if (!gr_halving_resource(&t->halving, LEAST_RUNGS - 1))
    return gr_fail(GR_ERR_CONFIG, map->loc,
                   "hydra.sweeper.pruner: the third rung would be after more than %d epochs",
                   GR_HALVING_MAX);
  add_rungs(t);
  return GR_OK;
}

// ---- Values at rungs -------------------------------------------------------------

static double *new_rungs(gr_trials *t) {
  double *values = GR_NEW(t->arena, double, t->n_rungs + 1);
  for (int i = 0; i < t->n_rungs; i++) values[i] = (double)NAN;
  return values;
}

// The metric at the end of an epoch; NaN: it was not evaluated then.
static double value_of(const gr_trials *t, const gr_json *row) {
  static const char *const prefix[] = {"validation.", "train."};
  for (int i = 0; i < 2; i++) {
    const char *name = gr_arena_printf(t->arena, "%s%s", prefix[i], t->measured);
    const gr_json *value = gr_json_get(row, name, GR_JSON_FLOAT);
    bool of_pass = strchr(t->measured, '.') != NULL;  // a program's, which trains
    if (value && of_pass == (i == 1)) return value->f;
  }
  return (double)NAN;
}

static void take_row(const gr_trials *t, const gr_json *row, double *reached) {
  const gr_json *epoch = gr_json_get(row, "epoch", GR_JSON_INT);
  double value = value_of(t, row);
  for (int i = 0; epoch && isfinite(value) && i < t->n_rungs; i++)
    if (isnan(reached[i]) && epoch->i + 1 >= gr_halving_resource(&t->halving, i))
      reached[i] = value;
}

gr_status gr_trials_reach(gr_trials *t, const char *dir, int number) {
  enum { MAX_BYTES = 64 << 20 };
  char *text, *next;
  const char *path = gr_arena_printf(t->arena, "%s/epochs.jsonl", dir);
  if (!t->n_rungs || !gr_is_file(path)) return GR_OK;
  GR_TRY(gr_file_read(t->arena, path, MAX_BYTES, &text, NULL));
  t->reached[number] = new_rungs(t);
  for (; *text; text = next) {
    const gr_json *row;
    gr_json_error why;
    size_t n = strcspn(text, "\n");
    next = text + n + (text[n] == '\n');
    if (gr_json_read(t->arena, text, n, &row, &why)) take_row(t, row, t->reached[number]);
  }
  return GR_OK;
}

// The values that earlier trials had at a rung, of which the proposal of this one knows.
static double bar_of(gr_trials *t, int number, int rung) {
  int n = 0;
  double *values = GR_NEW(t->arena, double, number + 1);
  for (int k = 0; k <= number - t->at_once; k++)
    if (t->reached[k] && !isnan(t->reached[k][rung])) values[n++] = t->reached[k][rung];
  return gr_halving_bar(&t->halving, values, n, t->search.max);
}

const char *gr_trials_stop_unless(gr_trials *t, int number) {
  gr_text out = gr_text_make(t->arena);
  for (int i = 0; i < t->n_rungs; i++) {
    double bar = bar_of(t, number, i);
    if (isnan(bar)) continue;
    gr_text_printf(&out, "%s%lld:", out.len ? "," : "++training.stop_unless={",
                   (long long)gr_halving_resource(&t->halving, i));
    gr_text_put_float(&out, bar);
  }
  if (!out.len) return NULL;
  gr_text_put(&out, "}");
  return out.chars;
}

// ---- In the record ---------------------------------------------------------------

void gr_trials_put_rungs(gr_text *out, const gr_trials *t, int number) {
  const double *reached = t->reached[number];
  if (!t->n_rungs) return;
  gr_text_put(out, ", \"rungs\": [");
  for (int i = 0; reached && i < t->n_rungs && !isnan(reached[i]); i++) {
    gr_text_json_next(out);
    gr_text_json_float(out, reached[i]);
  }
  gr_text_put(out, "]");
}

void gr_trials_take_rungs(gr_trials *t, const gr_json *record, int number) {
  const gr_json *rungs = gr_json_get(record, "rungs", GR_JSON_ARRAY);
  if (!t->n_rungs || !rungs) return;
  double *reached = t->reached[number] = new_rungs(t);
  const gr_json *value = rungs->first;
  for (int i = 0; value && i < t->n_rungs; i++, value = value->next)
    if (gr_json_is_number(value)) reached[i] = value->f;
}
