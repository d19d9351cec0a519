// eval.c - batches into a program, metrics out of it, and what the model says. See run.h.
#include <math.h>
#include <string.h>
#include "runtime/train/run.h"

// ---- Batches and metrics --------------------------------------------------------------------

gr_status gr_run_write_inputs(gr_run *r, const gr_program *p, const gr_batch *f, int micro) {
  const gr_program_inputs *inputs = &r->spec->inputs[p - r->spec->plan->programs];
  for (int i = 0; i < inputs->n; i++) {
    const gr_program_input *in = &inputs->at[i];
    void *to = gr_exec_input(r->exec, p, in->name, NULL);
    if (in->field < 0) {
      gr_put(to, in->type.dtype, 0, in->field == GR_INPUT_LR ? r->lr : micro);
      continue;
    }
    const gr_field *field = &f->field[in->field];
    if (!gr_type_same(&in->type, &field->type))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "'%s' is of another shape in this batch", in->name);
    memcpy(to, field->at, gr_type_bytes(&in->type));
  }
  return GR_OK;
}

static double scalar(gr_run *r, const gr_program *p, const char *name) {
  gr_type t;
  const void *at = gr_exec_result(r->exec, p, name, &t);
  return at ? gr_get(at, t.dtype, 0) : (double)NAN;
}

static gr_metric *metric_of(gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->at[i].name, name)) return &m->at[i];
  if (m->n == GR_MAX_METRICS) return NULL;
  m->at[m->n] = (gr_metric){.name = name};
  return &m->at[m->n++];
}

// A name that lives as long as the run does.
static const char *intern(gr_run *r, const char *name) {
  for (int i = 0; i < r->n_names; i++)
    if (!strcmp(r->names[i], name)) return r->names[i];
  if (r->n_names == GR_MAX_METRICS) return gr_arena_strdup(r->arena, name);
  return r->names[r->n_names++] = gr_arena_strdup(r->arena, name);
}

// "metric.cer.sum" and "metric.cer.weight": both already sums over the global batch.
void gr_run_read_metrics(gr_run *r, const gr_program *p, gr_metrics *sums) {
  const gr_graph *g = p->frame.g;
  for (uint32_t i = 0; i < g->n_results; i++) {
    const char *name = g->result_names[i], *end = strrchr(name, '.');
    if (strncmp(name, "metric.", 7) || strcmp(end, ".sum")) continue;
    char weight[300], plain[256];
    snprintf(plain, sizeof plain, "%.*s", (int)(end - name - 7), name + 7);
    snprintf(weight, sizeof weight, "metric.%s.weight", plain);
    gr_metric *m = metric_of(sums, intern(r, plain));
    if (m) m->sum += scalar(r, p, name), m->weight += scalar(r, p, weight);
  }
}

double gr_metric_value(const gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->at[i].name, name)) return m->at[i].sum / m->at[i].weight;
  return (double)NAN;
}

int gr_metrics_named(gr_arena *arena, const gr_metrics *m, const char *prefix, gr_named *out) {
  for (int i = 0; i < m->n; i++)
    out[i] = (gr_named){gr_arena_printf(arena, "%s%s", prefix, m->at[i].name),
                        m->at[i].sum / m->at[i].weight};
  return m->n;
}

// ---- Evaluation -----------------------------------------------------------------------------

// Before each batch all ranks agree that they go on; the end comes to all at once.
static gr_status eval_batches(gr_run *r, gr_loader *loader, const char *what, gr_samples *samples,
                              gr_metrics *out) {
  const gr_batch *b = NULL;
  for (uint32_t of = 0;;) {
    if (!r->failure) gr_run_set_failure(r, gr_loader_next(loader, &b));
    gr_step_controls k = {.signal = gr_run_signalled(), .failed = r->failure != GR_OK};
    GR_TRY(gr_run_agree(r, &k));
    if (k.failed || k.signal) return gr_run_exit_early(r, &k);
    of = b ? b->of : of;
    gr_report_evaluating(r->report, what, b ? b->index : of, of);
    if (!b) return GR_OK;
    const gr_program *p = r->eval[b->bucket];
    GR_TRY(gr_run_write_inputs(r, p, b, 0));
    GR_TRY(gr_exec_run(r->exec, p));
    gr_run_read_metrics(r, p, out);
    if (samples) gr_samples_take(samples, r, p, b);
  }
}

gr_status gr_run_eval(gr_run *r, gr_split split, gr_samples *samples, gr_metrics *out) {
  const gr_settings *s = &r->spec->set;
  const gr_dataset_options *o = gr_dataset_settings(r->spec->data);
  gr_loader_spec spec = {.split = split,
                         .batch = (s->batch + s->micro_batches - 1) / s->micro_batches,
                         .rank = r->share,
                         .ranks = r->shares,
                         .seed = (uint64_t)s->seed,
                         .epochs = 1,
                         .workers = o->workers,
                         .prefetch = o->prefetch};
  const char *what = split == GR_SPLIT_TRAIN ? "training" : "validation";
  gr_loader *loader;
  gr_metrics sums = {0};
  if (gr_dataset_count(r->spec->data, split)) {
    GR_TRY(gr_loader_open(r->spec->data, &spec, &loader));
    gr_status st = eval_batches(r, loader, what, samples, &sums);
    gr_loader_close(loader);
    if (st) return st;
  }
  *out = sums;
  return GR_OK;
}

// ---- An evaluation of the run -----------------------------------------------------------------

// Without validation samples there is nothing to tell of.
gr_status gr_run_validate(gr_run *r, gr_samples *samples) {
  gr_named named[GR_MAX_METRICS];
  GR_TRY(gr_run_eval(r, GR_SPLIT_VALIDATION, samples, &r->validation));
  bool again = r->eval_step == r->step;
  if (again || !gr_dataset_count(r->spec->data, GR_SPLIT_VALIDATION)) return GR_OK;
  int n = gr_metrics_named(r->arena, &r->validation, "validation.", named);
  r->eval_step = r->step;
  gr_run_set_failure(r, gr_report_eval(r->report, r->step, gr_run_last_epoch(r), named, n));
  gr_run_update_best(r);
  gr_run_hook(r, GR_HOOK_EVAL_END, &r->validation, NULL);
  return GR_OK;
}

// Once it is known whether the state is saved, too.
void gr_run_log_validation(const gr_run *r) {
  if (r->rank || r->eval_step != r->step) return;
  gr_text t = gr_text_make(r->arena);
  bool due = gr_run_save_due(r, false) || r->step == r->total_steps;  // at the end it always is
  bool saved = r->saved_step == r->step || (due && !r->skipped);
  bool best = r->best_step == r->step && !isnan(r->best);
  gr_text_printf(&t, "epoch %lld  step %lld  validation", (long long)gr_run_last_epoch(r),
                 (long long)r->step);
  for (int i = 0; i < r->validation.n; i++)
    gr_text_printf(&t, "  %s %.4f", r->validation.at[i].name,
                   r->validation.at[i].sum / r->validation.at[i].weight);
  if (best) gr_text_printf(&t, "  best %s", r->spec->set.metric);
  if (saved) gr_text_put(&t, best ? ", saved" : "  saved");
  gr_log(GR_INFO, "%s", t.at);
}
