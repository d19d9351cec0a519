// eval.c - runs the eval program over a split and reports the results. See run.h.
#include <math.h>
#include "base/events.h"
#include "base/shown.h"
#include "runtime/train/batches.h"
#include "runtime/train/run.h"

// ---- Evaluation -----------------------------------------------------------------------------

// Runs a batch, with virtual shards one after the other.
static gr_status eval_batch(gr_run *r, const gr_batch *b, const gr_batch_taker *taker,
                            gr_metrics *out) {
  gr_metrics levels[GR_SHARD_LEVELS];
  gr_step_results now;
  int each = r->me.spec->set.options.sharding.shards_each, parts = each ? each : 1, top = 0;
  for (int k = 0; k < parts; k++) {
    gr_batch part = gr_batch_slice(b, k, parts);
    gr_exec_set_shard(r->me.exec, k, true);
    GR_TRY(gr_run_compute(&r->me, &r->control.values, r->me.eval, &part, &now));
    gr_metrics_add_tree(levels, k, &now.metrics);
    GR_TRY(gr_run_add_sums(&r->me, r->evaluation.sums, b->bucket, k, k + 1 == parts));
    if (taker) GR_TRY(taker->take(taker->self, &part));
  }
  while (1 << top < parts) top++;
  gr_metrics_add(out, &levels[top]);
  return GR_OK;
}

// Before each batch all ranks agree to continue, so that all of them stop at the same batch.
static gr_status eval_batches(gr_run *r, gr_loader *loader, const char *what,
                              const gr_batch_taker *taker, gr_metrics *out) {
  const gr_batch *b = NULL;
  for (uint32_t of = 0;;) {
    gr_event("taking a batch to evaluate");
    if (!r->control.failure) gr_run_set_failure(&r->control, gr_run_take_batch(loader, &b));
    GR_TRY(gr_run_go_on(r));
    of = b ? b->of : of;
    if (r->outputs.report) gr_report_evaluating(r->outputs.report, what, b ? b->index : of, of);
    if (!b) return GR_OK;
    GR_TRY(eval_batch(r, b, taker, out));
  }
}

static gr_status eval_once(gr_run *r, gr_metrics *out) {
  gr_step_results now;
  GR_TRY(gr_run_go_on(r));
  GR_TRY(gr_run_compute(&r->me, &r->control.values, r->me.eval, NULL, &now));
  gr_metrics_add(out, &now.metrics);
  return gr_run_add_sums(&r->me, r->evaluation.sums, 0, 0, true);
}

gr_status gr_run_eval_each(gr_run *r, gr_split split, const gr_batch_taker *taker,
                           gr_metrics *out) {
  gr_loader_spec spec = gr_run_eval_batches(&r->me, split);
  const char *what = split == GR_SPLIT_TRAIN ? "training" : "validation";
  gr_loader *loader;
  gr_metrics sums = {0};
  if (gr_run_can_eval(&r->me, split) && !r->me.eval->takes_batch) {
    GR_TRY(eval_once(r, &sums));
  } else if (gr_run_can_eval(&r->me, split)) {
    GR_TRY(gr_loader_open(r->me.spec->data, &spec, &loader));
    gr_run_follow(&r->me, loader, r->me.eval);
    gr_status st = eval_batches(r, loader, what, taker, &sums);
    gr_run_follow(&r->me, NULL, NULL);
    gr_loader_close(loader);
    if (st) return st;
  }
  *out = sums;
  return GR_OK;
}

typedef struct collected {
  gr_rank *r;
  gr_text_scores *texts;
  gr_samples *samples;
  gr_mistakes *mistakes;
} collected;

static gr_status collect(void *self, const gr_batch *b) {
  collected *c = self;
  GR_TRY(gr_text_scores_take(c->texts, c->r, b));
  if (c->samples) GR_TRY(gr_samples_take(c->samples, c->r, b));
  return c->mistakes ? gr_mistakes_take(c->mistakes, c->r, b) : GR_OK;
}

gr_status gr_run_eval_part(gr_run *r, gr_split split, gr_samples *samples, gr_mistakes *mistakes,
                           gr_metrics *out) {
  collected c = {&r->me, r->evaluation.texts, samples, mistakes};
  const gr_batch_taker taker = {collect, &c};
  return gr_run_eval_each(r, split, samples || mistakes || c.texts ? &taker : NULL, out);
}

void gr_run_eval_begin(gr_run *r) {
  gr_run_clear_sums(r->evaluation.sums);
  gr_text_scores_clear(r->evaluation.texts);
}

