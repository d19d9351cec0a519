// dry_run.c - a run on a device that computes nothing: it issues every step, evaluation and copy of
// the weights to the host that a real run would make, and the device checks them. The results are
// meaningless, so nothing is written (no folder, no checkpoint, no metrics), and hooks are not
// called. See run.h.
#include <stdlib.h>
#include "runtime/train/run.h"

typedef struct counts {
  int64_t evaluations, saves;
} counts;

// Makes the copies to the host that a checkpoint would make.
static gr_status copy_states(gr_states *states) {
  GR_TRY(gr_run_gather_full(states));
  for (int i = 0; i < states->n_saved; i++) {
    size_t bytes = (size_t)gr_tensor_slice_bytes(&states->saved[i]);
    char *to = malloc(bytes + 1);
    if (!to) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a copy of a weight");
    gr_status s = gr_run_fetch(states, &states->saved[i], to);
    free(to);
    GR_TRY(s);
  }
  return GR_OK;
}

static gr_status end_epoch(gr_run *r, counts *n) {
  int64_t every = r->me.spec->set.saving.every_epochs;
  gr_metrics ignored;
  bool due = gr_evaluation_is_due(&r->progress, &r->me.spec->set.loop);
  gr_progress_end_epoch(&r->progress);
  if (due) {
    GR_TRY(gr_run_eval(r, GR_SPLIT_VALIDATION, NULL, NULL, &ignored));
    n->evaluations += gr_run_can_eval(&r->me, GR_SPLIT_VALIDATION);
  }
  if (!every || r->progress.epoch % every) return GR_OK;
  n->saves++;
  return copy_states(&r->saving.states);
}

static gr_status step(gr_run *r, gr_loader *loader, counts *n) {
  const gr_batch *b = NULL;
  gr_step_results ignored;
  const gr_run_program *p = gr_run_next_program(&r->me, &r->progress);
  if (!r->control.failure)
    gr_run_set_failure(&r->control, gr_run_next_batch(&r->me, &r->progress, loader, &b));
  gr_control_set_lr(&r->control, gr_run_base_lr(&r->me, &r->progress));
  gr_step_controls k = gr_control_interrupted(&r->control);
  GR_TRY(gr_run_agree(&r->control, &r->me, (gr_time_split){0}, &k));
  if (k.failed || k.signal) return gr_run_exit_early(r, &k);
  GR_TRY(gr_run_compute(&r->me, &r->control.values, p, b, &ignored));
  gr_progress_advance(&r->progress, p->trains);
  int64_t every = r->me.spec->set.saving.every_steps;
  if (p->trains && every && r->progress.step % every == 0) {
    n->saves++;
    GR_TRY(copy_states(&r->saving.states));
  }
  return gr_run_epoch_open(&r->progress) ? end_epoch(r, n) : GR_OK;
}

static void report(gr_rank *r, int64_t steps, const counts *n) {
  const gr_device *d = gr_exec_device(r->exec);
  gr_text t = gr_text_make(r->arena);
  if (r->rank) return;
  if (d->ops->report) d->ops->report(d, &t);
  gr_log_result(
      "device %s: %lld step%s, %lld evaluation%s and %lld cop%s of the weights to the host; "
      "on rank 0 %s",
      d->ops->name, (long long)steps, gr_text_s(steps), (long long)n->evaluations,
      gr_text_s(n->evaluations), (long long)n->saves, n->saves == 1 ? "y" : "ies", t.chars);
  gr_log_result("nothing was computed, and nothing is written");
}

gr_status gr_run_dry(gr_run *r, gr_loader *loader) {
  counts n = {0};
  gr_metrics ignored;
  while (!gr_run_is_done(&r->progress, &r->me.spec->set.loop)) GR_TRY(step(r, loader, &n));
  if (r->me.spec->set.loop.final_train_eval && gr_run_can_eval(&r->me, GR_SPLIT_TRAIN)) {
    GR_TRY(gr_run_eval(r, GR_SPLIT_TRAIN, NULL, NULL, &ignored));
    n.evaluations++;
  }
  GR_TRY(copy_states(&r->saving.states));
  n.saves++;
  report(&r->me, r->progress.step, &n);
  return GR_OK;
}
