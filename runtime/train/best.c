// best.c - tracks the best evaluations so far; a checkpoint that keep_best keeps is saved when its
// metric is measured. See run.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/train/run.h"

static bool better(const gr_run *r, double a, double b) {
  return r->me.spec->set.mode == gr_mode_max ? a > b : a < b;
}

// Both the metric and the loss must be finite: some metrics are finite even if the weights are NaN.
static bool counts(const gr_run *r, double value) {
  double loss = gr_metric_value(&r->validation, "loss");
  bool has_loss = gr_metrics_has(&r->validation, "loss");
  return isfinite(value) && (isfinite(loss) || !has_loss) && !r->progress.skipped;
}

// The best keep_best values, best first; on ties the earlier one is better.
static bool take(gr_run *r, double value) {
  int at = r->n_bests;
  while (at && better(r, value, r->bests[at - 1])) at--;
  if (at >= r->me.spec->set.keep_best) return false;
  if (r->n_bests == r->max_bests) {
    double *more = GR_NEW(r->me.arena, double, 8 + 2 * r->max_bests);
    if (r->n_bests) memcpy(more, r->bests, sizeof *more * (size_t)r->n_bests);
    r->bests = more, r->max_bests = 8 + 2 * r->max_bests;
  }
  memmove(r->bests + at + 1, r->bests + at, sizeof *r->bests * (size_t)(r->n_bests - at));
  r->bests[at] = value;
  if (++r->n_bests > r->me.spec->set.keep_best) r->n_bests--;
  return true;
}

static void update_best(gr_run *r, double value) {
  r->among_best = false;
  if (!counts(r, value)) return;
  if (isnan(r->best) || better(r, value, r->best))
    r->best = value, r->best_step = r->progress.step,
    r->best_epoch = gr_run_last_epoch(&r->progress);
  r->among_best = take(r, value);
}

void gr_run_update_best(gr_run *r) {
  update_best(r, gr_metric_value(&r->validation, r->me.spec->set.metric));
}

bool gr_run_update_pass_best(gr_run *r) {
  double value = gr_metric_value(&r->progress.epoch_train, r->me.spec->set.metric);
  if (!gr_run_metric_is_of_pass(r)) return false;
  update_best(r, value);
  r->pass_step = r->progress.step, r->pass_value = value;
  return r->among_best;
}

const char *gr_run_bests(const gr_run *r, gr_arena *a) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < r->n_bests; i++) {
    gr_text_put(&t, i ? " " : "");
    gr_text_put_float(&t, r->bests[i]);
  }
  return t.at ? t.at : "";
}

void gr_run_restore_bests(gr_run *r, const char *text) {
  char *end;
  for (; *text; text = end) {
    double value = strtod(text, &end);
    if (end == text) return;
    take(r, value);
  }
}
