// multirun.c - expands sweeps to lists of arguments. See multirun.h.
#include "compose/hydra/multirun.h"
#include <string.h>
#include "compose/composer.h"

enum { MAX_JOBS = 10000 };

// One argument and all arguments it expands to.
typedef struct axis {
  const char *element;
  const char **lines;
  int n;
} axis;

static const char *line_of(gr_arena *a, const char *element, const gr_conf *value) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s=", element);
  gr_value_write(&t, value);
  return t.chars;
}

static gr_status read_axis(gr_composer *c, const gr_override *o, axis *out) {
  const char **options = NULL;
  gr_conf *values = NULL;
  *out = (axis){.element = o->element};
  if (!o->value.many) {
    out->lines = GR_NEW(c->arena, const char *, 1);
    out->lines[out->n++] = o->line;
    return GR_OK;
  }
  if (!strncmp(o->key, "hydra.", 6) || !strncmp(o->key, "hydra/", 6))
    return gr_fail(GR_ERR_USAGE, o->loc,
                   "sweeping over hydra's own configuration is not supported");
  int n = o->value.many->kind == GR_SWEEP_GLOB
              ? gr_sources_options(&c->sources, o->key, false, &options)
              : 0;
  GR_TRY(gr_sweep_list(c->arena, o->value.many, o->value_loc, options, n, &values));
  out->lines = GR_NEW(c->arena, const char *, values->n + 1);
  for (int i = 0; i < values->n; i++)
    out->lines[out->n++] = line_of(c->arena, o->element, values->items[i]);
  return GR_OK;
}

// A later argument for the same key replaces an earlier one.
static void add_axis(axis *all, int *n, const axis *one) {
  for (int i = 0; i < *n; i++)
    if (!strcmp(all[i].element, one->element)) {
      all[i] = *one;
      return;
    }
  all[(*n)++] = *one;
}

// Adds hydra.sweeper.params, {key: "1,2,3"}, of the composed configuration.
static gr_status add_params(gr_composer *c, axis *all, int *n, const gr_conf *params) {
  for (int i = 0; params && params->kind == GR_CONF_MAP && i < params->n; i++) {
    gr_override o;
    axis one;
    gr_text t = gr_text_make(c->arena);
    if (params->items[i]->kind == GR_CONF_TEXT)
      gr_text_put(&t, params->items[i]->text);
    else
      gr_value_write(&t, params->items[i]);
    const char *line = gr_arena_printf(c->arena, "%s=%s", params->keys[i], t.chars);
    GR_TRY(gr_note(gr_override_parse(c->arena, line, c->n_overrides + i + 1, &o),
                   params->items[i]->loc, "in hydra.sweeper.params"));
    GR_TRY(read_axis(c, &o, &one));
    add_axis(all, n, &one);
  }
  return GR_OK;
}

static gr_status multiply(gr_arena *a, const axis *all, int n, gr_job_list *out) {
  int64_t jobs = 1;
  for (int i = 0; i < n && jobs <= MAX_JOBS; i++) jobs *= all[i].n;
  if (jobs > MAX_JOBS)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the sweep has more than %d runs", MAX_JOBS);
  out->n = (int)jobs, out->n_each = n, out->n_all = n + 2;
  out->overrides = GR_NEW(a, const char **, jobs + 1);
  for (int j = 0; j < out->n; j++) {
    int rest = j;
    out->overrides[j] = GR_NEW(a, const char *, n + 2);
    for (int i = n - 1; i >= 0; i--) {
      out->overrides[j][i] = all[i].lines[rest % all[i].n];
      rest /= all[i].n;
    }
    out->overrides[j][n] = "hydra.mode=MULTIRUN";
    out->overrides[j][n + 1] = gr_arena_printf(a, "hydra.job.num=%d", j);
  }
  return GR_OK;
}

gr_status gr_multirun_list(gr_arena *a, const gr_compose_request *q, gr_job_list *out) {
  gr_composer c;
  gr_composed composed;
  gr_status errors = gr_composer_open(&c, a, q);
  if (!c.primary) return errors;
  c.defaults.skip_missing = true;
  errors = gr_also(errors, gr_composer_list(&c, true));
  errors = gr_also(errors, gr_composer_merge(&c, &composed));
  if (errors) return errors;
  *out = (gr_job_list){.base = composed};
  const gr_conf *params = composed.hydra ? gr_conf_find(composed.hydra, "sweeper.params") : NULL;
  int n = 0;
  axis *all = GR_NEW(a, axis, q->n_overrides + (params ? params->n : 0) + 1);
  GR_TRY(add_params(&c, all, &n, params));
  for (int i = 0; i < c.n_overrides; i++) {
    axis one;
    GR_TRY(read_axis(&c, &c.overrides[i], &one));
    add_axis(all, &n, &one);
  }
  return multiply(a, all, n, out);
}
