// multirun.c - expands sweeps to lists of arguments. See multirun.h.
#include "compose/hydra/multirun.h"
#include <string.h>
#include "compose/composer.h"

static const char *line_of(gr_arena *a, const char *element, const gr_conf *value) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s=", element);
  gr_value_write(&t, value);
  return t.chars;
}

static gr_status read_values(gr_composer *c, const gr_override *o, gr_sweep_axis *out) {
  const char **options = NULL;
  gr_conf *values = NULL;
  int n = o->value.many->kind == GR_SWEEP_GLOB
              ? gr_sources_options(&c->sources, o->key, false, &options)
              : 0;
  GR_TRY(gr_sweep_list(c->arena, o->value.many, o->value_loc, options, n, &values));
  if (!values->n)
    return gr_hint(gr_fail(GR_ERR_USAGE, o->value_loc, "there is no value to sweep over"),
                   "range(A,B) ends before B");
  out->values = values;
  out->lines = GR_NEW(c->arena, const char *, values->n + 1);
  for (int i = 0; i < values->n; i++)
    out->lines[out->n++] = line_of(c->arena, o->element, values->items[i]);
  return GR_OK;
}

static gr_status read_axis(gr_composer *c, const gr_override *o, gr_sweep_axis *out) {
  *out = (gr_sweep_axis){.element = o->element, .sweep = o->value.many, .loc = o->value_loc};
  if (!out->sweep) {
    out->lines = GR_NEW(c->arena, const char *, 1);
    out->lines[out->n++] = o->line;
    return GR_OK;
  }
  if (!strncmp(o->key, "hydra.", 6) || !strncmp(o->key, "hydra/", 6))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, o->loc, "sweeping over hydra's own configuration is not supported"),
        "a sweep is over keys of the run: 'training.lr=interval(1e-4,1e-2)'; in a file "
        "hydra.sweeper.params has them as texts");
  return out->sweep->kind == GR_SWEEP_INTERVAL ? GR_OK : read_values(c, o, out);
}

// A later argument for the same key replaces an earlier one.
static void add_axis(gr_sweep_axis *all, int *n, const gr_sweep_axis *one) {
  for (int i = 0; i < *n; i++)
    if (!strcmp(all[i].element, one->element)) {
      all[i] = *one;
      return;
    }
  all[(*n)++] = *one;
}

// Adds hydra.sweeper.params, {key: "1,2,3"}, of the composed configuration.
static gr_status add_params(gr_composer *c, gr_sweep_axis *all, int *n, const gr_conf *params) {
  for (int i = 0; params && params->kind == GR_CONF_MAP && i < params->n; i++) {
    gr_override o;
    gr_sweep_axis one;
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

gr_status gr_multirun_axes(gr_arena *a, const gr_compose_request *q, gr_sweep_axes *out) {
  gr_composer c;
  gr_composed composed;
  gr_status errors = gr_composer_open(&c, a, q);
  if (!c.primary) return errors;
  c.defaults.skip_missing = true;
  errors = gr_also(errors, gr_composer_list(&c, true));
  errors = gr_also(errors, gr_composer_merge(&c, &composed));
  if (errors) return errors;
  *out = (gr_sweep_axes){.base = composed};
  const gr_conf *params = composed.hydra ? gr_conf_find(composed.hydra, "sweeper.params") : NULL;
  out->list = GR_NEW(a, gr_sweep_axis, q->n_overrides + (params ? params->n : 0) + 1);
  GR_TRY(add_params(&c, out->list, &out->n, params));
  for (int i = 0; i < c.n_overrides; i++) {
    gr_sweep_axis one;
    GR_TRY(read_axis(&c, &c.overrides[i], &one));
    add_axis(out->list, &out->n, &one);
  }
  return GR_OK;
}

// ---- Jobs ------------------------------------------------------------------------

int gr_multirun_width(const gr_sweep_axes *all) { return all->n + 2; }

const char **gr_multirun_job(gr_arena *a, const gr_sweep_axes *all, const char *const *lines,
                             int number) {
  const char **job = GR_NEW(a, const char *, gr_multirun_width(all));
  for (int i = 0; i < all->n; i++) job[i] = lines[i];
  job[all->n] = "hydra.mode=MULTIRUN";
  job[all->n + 1] = gr_arena_printf(a, "hydra.job.num=%d", number);
  return job;
}

static gr_status count(gr_arena *a, const gr_sweep_axes *all, int64_t *jobs) {
  *jobs = 1;
  for (int i = 0; i < all->n; i++) {
    const gr_sweep_axis *x = &all->list[i];
    gr_conf *none;
    if (x->sweep && !x->values) GR_TRY(gr_sweep_list(a, x->sweep, x->loc, NULL, 0, &none));
    if (*jobs <= GR_MULTIRUN_MAX) *jobs *= x->n;
  }
  if (*jobs <= GR_MULTIRUN_MAX) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the sweep has more than %d runs", GR_MULTIRUN_MAX);
}

gr_status gr_multirun_all(gr_arena *a, const gr_sweep_axes *all, gr_job_list *out) {
  int64_t jobs;
  const char **lines = GR_NEW(a, const char *, all->n + 1);
  GR_TRY(count(a, all, &jobs));
  *out = (gr_job_list){.base = all->base};
  out->n = (int)jobs, out->n_each = all->n, out->n_all = gr_multirun_width(all);
  out->overrides = GR_NEW(a, const char **, jobs + 1);
  for (int j = 0; j < out->n; j++) {
    int rest = j;
    for (int i = all->n - 1; i >= 0; i--) {
      lines[i] = all->list[i].lines[rest % all->list[i].n];
      rest /= all->list[i].n;
    }
    out->overrides[j] = gr_multirun_job(a, all, lines, j);
  }
  return GR_OK;
}

gr_status gr_multirun_list(gr_arena *a, const gr_compose_request *q, gr_job_list *out) {
  gr_sweep_axes all;
  GR_TRY(gr_multirun_axes(a, q, &all));
  return gr_multirun_all(a, &all, out);
}
