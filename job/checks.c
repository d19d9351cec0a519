// checks.c - see checks.h.
#include "job/checks.h"
#include <string.h>
#include "compiler/model/model.h"
#include "job/groups.h"
#include "runtime/train/run.h"

// ---- checkpoint.metric ----------------------------------------------------------------------

typedef struct metrics {
  const char *at[64];
  int n;
} metrics;

// Adds the metrics of a program: those of the loop's with the program's name.
static void list_metrics(gr_arena *a, const gr_program *p, metrics *out) {
  const gr_graph *g = p->frame.g;
  bool report = !strcmp(p->kind, "report");
  for (uint32_t k = 0; k < g->n_results && out->n < 64; k++) {
    const char *name = g->result_names[k], *end = strrchr(name, '.');
    if (report ? strncmp(name, "report.", 7) : strncmp(name, "metric.", 7) || strcmp(end, ".sum"))
      continue;
    out->at[out->n++] =
        report
            ? name + 7
            : gr_run_metric_of(a, p->kind, gr_arena_strndup(a, name + 7, (size_t)(end - name - 7)));
  }
}

// Those that checkpoint.metric may name: of evaluation, and of named programs.
static void find_metrics(gr_arena *a, const gr_run_spec *spec, metrics *out) {
  out->n = 0;
  for (uint32_t i = 0; i < spec->plan->n_programs; i++) {
    const gr_program *p = &spec->plan->programs[i];
    bool train = !strncmp(p->kind, gr_model_train, 5) && (!p->kind[5] || p->kind[5] == '.');
    bool again = i && !strcmp(p->kind, p[-1].kind);  // in another bucket
    if (!train && !again && !p->frozen) list_metrics(a, p, out);
  }
}

// With a metric that no program computes, no best checkpoint would be kept, silently.
gr_status gr_check_metric(gr_arena *a, const gr_run_spec *spec) {
  const gr_conf *at = gr_conf_find(spec->conf, "checkpoint.metric");
  const char *metric = spec->set.saving.metric;
  gr_text list = gr_text_make(a);
  metrics m;
  find_metrics(a, spec, &m);
  for (int i = 0; i < m.n; i++) {
    if (!strcmp(m.at[i], metric)) return GR_OK;
    gr_text_printf(&list, "%s%s", i ? ", " : "", m.at[i]);
  }
  if (!m.n || !at || at->is_default) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, at->loc, "the model has no metric '%s'", metric);
  const char *near = gr_text_nearest(metric, m.at, m.n);
  return near ? gr_hint(s, "did you mean '%s'? it has: %s", near, list.chars)
              : gr_hint(s, "it has: %s", list.chars);
}

// ---- Patterns of weights --------------------------------------------------------------------

// A pattern that matches no weight freezes nothing, so it is an error.
gr_status gr_check_freeze(gr_arena *a, const gr_run_spec *spec) {
  gr_status all = GR_OK;
  const gr_texts *freeze = &spec->set.options.optimizer.freeze;
  for (int i = 0; i < freeze->n; i++) {
    const char *pattern = freeze->text[i], *first = NULL, *near;
    bool any = false;
    for (uint32_t k = 0; k < spec->plan->n_states && !any; k++) {
      if (spec->plan->states[k].kind != GR_KIND_WEIGHT) continue;
      if (!first) first = spec->plan->states[k].name;
      any = gr_name_matches(spec->plan->states[k].name, &pattern, 1);
    }
    if (any) continue;
    gr_status s =
        gr_fail(GR_ERR_CONFIG, freeze->loc[i], "'%s' matches no weight of the model", pattern);
    near = gr_weight_nearest(a, spec->plan, pattern);
    if (near) s = gr_hint(s, "did you mean '%s'?", near);
    all = gr_also(all, gr_hint(s, "a weight's name is, for example, '%s'; * matches anything",
                               first ? first : "layer.weight"));
  }
  return all;
}

// Of training.freezable: a pattern that matches no weight, and a weight that two match.
gr_status gr_check_freezable(gr_arena *a, const gr_run_spec *spec) {
  const gr_optimizer_settings *s = &spec->set.options.optimizer;
  const gr_plan *p = spec->plan;
  gr_status all = GR_OK;
  for (int i = 0; i < s->freezable.n; i++) {
    bool any = false;
    for (uint32_t k = 0; k < p->n_states; k++) {
      const char *name = p->states[k].name;
      if (p->states[k].kind != GR_KIND_WEIGHT || !p->states[k].trained) continue;
      if (!gr_name_matches(name, &s->freezable.text[i], 1)) continue;
      any = true;
      if (gr_freezable_of(s, name) != i)
        return gr_hint(
            gr_fail(GR_ERR_CONFIG, s->freezable.loc[i],
                    "'%s' of training.freezable matches '%s', and so does an earlier one",
                    s->freezable.text[i], name),
            "each weight is frozen by one pattern");
    }
    if (any) continue;
    gr_status e = gr_fail(GR_ERR_CONFIG, s->freezable.loc[i],
                          "'%s' of training.freezable matches no weight that is trained",
                          s->freezable.text[i]);
    const char *near = gr_weight_nearest(a, p, s->freezable.text[i]);
    if (near) e = gr_hint(e, "did you mean '%s'?", near);
    all =
        gr_also(all, gr_hint(e, "`graphrun plan` and model.freeze say which weights are trained"));
  }
  return all;
}
