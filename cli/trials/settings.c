// settings.c - what hydra.sweeper says of a search. See trials.h.
#include <math.h>
#include <string.h>
#include "cli/trials/trials.h"
#include "compose/hydra/hydra.h"

// ---- The sampler -----------------------------------------------------------------

static const char *sampler_list(gr_arena *a) {
  gr_text t = gr_text_make(a);
  for (int i = 0; gr_samplers[i]; i++)
    gr_text_printf(&t, "%s%s (%s)", i ? ", " : "", gr_samplers[i]->name,
                   gr_samplers[i]->class_name);
  return t.chars;
}

static gr_status choose_sampler(gr_trials *t, gr_conf *hydra) {
  gr_conf *target;
  GR_TRY(gr_hydra_value(t->arena, hydra, "sweeper.sampler._target_", &target));
  const char *name = gr_conf_text_of(target, "");
  const char *dot = strrchr(name, '.');
  if (dot) name = dot + 1;
  for (int i = 0; gr_samplers[i]; i++)
    if (!strcmp(gr_samplers[i]->class_name, name)) t->sampler = gr_samplers[i];
  if (t->sampler) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, target ? target->loc : GR_NOWHERE,
                         "there is no sampler '%s' here", name),
                 "choose one with hydra/sweeper/sampler=NAME; there are %s",
                 sampler_list(t->arena));
}

static const gr_sampler_option *option_named(const gr_sampler *s, const char *name) {
  for (const gr_sampler_option *o = s->options; o->name; o++)
    if (!strcmp(o->name, name)) return o;
  return NULL;
}

static gr_status wrong(const gr_conf *v, const char *name, const char *expected) {
  return gr_fail(GR_ERR_CONFIG, v->loc, "hydra.sweeper.%s must be %s", name, expected);
}

static const char *value_text(const gr_conf *v, char text[32]) {
  snprintf(text, 32, "%lld", (long long)v->integer);
  return v->kind == GR_CONF_INT ? text : gr_conf_a_kind(v->kind);
}

static gr_status read_whole(const gr_conf *v, const char *name, int64_t least, int64_t most,
                            int64_t *out) {
  char text[32];
  if (v->kind != GR_CONF_INT || v->integer < least || v->integer > most)
    return gr_fail(GR_ERR_CONFIG, v->loc,
                   "hydra.sweeper.%s must be a whole number from %lld to %lld, but is %s", name,
                   (long long)least, (long long)most, value_text(v, text));
  *out = v->integer;
  return GR_OK;
}

static gr_status read_truth(const gr_conf *v, const char *name, gr_sampler_option_kind kind,
                            bool *out) {
  if (v->kind != GR_CONF_BOOL) return wrong(v, name, "true or false");
  if (kind == GR_SAMPLER_TRUTH)
    *out = v->truth;
  else if (v->truth != (kind == GR_SAMPLER_ONLY_TRUE))
    return gr_fail(GR_ERR_CONFIG, v->loc, "hydra.sweeper.%s=%s is not supported", name,
                   v->truth ? "true" : "false");
  return GR_OK;
}

static gr_status read_option(gr_trials *t, const gr_sampler_option *o, const gr_conf *v) {
  char *base = (char *)&t->search.options + o->offset;
  const char *name = gr_arena_printf(t->arena, "sampler.%s", o->name);
  if (o->kind == GR_SAMPLER_WHOLE || o->kind == GR_SAMPLER_POSITIVE)
    return read_whole(v, name, o->kind == GR_SAMPLER_POSITIVE, INT32_MAX, (int64_t *)(void *)base);
  if (o->kind != GR_SAMPLER_NUMBER) return read_truth(v, name, o->kind, (bool *)base);
  double x = v->kind == GR_CONF_FLOAT ? v->number : v->kind == GR_CONF_INT ? (double)v->integer : 0;
  if (!(x > 0) || !isfinite(x)) return wrong(v, name, "a number above 0");
  *(double *)(void *)base = x;
  return GR_OK;
}

static gr_status no_option(const gr_trials *t, const gr_conf *v, const char *name) {
  gr_text list = gr_text_make(t->arena);
  for (const gr_sampler_option *o = t->sampler->options; o->name; o++)
    gr_text_printf(&list, " %s", o->name);
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, v->loc, "%s has no option '%s' here", t->sampler->class_name, name),
      list.len ? "its options are%s" : "it has none%s", list.chars);
}

// Built-in options of the default sampler stay where a file names another class: they are not its.
static gr_status read_options(gr_trials *t, gr_conf *hydra) {
  gr_status all = GR_OK;
  gr_conf *map = gr_conf_find(hydra, "sweeper.sampler");
  t->search.options = gr_sampler_defaults();
  for (int i = 0; map && map->kind == GR_CONF_MAP && i < map->n; i++) {
    const char *key = map->keys[i];
    const gr_sampler_option *o = option_named(t->sampler, key);
    gr_conf *v;
    if (!strcmp(key, "_target_") || (!o && gr_hydra_builtin(map->items[i]))) continue;
    gr_status s =
        gr_hydra_value(t->arena, hydra, gr_arena_printf(t->arena, "sweeper.sampler.%s", key), &v);
    if (!s && !o) s = no_option(t, map->items[i], key);
    if (!s && v) s = read_option(t, o, v);
    all = gr_also(all, s);
  }
  return all;
}

