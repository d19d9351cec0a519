// run_end.c - the end of a run: an early one; the last checkpoint, evaluation, results. See run.h.
#include <math.h>
#include <string.h>
#include "cli/run.h"

// ---- Leaving early ------------------------------------------------------------------------

// The state at an epoch's end is not that of any checkpoint of an undisturbed run.
static gr_status save_leaving(gr_run *r, const gr_knobs *k) {
  bool last = !k->failed && !k->signal;
  return gr_run_save_last(r, !last && (gr_run_epoch_open(r) || !gr_run_save_due(r, k->save)));
}

gr_status gr_run_leave(gr_run *r, const gr_knobs *k) {
  gr_status failure = r->failure;
  r->failure = GR_OK;
  const char *why = k->failed ? "a rank failed" : k->signal ? "asked to stop" : r->asked.reason;
  if (r->rank == 0) gr_log(GR_INFO, "stopping at step %lld: %s", (long long)r->step, why);
  gr_status s = r->step ? save_leaving(r, k) : GR_OK;
  if (failure || s) return gr_also(failure, s);
  if (k->failed)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank failed; the state is saved in %s",
                   gr_saver_last(r->saver) ? gr_saver_last(r->saver) : "no checkpoint");
  if (k->signal)
    return gr_hint(
        gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal at step %lld; %s",
                (long long)r->step, r->step ? "the state is saved" : "there was nothing to save"),
        "go on with: checkpoint.resume=auto output.dir=%s", r->dir);
  r->ended = "stopped by a hook";
  return GR_OK;
}

// ---- The end ----------------------------------------------------------------------------------

static void show_metrics(const char *what, const gr_metrics *m) {
  if (!m->n) return;
  printf("%s:", what);
  for (int i = 0; i < m->n; i++) printf(" %s %.4f", m->at[i].name, m->at[i].sum / m->at[i].weight);
  printf("\n");
  fflush(stdout);
}

static gr_status final_eval(gr_run *r) {
  const gr_settings *s = &r->job->set;
  if (s->final_train_eval) GR_TRY(gr_run_eval(r, GR_SPLIT_TRAIN, 0, &r->train_at_end));
  GR_TRY(gr_run_eval(r, GR_SPLIT_VALIDATION, (int)s->show_samples, &r->validation));
  if (r->rank) return GR_OK;
  show_metrics("training set", &r->train_at_end);
  show_metrics("validation set", &r->validation);
  return GR_OK;
}

static gr_status write_results(gr_run *r) {
  gr_text config = gr_text_make(r->arena);
  gr_conf_json(&config, r->job->conf, 2);
  gr_named named[2 * GR_MAX_METRICS];
  int n = gr_metrics_named(r->arena, &r->train_at_end, "train.", named);
  n += gr_metrics_named(r->arena, &r->validation, "validation.", named + n);
  int64_t parameters = gr_plan_parameters(r->job->plan);
  gr_results out = {.model = r->job->set.graph,
                    .backend = r->ranks > 1 ? "mpi" : "none",
                    .device = "cpu",
                    .ended = r->ended ? r->ended : "failed",
                    .ranks = r->ranks,
                    .parameters = parameters,
                    .trainable = parameters,
                    .epochs = r->epoch,
                    .steps = r->step,
                    .final_loss = r->loss,
                    .best_metric = isnan(r->best) ? NULL : r->job->set.metric,
                    .best_value = r->best,
                    .best_epoch = r->best_epoch,
                    .best_step = r->best_step,
                    .metrics = named,
                    .n_metrics = n,
                    .total_seconds = gr_seconds() - r->began,
                    .started = r->started,
                    .config = config.at};
  return gr_report_finish(r->report, &out);
}

// A loss that is not finite is no result, however the run came to its last step.
static gr_status check_finite(const gr_run *r) {
  if (!r->skipped) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                         "the last %lld steps had no finite gradient and changed nothing",
                         (long long)r->skipped),
                 "a smaller training.lr, a longer training.warmup_steps or training.grad_clip");
}

static gr_status finish(gr_run *r) {
  GR_TRY(gr_run_weights_equal(r));
  GR_TRY(final_eval(r));
  gr_run_hook(r, GR_HOOK_STOP, &r->validation, r->ended);
  GR_TRY(gr_run_check(r));
  if (r->rank == 0)
    gr_log(GR_INFO, "peak resident memory %.0f MB, planned %.0f MB",
           (double)gr_resident_bytes() / 1e6,
           (double)(gr_exec_bytes(r->exec) + gr_saver_bytes(r->saver) + r->full_bytes) / 1e6);
  if (r->job->args.profile && r->rank == 0) gr_exec_profile(stderr, r->exec);
  GR_TRY(write_results(r));
  return check_finite(r);
}

// A disk that is full costs the last checkpoint, not the figures; the run's end says so.
gr_status gr_run_end(gr_run *r) {
  gr_status saved = gr_run_save_last(r, false);
  if (saved && gr_status_code(saved) != GR_ERR_IO) return saved;
  return gr_also(saved, finish(r));
}
