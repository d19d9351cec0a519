// checks.c - see checks.h.
#include "job/checks.h"
#include <string.h>
#include "compiler/model/model.h"
#include "runtime/train/run.h"

// ---- checkpoint.metric ----------------------------------------------------------------------

enum { MAX_METRICS = 64 };

typedef struct metrics {
  const char *names[MAX_METRICS];
  int n;
} metrics;

// Adds the metrics of a program: those of the loop's with the program's name.
static void list_metrics(gr_arena *a, const gr_program *p, metrics *out) {
  const gr_graph *g = p->frame.g;
  bool report = !strcmp(p->kind, "report");
  for (uint32_t k = 0; k < g->n_results && out->n < MAX_METRICS; k++) {
    const char *name = g->result_names[k], *end = strrchr(name, '.');
    if (report ? strncmp(name, "report.", 7) : strncmp(name, "metric.", 7) || strcmp(end, ".sum"))
      continue;
    out->names[out->n++] =
        report
            ? name + 7
            : gr_run_metric_of(a, p->kind, gr_arena_strndup(a, name + 7, (size_t)(end - name - 7)));
  }
}

// Those that checkpoint.metric may name: of evaluation, and of named programs.
static void find_metrics(gr_arena *a, const gr_run_spec *spec, metrics *out) {
  const gr_loop_settings *s = &spec->set.loop;
  for (out->n = 0; out->n < s->n_text_metrics; out->n++)
    out->names[out->n] = s->text_metrics[out->n].name;
  for (uint32_t i = 0; i < spec->plan->n_programs; i++) {
    const gr_program *p = &spec->plan->programs[i];
    bool train = !strncmp(p->kind, gr_model_train, 5) && (!p->kind[5] || p->kind[5] == '.');
    bool again = i && !strcmp(p->kind, p[-1].kind);  // in another bucket
    if (!train && !again && !p->frozen) list_metrics(a, p, out);
  }
}

static gr_status unknown_metric(gr_arena *a, const gr_conf *key, const metrics *m) {
  gr_status s = gr_fail(GR_ERR_CONFIG, key->loc, "the model has no metric '%s'", key->text);
  const char *near = gr_text_nearest(key->text, m->names, m->n);
  const char *list = gr_text_names(a, m->names, m->n);
  return near ? gr_hint(s, "did you mean '%s'? it has: %s", near, list)
              : gr_hint(s, "it has: %s", list);
}

// With a metric that no program computes, no best checkpoint would be kept, silently.
static gr_status check_metric(gr_arena *a, const gr_run_spec *spec) {
  const gr_conf *key = gr_conf_find(spec->conf, "checkpoint.metric");
  const char *metric = spec->set.saving.metric;
  metrics m;
  find_metrics(a, spec, &m);
  for (int i = 0; i < m.n; i++)
    if (!strcmp(m.names[i], metric)) return GR_OK;
  return m.n && key && !key->is_default ? unknown_metric(a, key, &m) : GR_OK;
}

// The names that a map `metrics:` gives; one that ends in '?' need not be there.
static void add_named(gr_arena *a, const char *program, const gr_conf *map, metrics *out) {
  for (int i = 0; map && map->kind == GR_CONF_MAP && i < map->n && out->n < MAX_METRICS; i++) {
    const char *name = gr_arena_strndup(a, map->keys[i], strcspn(map->keys[i], "?"));
    out->names[out->n++] = gr_run_metric_of(a, program, name);
  }
}

static void add_programs(gr_arena *a, gr_conf *programs, metrics *out) {
  for (int i = 0; programs && programs->kind == GR_CONF_MAP && i < programs->n; i++) {
    gr_conf *p = programs->items[i];
    if (p->kind != GR_CONF_MAP) continue;
    add_named(a, programs->keys[i], gr_conf_member(p, "metrics"), out);
    if (out->n < MAX_METRICS) out->names[out->n++] = gr_run_metric_of(a, programs->keys[i], "loss");
  }
}