gr_status gr_run_eval_end(gr_run *r, gr_metrics *m) {
  GR_TRY(gr_run_report_sums(&r->me, r->evaluation.sums, m));
  return gr_text_scores_report(r->evaluation.texts, &r->me, m);
}

gr_status gr_run_eval(gr_run *r, gr_split split, gr_samples *samples, gr_mistakes *mistakes,
                      gr_metrics *out) {
  gr_metrics all;
  gr_run_eval_begin(r);
  GR_TRY(gr_run_eval_part(r, split, samples, mistakes, &all));
  GR_TRY(gr_run_eval_end(r, &all));
  *out = all;
  return GR_OK;
}

// ---- An evaluation of the run -----------------------------------------------------------------

static gr_status eval_samples(gr_run *r) {
  int64_t n = r->me.spec->set.outputs.show_samples, most = r->me.spec->set.outputs.mistakes;
  gr_evaluation *e = &r->evaluation;
  gr_metrics now;
  gr_evaluation_show(e, n ? gr_samples_choose(&r->me, GR_SPLIT_VALIDATION, n) : NULL,
                     most ? gr_mistakes_open(&r->me, most) : NULL);
  GR_TRY(gr_run_eval(r, GR_SPLIT_VALIDATION, e->samples, e->mistakes, &now));
  gr_evaluation_set(e, &now, gr_tables_copy(r->me.arena, gr_run_tables(e->sums), "validation."));
  if (e->samples) GR_TRY(gr_samples_gather(e->samples, &r->me));
  return e->mistakes ? gr_mistakes_gather(e->mistakes, &r->me) : GR_OK;
}

static void write_samples(gr_run *r, bool again) {
  const gr_evaluation *e = &r->evaluation;
  gr_report *report = r->outputs.report;
  int64_t step = r->progress.step;
  if (e->samples)
    gr_run_set_failure(&r->control, gr_samples_write(e->samples, &r->me, report, step, again));
  gr_status s = e->mistakes ? gr_mistakes_write(e->mistakes, &r->me, report, step) : GR_OK;
  if (s) gr_log(GR_WARN, "the worst mistakes are not kept: %s", gr_status_text(s));
  gr_status_drop(s);  // the report lacks them; the run and its figures do not
}

// Without validation samples there is nothing to report.
gr_status gr_run_validate(gr_run *r) {
  gr_evaluation *e = &r->evaluation;
  const gr_progress *p = &r->progress;
  gr_named named[GR_MAX_METRICS];
  if (r->control.called[GR_ONCE_EVAL_START] != p->step &&
      gr_run_hook(r, GR_HOOK_EVAL_START, NULL, NULL))
    gr_control_set_called(&r->control, GR_ONCE_EVAL_START, p->step);
  GR_TRY(eval_samples(r));
  bool again = gr_evaluation_is_of(e, p);
  if (again) write_samples(r, true);
  if (again || !gr_run_can_eval(&r->me, GR_SPLIT_VALIDATION)) return GR_OK;
  int n = gr_metrics_named(r->me.arena, &e->validation, "validation.", named);
  gr_evaluation_count(e, &r->me, p);
  gr_run_set_failure(&r->control, gr_report_eval(r->outputs.report, p->step, gr_run_last_epoch(p),
                                                 named, n, &e->tables));
  write_samples(r, false);
  gr_run_hook(r, GR_HOOK_EVAL_END, &e->validation, NULL);
  return GR_OK;
}

// Runs after it is decided whether the state is saved.
void gr_run_log_validation(const gr_run *r) {
  const gr_progress *p = &r->progress;
  const gr_evaluation *e = &r->evaluation;
  if (r->me.rank || !gr_evaluation_is_of(e, p)) return;
  char metric[GR_QUANTITY];
  gr_text t = gr_text_make(r->me.arena);
  bool due =
      gr_run_save_due(&r->saving, p, false) || p->step == p->total_steps;  // always due at the end
  bool saved = gr_saving_has(&r->saving, p) || (due && gr_progress_is_sound(p));
  bool best = e->best_step == p->step && !isnan(e->best);
  gr_text_printf(&t, "epoch %lld  step %lld  validation", (long long)gr_run_last_epoch(p),
                 (long long)p->step);
  gr_metrics_print(&t, &e->validation, "  ");
  if (best && saved)
    gr_text_printf(&t, "  saved best model: step-%08lld (%s: %s)", (long long)p->step,
                   r->me.spec->set.saving.metric, gr_result_text(e->best, metric));
  else if (best)
    gr_text_printf(&t, "  best %s", r->me.spec->set.saving.metric);
  else if (saved)
    gr_text_put(&t, "  saved");
  gr_log(GR_INFO, "%s", t.chars);
}
