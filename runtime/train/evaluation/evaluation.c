// evaluation.c - see evaluation.h. A checkpoint that keep_best keeps is saved when its metric is
// measured.
#include "runtime/train/evaluation/evaluation.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"

static void check(const gr_evaluation *e) {
  assert(e->eval_step >= -1 && e->pass_step >= -1);
  assert(e->n_bests >= 0 && e->n_bests <= e->max_bests);
  assert(!e->among_best || !isnan(e->best));
  (void)e;
}

gr_status gr_evaluation_open(gr_evaluation *e, gr_rank *r) {
  *e = (gr_evaluation){.eval_step = -1, .pass_step = -1, .best = (double)NAN};
  GR_TRY(gr_text_scores_open(r, &e->texts));
  return gr_run_open_sums(r, &e->sums);
}

static void close_shown(gr_evaluation *e) {
  gr_samples_close(e->samples);
  gr_mistakes_close(e->mistakes);
}

void gr_evaluation_close(gr_evaluation *e) {
  close_shown(e);
  gr_text_scores_close(e->texts);
}

// ---- Results -----------------------------------------------------------------------------------

bool gr_evaluation_is_due(const gr_progress *p, const gr_loop_settings *s) {
  return s->eval_every && ((p->epoch + 1) % s->eval_every == 0 || p->step == p->total_steps);
}

bool gr_evaluation_is_of(const gr_evaluation *e, const gr_progress *p) {
  return e->eval_step == p->step;
}

void gr_evaluation_clear(gr_evaluation *e) { e->validation.n = 0; }

void gr_evaluation_show(gr_evaluation *e, gr_samples *samples, gr_mistakes *mistakes) {
  close_shown(e);
  e->samples = samples, e->mistakes = mistakes;
}

void gr_evaluation_set(gr_evaluation *e, const gr_metrics *m, gr_tables tables) {
  e->validation = *m, e->tables = tables;
}

void gr_evaluation_set_train(gr_evaluation *e, const gr_metrics *m, gr_tables tables) {
  e->train_at_end = *m, e->tables_at_end = tables;
}

void gr_evaluation_finish(gr_evaluation *e) { e->evaluated = true; }

// ---- The best ----------------------------------------------------------------------------------

static bool better(const gr_saving_settings *s, double a, double b) {
  return s->mode == gr_mode_max ? a > b : a < b;
}

// Both the metric and the loss must be finite: some metrics are finite even if the weights are NaN.
static bool counts(const gr_evaluation *e, const gr_progress *p, double value) {
  double loss = gr_metric_value(&e->validation, "loss");
  bool has_loss = gr_metrics_has(&e->validation, "loss");
  return isfinite(value) && (isfinite(loss) || !has_loss) && gr_progress_is_sound(p);
}

// The best keep_best values, best first; on ties the earlier one is better.
static bool take(gr_evaluation *e, gr_rank *r, double value) {
  const gr_saving_settings *s = &r->spec->set.saving;
  int place = e->n_bests;
  while (place && better(s, value, e->bests[place - 1])) place--;
  if (place >= s->keep_best) return false;
  GR_GROW(r->arena, e->bests, e->n_bests, e->max_bests);
  memmove(e->bests + place + 1, e->bests + place, sizeof *e->bests * (size_t)(e->n_bests - place));
  e->bests[place] = value;
  if (++e->n_bests > s->keep_best) e->n_bests--;
  return true;
}

static void update_best(gr_evaluation *e, gr_rank *r, const gr_progress *p, double value) {
  e->among_best = false;
  if (!counts(e, p, value)) return;
  if (isnan(e->best) || better(&r->spec->set.saving, value, e->best))
    e->best = value, e->best_step = p->step, e->best_epoch = gr_run_last_epoch(p);
  e->among_best = take(e, r, value);
  check(e);
}

void gr_evaluation_count(gr_evaluation *e, gr_rank *r, const gr_progress *p) {
  e->eval_step = p->step;
  update_best(e, r, p, gr_metric_value(&e->validation, r->spec->set.saving.metric));
}

bool gr_run_metric_is_of_pass(const gr_run_spec *s) {
  return s->looped && strchr(s->set.saving.metric, '.');
}