// ---- What is best ----------------------------------------------------------------

static gr_status contradicts(const gr_trials *t, const gr_conf *direction) {
  const gr_conf *mode = gr_conf_find(t->axes->base.job, "checkpoint.mode");
  const char *wanted = t->search.max ? "min" : "max";
  gr_status s = gr_fail(GR_ERR_CONFIG, direction->loc,
                        "hydra.sweeper.direction is %s, but checkpoint.mode is %s", direction->text,
                        t->search.max ? "max" : "min");
  if (mode && mode->loc.file) s = gr_note(s, mode->loc, "checkpoint.mode is here");
  return gr_hint(s,
                 "checkpoint.metric is what is searched for; set checkpoint.mode=%s, or leave "
                 "hydra.sweeper.direction out",
                 wanted);
}

static gr_status read_direction(gr_trials *t, gr_conf *hydra, gr_conf *conf) {
  gr_conf *direction;
  t->search.max = !strcmp(gr_conf_text_of(gr_conf_find(conf, "checkpoint.mode"), "min"), "max");
  t->measured = gr_conf_text_of(gr_conf_find(conf, "checkpoint.metric"), "loss");
  t->metric = gr_arena_printf(t->arena, "%s %s", t->search.max ? "max" : "min", t->measured);
  GR_TRY(gr_hydra_value(t->arena, hydra, "sweeper.direction", &direction));
  if (!direction) return GR_OK;
  const char *text = gr_conf_text_of(direction, "");
  bool max = !strcmp(text, "maximize");
  if (!max && strcmp(text, "minimize"))
    return wrong(direction, "direction", "minimize or maximize: one metric is searched for");
  return max == t->search.max ? GR_OK : contradicts(t, direction);
}

// ---- The number of trials --------------------------------------------------------

static gr_status check_lists(const gr_trials *t) {
  for (int i = 0; t->sampler->lists && i < t->search.n; i++) {
    const gr_sweep_axis *x = &t->axes->list[t->axis_of[i]];
    if (t->search.parameters[i].kind == GR_PARAMETER_REAL)
      return gr_hint(gr_fail(GR_ERR_USAGE, x->loc,
                             "the sampler '%s' lists all values, which '%s' has none of: it is an "
                             "interval",
                             t->sampler->name, x->element),
                     "use range(start,stop,step) or choice(a,b,...), or hydra/sweeper/sampler=tpe");
  }
  return GR_OK;
}

static gr_status read_counts(gr_trials *t, gr_conf *hydra) {
  gr_conf *n, *jobs;
  int64_t trials = 20;
  GR_TRY(gr_hydra_value(t->arena, hydra, "sweeper.n_trials", &n));
  GR_TRY(gr_hydra_value(t->arena, hydra, "sweeper.n_jobs", &jobs));
  if (n) GR_TRY(read_whole(n, "n_trials", 1, GR_MULTIRUN_MAX, &trials));
  if (jobs) GR_TRY(read_whole(jobs, "n_jobs", 1, 1024, &t->n_jobs));
  if (t->sampler->lists) {
    int64_t all = gr_search_combinations(&t->search, GR_MULTIRUN_MAX);
    bool given = n && !gr_hydra_builtin(n);
    if (!given && all > GR_MULTIRUN_MAX)
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the grid has more than %d combinations",
                             GR_MULTIRUN_MAX),
                     "hydra.sweeper.n_trials=N runs the first N");
    trials = given && trials < all ? trials : all;
  }
  t->n = (int)trials;
  return GR_OK;
}

gr_status gr_trials_open(gr_trials *t, gr_arena *a, const gr_sweep_axes *axes, gr_conf *conf) {
  *t = (gr_trials){.arena = a, .axes = axes, .at_once = 1};
  gr_conf *hydra = axes->base.hydra;
  GR_TRY(choose_sampler(t, hydra));
  gr_status all = read_options(t, hydra);
  all = gr_also(all, read_direction(t, hydra, conf));
  all = gr_also(all, gr_trials_pruner(t, hydra));
  all = gr_also(all, gr_trials_space(t));
  if (!all) all = check_lists(t);
  if (!all) all = read_counts(t, hydra);
  if (all) return all;
  t->lines = GR_NEW(a, const char **, t->n + 1);
  t->all = GR_NEW(a, gr_trial, t->n + 1);
  t->ended = GR_NEW(a, bool, t->n + 1);
  t->reached = GR_NEW(a, double *, t->n + 1);
  return GR_OK;
}
