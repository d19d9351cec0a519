// end.c - ends a run: early exits, and the last checkpoint and evaluation. See run.h.
#include <math.h>
#include <string.h>
#include "runtime/train/run.h"

// ---- Leaving early ------------------------------------------------------------------------

// No checkpoint of an uninterrupted run has the state at an epoch's end, or that before an
// evaluation or a call of a hook that comes before it is saved. What a hook has asked to save is
// owed then.
static gr_status save_leaving(gr_run *r, const gr_step_controls *k) {
  bool last = !k->failed && !k->signal, early = k->cut || r->control.asked.evaluate;
  bool usual = !gr_run_epoch_open(&r->progress) && !r->progress.skipped && !early &&
               gr_run_save_due(&r->saving, &r->progress, k->save);
  if (k->save && !usual) (void)gr_saving_owe(&r->saving);
  return gr_run_save_last(r, !last && !usual);
}

// A dry run, and one that only uses weights, has no state to save.
static gr_status exit_without_saving(const gr_run *r, gr_status failure, const char *cause) {
  if (failure) return failure;
  if (*cause) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "%s", cause);
  if (!gr_run_is_dry(&r->me)) return gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal");
  return gr_fail(
      GR_ERR_STOPPED, GR_NOWHERE,
      "stopped by a signal at step %lld; the device '%s' computes nothing, so that there "
      "was nothing to save",
      (long long)r->progress.step, gr_exec_device(r->me.exec)->ops->name);
}

gr_status gr_run_exit_early(gr_run *r, const gr_step_controls *k) {
  gr_status failure = gr_control_take_failure(&r->control);
  const char *why = k->failed   ? (r->me.ranks > 1 ? "a rank failed" : "it cannot go on")
                    : k->signal ? "asked to stop"
                                : r->control.asked.reason;
  if (r->me.rank == 0 && r->me.spec->kind == GR_RUN_TRAIN)
    gr_log(GR_INFO, "stopping at step %lld: %s", (long long)r->progress.step, why);
  char cause[300] = "";
  gr_status s = k->failed ? gr_run_cause(&r->me, failure, cause, sizeof cause) : GR_OK;
  if (!s && !gr_run_writes(&r->me)) return exit_without_saving(r, failure, cause);
  if (!s && k->failed) gr_run_hook_exception(r, failure ? gr_status_text(failure) : cause);
  if (!s && r->progress.step) s = save_leaving(r, k);
  if (failure || s) return gr_also(failure, s);
  if (k->failed)
    return gr_fail(
        GR_ERR_RANK, GR_NOWHERE, "%s; the state is saved in %s", cause,
        gr_saver_last(r->saving.saver) ? gr_saver_last(r->saving.saver) : "no checkpoint");
  if (k->signal)
    return gr_hint(gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal at step %lld; %s",
                           (long long)r->progress.step,
                           r->progress.step ? "the state is saved" : "there was nothing to save"),
                   "go on with: checkpoint.resume=auto output.dir=%s", r->outputs.dir);
  const char *asked = r->control.asked.reason;
  gr_control_end(&r->control, *asked ? gr_arena_printf(r->me.arena, "stopped by a hook: %s", asked)
                                     : "stopped by a hook");
  return GR_OK;
}

gr_status gr_run_go_on(gr_run *r) {
  gr_step_controls k = gr_control_interrupted(&r->control);
  GR_TRY(gr_run_agree(&r->control, &r->me, &k));
  return k.failed || k.signal ? gr_run_exit_early(r, &k) : GR_OK;
}

// ---- The end ----------------------------------------------------------------------------------

static void show_metrics(const char *what, const gr_metrics *m) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_metrics_print(&t, m, " ");
  if (m->n) gr_log_result("%s:%s", what, t.chars);
  gr_arena_destroy(a);
}

static gr_status eval_training_set(gr_run *r) {
  gr_evaluation *e = &r->evaluation;
  gr_metrics now;
  GR_TRY(gr_run_eval(r, GR_SPLIT_TRAIN, NULL, &now));
  gr_evaluation_set_train(e, &now, gr_tables_copy(r->me.arena, gr_run_tables(e->sums), "train."));
  return GR_OK;
}

static gr_status final_eval(gr_run *r) {
  const gr_settings *s = &r->me.spec->set;
  gr_evaluation *e = &r->evaluation;
  bool done = gr_evaluation_is_of(e, &r->progress);
  if (s->loop.final_train_eval) GR_TRY(eval_training_set(r));
  bool lost = e->sums && !e->tables.n;  // a run that resumes at its end has the metrics alone
  if (!done || lost || (s->outputs.show_samples && !e->samples)) GR_TRY(gr_run_validate(r));
  if (!done) gr_run_log_validation(r);
  if (e->samples) gr_samples_print(e->samples, &r->me);
  gr_evaluation_finish(e);
  if (r->me.rank) return GR_OK;
  show_metrics("training set", &e->train_at_end);
  show_metrics("validation set", &e->validation);
  return GR_OK;
}