gr_status gr_check_metric_named(gr_arena *a, gr_conf *conf, gr_conf *graph,
                                const gr_settings *set) {
  const gr_conf *key = gr_conf_find(conf, "checkpoint.metric");
  gr_conf *report = gr_conf_member(graph, "report");
  metrics m = {.n = 0};
  if (!key || key->is_default || key->kind != GR_CONF_TEXT) return GR_OK;
  m.names[m.n++] = "loss";
  add_named(a, "eval", gr_conf_member(graph, "metrics"), &m);
  if (report && report->kind == GR_CONF_MAP)
    add_named(a, "eval", gr_conf_member(report, "metrics"), &m);
  for (int i = 0; i < set->loop.n_text_metrics && m.n < MAX_METRICS; i++)
    m.names[m.n++] = set->loop.text_metrics[i].name;
  add_programs(a, gr_conf_member(graph, "programs"), &m);
  for (int i = 0; i < m.n; i++)
    if (!strcmp(m.names[i], key->text) || m.n == MAX_METRICS) return GR_OK;
  return unknown_metric(a, key, &m);
}

// ---- training.text_metrics --------------------------------------------------------------------

static bool has_result(const gr_program *p, const char *name) {
  for (uint32_t i = 0; i < p->frame.g->n_results; i++)
    if (!strcmp(p->frame.g->result_names[i], name)) return true;
  return false;
}

// Texts are tokens that the model predicts, and references of the data.
static gr_status check_text_metrics(const gr_run_spec *spec) {
  const gr_conf *key = gr_conf_find(spec->conf, "training.text_metrics");
  bool tokens = false;
  if (!spec->set.loop.n_text_metrics || spec->kind == GR_RUN_PREDICT) return GR_OK;
  for (uint32_t i = 0; i < spec->plan->n_programs; i++) {
    const gr_program *p = &spec->plan->programs[i];
    tokens |= !strcmp(p->kind, "eval") && has_result(p, "predict.tokens") &&
              has_result(p, "predict.lengths");
  }
  if (!tokens)
    return gr_hint(gr_fail(GR_ERR_CONFIG, key->loc,
                           "training.text_metrics: the model predicts no tokens with lengths"),
                   "generation.max_tokens makes a model that generates do so, and `predict: "
                   "{tokens: ..., lengths: ...}` another one; training.text_metrics=null: none");
  if (!spec->data || gr_dataset_has_texts(spec->data)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, key->loc,
                         "training.text_metrics: the samples of this data have no texts as labels"),
                 "data.source=speech has, and data.texts.target makes those of data.source=texts; "
                 "training.text_metrics=null: none");
}

// ---- Patterns of weights --------------------------------------------------------------------

typedef struct weights {
  gr_arena *arena;
  const gr_plan *plan;
  const char **name;
  int n;
} weights;

static weights list_weights(gr_arena *a, const gr_plan *p, bool trained) {
  weights w = {a, p, GR_NEW(a, const char *, p->n_states + 1), 0};
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].kind == GR_KIND_WEIGHT && (p->states[i].trained || !trained))
      w.name[w.n++] = p->states[i].name;
  return w;
}

static bool matches_any(const weights *w, const char *pattern) {
  for (int i = 0; i < w->n; i++)
    if (gr_name_matches(w->name[i], &pattern, 1)) return true;
  return false;
}

static gr_status suggest(gr_status s, const char *near) {
  return near ? gr_hint(s, "did you mean '%s'?", near) : s;
}

// Suggests a weight's name, or a pattern of names, that is like a pattern without matches.
static gr_status suggest_weight(gr_status s, const weights *w, const char *pattern) {
  int n = 0, most = 1;
  for (int i = 0; i < w->n; i++)
    for (const char *c = w->name[i]; *c; c++) most += *c == '.' ? 2 : 0;
  const char **like = GR_NEW(w->arena, const char *, most + w->n);
  for (int i = 0; i < w->n; i++) {
    const char *name = w->name[i];
    like[n++] = name;
    for (const char *c = strchr(name, '.'); c; c = strchr(c + 1, '.')) {
      like[n++] = gr_arena_printf(w->arena, "%.*s.*", (int)(c - name), name);
      like[n++] = gr_arena_printf(w->arena, "*%s", c);
    }
  }
  return suggest(s, gr_text_nearest(pattern, like, n));
}

static gr_status no_weight(const weights *w, const char *pattern, gr_loc loc, const char *rest) {
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "'%s' matches no weight of the model", pattern);
  return gr_hint(suggest_weight(s, w, pattern), "a weight's name is, for example, '%s'%s",
                 w->n ? w->name[0] : "layer.weight", rest);
}

// A pattern that matches no weight freezes nothing, so it is an error.
static gr_status check_freeze(const weights *w, const gr_texts *freeze) {
  gr_status all = GR_OK;
  for (int i = 0; i < freeze->n; i++)
    if (!matches_any(w, freeze->text[i]))
      all = gr_also(all, no_weight(w, freeze->text[i], freeze->loc[i], "; * matches anything"));
  return all;
}