bool gr_run_update_pass_best(gr_evaluation *e, gr_rank *r, const gr_progress *p) {
  double value = gr_metric_value(&p->epoch_train, r->spec->set.saving.metric);
  if (!gr_run_metric_is_of_pass(r->spec)) return false;
  update_best(e, r, p, value);
  e->pass_step = p->step, e->pass_value = value;
  return e->among_best;
}

// The first evaluation at or after so many epochs; after the last epoch there is nothing to end.
static bool is_compared(const gr_run_spec *s, const gr_progress *p, const gr_rung *rung) {
  int64_t every = gr_run_metric_is_of_pass(s) ? 1 : s->set.loop.eval_every;
  return every && p->epoch % every == 0 && p->epoch >= rung->epochs &&
         p->epoch - every < rung->epochs;
}

// A value that is not a number has reached nothing.
const gr_rung *gr_evaluation_missed(const gr_evaluation *e, const gr_run_spec *s,
                                    const gr_progress *p) {
  const gr_saving_settings *saving = &s->set.saving;
  double value =
      gr_run_metric_is_of_pass(s) ? e->pass_value : gr_metric_value(&e->validation, saving->metric);
  for (const gr_rung *r = s->set.loop.rungs; r < s->set.loop.rungs + s->set.loop.n_rungs; r++)
    if (is_compared(s, p, r) && !(value == r->value || better(saving, value, r->value))) return r;
  return NULL;
}

bool gr_evaluation_is_among_best(const gr_evaluation *e, const gr_progress *p) {
  return e->among_best && gr_evaluation_is_of(e, p);
}

// ---- In a checkpoint ---------------------------------------------------------------------------

static void write_bests(const void *part, gr_scalars_out *out) {
  const gr_evaluation *e = part;
  gr_text t = gr_text_make(out->arena);
  for (int i = 0; i < e->n_bests; i++) {
    gr_text_put(&t, i ? " " : "");
    gr_text_put_float(&t, e->bests[i]);
  }
  gr_scalars_put_text(out, "run.bests", t.chars ? t.chars : "");
}

static gr_status read_bests(void *part, const gr_scalars_in *in) {
  const gr_scalar *s = gr_scalars_find(in, "run.bests", GR_SCALAR_TEXT);
  char *end;
  for (const char *text = s ? s->text : ""; *text; text = end) {
    double value = strtod(text, &end);
    if (end == text) break;
    take(part, in->rank, value);
  }
  return GR_OK;
}

// The results of the last evaluation. A metric's name has no dot before it.
static void write_validation(const void *part, gr_scalars_out *out) {
  gr_scalars_put_metrics(out, "", &((const gr_evaluation *)part)->validation);
}

static gr_status read_validation(void *part, const gr_scalars_in *in) {
  gr_scalars_take_metrics(in, "", &((gr_evaluation *)part)->validation);
  return GR_OK;
}

// The metric by which checkpoints are compared, if it is one of a pass, and this is the state at
// its end. Its name has a dot.
static void write_pass(const void *part, gr_scalars_out *out) {
  const gr_evaluation *e = part;
  const gr_run_spec *spec = out->rank->spec;
  if (e->pass_step == out->step && gr_run_metric_is_of_pass(spec))
    gr_scalars_put_float(out, spec->set.saving.metric, e->pass_value);
}

void gr_evaluation_scalars(gr_evaluation *e, gr_scalar_table *t) {
  const gr_scalar_row rows[] = {
      {90, "run.best", GR_FIELD_FLOAT, &e->best, NULL, NULL},
      {100, "run.best_step", GR_FIELD_INT, &e->best_step, NULL, NULL},
      {110, "run.best_epoch", GR_FIELD_INT, &e->best_epoch, NULL, NULL},
      {120, GR_CHECKPOINT_MEASURED, GR_FIELD_INT, &e->eval_step, NULL, NULL},
      {260, "run.bests", GR_SCALARS, e, write_bests, read_bests},
      {270, "METRIC", GR_SCALARS, e, write_validation, read_validation},
      {280, "PROGRAM.METRIC", GR_SCALARS, e, write_pass, NULL},
  };
  gr_scalar_table_add(t, rows, sizeof rows / sizeof *rows);
}