static void put_part(gr_text *t, const char *what, double bytes, double *rest) {
  *rest -= bytes;
  if (bytes >= 5e5) gr_text_printf(t, ", %s %.0f", what, bytes / 1e6);
}

// Resident memory besides the plan's blocks is measured where it is allocated; the rest is the
// remainder.
static void log_memory(gr_rank *r, double planned) {
  gr_memory now = gr_memory_now();
  double own_shared = (double)gr_exec_shared_bytes(r->exec), shared = (double)now.shared;
  double peak = (double)gr_resident_bytes(), rest = peak - planned;
  gr_text t = gr_text_make(r->arena);
  gr_text_printf(&t, "peak resident memory %.0f MB: planned %.0f", peak / 1e6, planned / 1e6);
  put_part(&t, "program and libraries", (double)now.files, &rest);
  put_part(&t, "mapped from other ranks", shared > own_shared ? shared - own_shared : 0, &rest);
  put_part(&t, strcmp(r->world->ops->backend, "mpi") ? "communication" : "MPI",
           (double)r->spec->launch_bytes, &rest);
  put_part(&t, "reading and compiling", (double)r->spec->plan_bytes, &rest);
  put_part(&t, "cached data", (double)gr_dataset_cached(r->spec->data), &rest);
  put_part(&t, "batches and all else", rest, &rest);
  gr_log(GR_INFO, "%s", t.chars);
}

// Ranks that run as threads share one process and its memory.
static gr_status report_memory(gr_rank *r, const gr_saving *s) {
  double mine = (double)(gr_exec_bytes(r->exec) + gr_saver_bytes(s->saver) + s->states.full_bytes +
                         r->staging_bytes),
         all;
  GR_TRY(gr_comm_run(r->world, GR_ALL_REDUCE, GR_F64, 1, &mine, &all));
  if (r->rank == 0) log_memory(r, strcmp(r->world->ops->backend, "threads") ? mine : all);
  return GR_OK;
}

// A run whose loss is not finite fails, even if it reached its last step.
static gr_status check_finite(gr_run *r) {
  if (!r->progress.skipped) return GR_OK;
  gr_status s = r->progress.skipped == 1
                    ? gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                              "the last step had no finite gradient and changed nothing")
                    : gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                              "the last %lld steps had no finite gradient and changed nothing",
                              (long long)r->progress.skipped);
  return gr_run_hint_before(r, s);
}

// Each process reports what it has read; ranks that are threads share one data set.
static void log_unreadable(gr_rank *r) {
  uint64_t n = gr_dataset_unreadable(r->spec->data);
  if (n && r->rank == gr_log_rank())
    gr_log(GR_WARN, "%llu sample%s could not be used and weighed 0", (unsigned long long)n,
           n > 1 ? "s" : "");
}

static void report_device(const gr_rank *r) {
  const gr_device *d = gr_exec_device(r->exec);
  gr_text t = gr_text_make(r->arena);
  if (r->rank || !d->ops->report) return;
  d->ops->report(d, &t);
  gr_log(GR_INFO, "device %s, on rank 0: %s", d->ops->name, t.chars);
}

static gr_status finish(gr_run *r) {
  GR_TRY(gr_run_weights_equal(&r->me));
  GR_TRY(gr_run_go_on(r));
  GR_TRY(final_eval(r));
  gr_run_prune_last(r);
  log_unreadable(&r->me);
  gr_run_hook(r, GR_HOOK_STOP, &r->evaluation.validation, r->control.ended);
  GR_TRY(gr_run_check(&r->control, &r->me));
  if (!r->me.rank) gr_waits_log(&r->waits);
  GR_TRY(report_memory(&r->me, &r->saving));
  report_device(&r->me);
  if (r->me.spec->profile && r->me.rank == 0) GR_TRY(gr_exec_profile(stderr, r->me.exec));
  return check_finite(r);
}

// A full disk loses the last checkpoint but not the results; an error at the end of the run reports
// it.
gr_status gr_run_end(gr_run *r) {
  gr_status saved = gr_run_save_last(r, false);
  if (saved && gr_status_code(saved) != GR_ERR_IO) return saved;
  return gr_also(saved, finish(r));
}