// Of training.freezable: a pattern that matches no weight, and a weight that two match.
static gr_status check_freezable(const weights *all_weights, const weights *trained,
                                 const gr_optimizer_settings *s) {
  gr_status all = GR_OK;
  for (int i = 0; i < s->freezable.n; i++) {
    const char *pattern = s->freezable.text[i];
    for (int k = 0; k < trained->n; k++)
      if (gr_name_matches(trained->name[k], &pattern, 1) &&
          gr_freezable_of(s, trained->name[k]) != i)
        return gr_hint(
            gr_fail(GR_ERR_CONFIG, s->freezable.loc[i],
                    "'%s' of training.freezable matches '%s', and so does an earlier one", pattern,
                    trained->name[k]),
            "each weight is frozen by one pattern");
    if (matches_any(trained, pattern)) continue;
    gr_status e = gr_fail(GR_ERR_CONFIG, s->freezable.loc[i],
                          "'%s' of training.freezable matches no weight that is trained", pattern);
    all = gr_also(all, gr_hint(suggest_weight(e, all_weights, pattern),
                               "`graphrun plan` and model.freeze say which weights are trained"));
  }
  return all;
}

// A group that no weight is in has no effect, so it is an error.
static gr_status check_groups(const weights *w, const gr_optimizer_settings *s) {
  gr_status all = GR_OK;
  for (int k = 0; k < s->n_groups; k++) {
    const gr_param_group *g = &s->groups[k];
    bool any = false;
    for (int i = 0; i < w->n; i++) any |= gr_param_group_of(s, w->name[i]) == k;
    if (any) continue;
    if (!matches_any(w, g->pattern))
      all = gr_also(all, no_weight(w, g->pattern, g->loc, ""));
    else
      all = gr_also(
          all, gr_hint(gr_fail(GR_ERR_CONFIG, g->loc,
                               "every weight that '%s' matches is in an earlier group", g->pattern),
                       "a weight belongs to the first group that matches it"));
  }
  return all;
}

// Rules of training.precision_rules that match nothing in any program.
static gr_status check_precision(const weights *w, const gr_precision_settings *s) {
  gr_status all = GR_OK;
  uint64_t found = 0;
  for (uint32_t i = 0; i < w->plan->n_programs; i++)
    found |= w->plan->programs[i].notes.precision_rules;
  for (int i = 0; i < s->n_rules; i++) {
    const char *pattern = s->rules[i].pattern;
    if (found >> i & 1) continue;
    gr_status e = gr_fail(GR_ERR_CONFIG, s->rules[i].loc,
                          "training.precision_rules: nothing in the model matches '%s'", pattern);
    all = gr_also(all, gr_hint(suggest(e, gr_text_nearest(pattern, w->name, w->n)),
                               "a pattern is compared with places in the model, with places and "
                               "ops, such as '*.softmax', and with names of weights%s%s",
                               w->n ? ", such as " : "", w->n ? w->name[0] : ""));
  }
  return all;
}

// Rules of distributed.layout that match no weight.
static gr_status check_layout(const weights *w, const gr_sharding_settings *s) {
  gr_status all = GR_OK;
  for (int i = 0; i < s->n_given; i++) {
    const char *pattern = s->rules[i].pattern;
    if (matches_any(w, pattern)) continue;
    gr_status e = gr_fail(GR_ERR_CONFIG, s->rules[i].loc,
                          "distributed.layout: no weight is called '%s'", pattern);
    const char *near = gr_text_nearest(pattern, w->name, w->n);
    all = gr_also(all, near ? suggest(e, near)
                            : gr_hint(e, "`graphrun plan` lists the weights if any is sharded"));
  }
  return all;
}

gr_status gr_check_plan(gr_arena *a, const gr_run_spec *spec) {
  const gr_options *o = &spec->set.options;
  weights all = list_weights(a, spec->plan, false), trained = list_weights(a, spec->plan, true);
  GR_TRY(check_layout(&all, &o->sharding));
  GR_TRY(check_freeze(&all, &o->optimizer.freeze));
  if (spec->kind == GR_RUN_TRAIN) {
    GR_TRY(check_freezable(&all, &trained, &o->optimizer));
    GR_TRY(check_groups(&all, &o->optimizer));
    GR_TRY(check_precision(&all, &o->precision));
  }
  GR_TRY(check_text_metrics(spec));
  return check_metric(a, spec);
}
