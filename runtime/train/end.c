// end.c - ends a run: the last checkpoint and evaluation. See run.h.
#include <string.h>
#include "runtime/train/run.h"

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
  GR_TRY(gr_run_eval(r, GR_SPLIT_TRAIN, NULL, NULL, &now));
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
  double local = (double)(gr_exec_bytes(r->exec) + gr_saver_bytes(s->saver) + s->states.full_bytes +
                          r->staging_bytes),
         all;
  GR_TRY(gr_comm_run(r->world, GR_ALL_REDUCE, GR_F64, 1, &local, &all));
  if (r->rank == 0) log_memory(r, strcmp(r->world->ops->backend, "threads") ? local : all);
  return GR_OK;
}

// Steps that were skipped for a loss scale that shrinks are usual, unless there were no others.
static gr_status check_learned(const gr_progress *p) {
  if (!p->step || p->all_skipped < p->step) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                         "nothing was learned in %lld step%s: the loss scale of fp16 was too large",
                         (long long)p->step, gr_text_s(p->step)),
                 "it becomes smaller with each of them: more steps, or a smaller "
                 "training.loss_scale.init");
}

// A run whose loss is not finite fails, even if it reached its last step.
static gr_status check_finite(gr_run *r) {
  if (gr_progress_is_sound(&r->progress)) return check_learned(&r->progress);
  gr_status s = r->progress.skipped == 1
                    ? gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                              "the last step had no finite gradient and changed nothing")
                    : gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
                              "the last %lld steps had no finite gradient and changed nothing",
                              (long long)r->progress.skipped);
  return gr_run_hint_before(r, s);
}

// Each process reports what it has read; ranks that are threads share one data set.
void gr_run_log_weightless(const gr_rank *r) {
  if (r->rank == gr_log_rank()) gr_dataset_log_weightless(r->spec->data);
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
  gr_run_log_weightless(&r->me);
  gr_run_hook(r, GR_HOOK_STOP, &r->evaluation.validation, r->control.ended);
  GR_TRY(gr_run_check(&r->control, &r->me));
  if (!r->me.rank || r->me.spec->set.outputs.log_ranks == gr_log_ranks_all) gr_waits_log(&r->waits);
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
