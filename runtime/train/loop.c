// loop.c - the training loop. See run.h.
#include <math.h>
#include "base/events.h"
#include "runtime/train/batches.h"
#include "runtime/train/run.h"

// ---- Opening --------------------------------------------------------------------------------

static gr_status open_rank(gr_run *r, const gr_run_spec *spec, gr_comm *world) {
  r->saving = gr_saving_begin();
  r->control = gr_control_begin(spec);
  r->progress = gr_progress_begin(spec);
  GR_TRY(gr_rank_open(&r->me, spec, world));
  return gr_evaluation_open(&r->evaluation, &r->me);
}

static gr_status open_run(gr_run *r, bool *nothing_left) {
  GR_TRY(gr_run_try_batches(&r->me, &r->progress));
  if (!gr_run_is_dry(&r->me)) GR_TRY(gr_run_open_dir(&r->outputs, &r->me));
  GR_TRY(gr_run_find_start(r, nothing_left));
  if (gr_run_is_dry(&r->me) && r->me.rank == 0)
    gr_run_log_start(&r->me, &r->progress, r->outputs.dir);
  if (gr_run_is_dry(&r->me)) return gr_run_open_state(r);
  if (*nothing_left) return GR_OK;
  if (gr_run_writes(&r->me)) GR_TRY(gr_run_open_log(&r->outputs, &r->me));
  gr_run_set_failure(&r->control, gr_run_open_hooks(&r->outputs, &r->me));
  GR_TRY(gr_run_check(&r->control, &r->me));
  GR_TRY(gr_run_open_state(r));
  if (r->me.rank == 0 && gr_run_writes(&r->me))
    gr_run_log_start(&r->me, &r->progress, r->outputs.dir);
  else if (r->me.rank == 0)
    gr_dataset_log_skipped(r->me.spec->data);
  if (r->me.spec->set.outputs.log_ranks == gr_log_ranks_all) gr_run_log_rank(&r->me);
  gr_run_hook(r, GR_HOOK_START, NULL, NULL);
  if (r->saving.resumed_from) gr_run_hook(r, GR_HOOK_RESUME, NULL, NULL);
  GR_TRY(gr_run_check(&r->control, &r->me));
  // From here on the folder's files are this run's: a start that fails has left them alone.
  bool eval_open = !gr_evaluation_is_of(&r->evaluation, &r->progress);
  GR_TRY(gr_run_open_report(&r->outputs, &r->me, &r->progress, eval_open));
  return gr_run_writes(&r->me) ? gr_run_save_config(&r->me, r->outputs.dir) : GR_OK;
}

// ---- An epoch's end -----------------------------------------------------------------------------

// That of the last program of the run that trains.
static double train_loss(const gr_rank *r, const gr_progress *p) {
  const char *name = NULL;
  for (int i = 0; i < r->spec->n_programs; i++)
    if (r->programs[i].trains) name = r->programs[i].loss;
  return name ? gr_metric_value(&p->epoch_train, name) : (double)NAN;
}

// Every rank has the same metrics, and agrees with what rank 0 asks.
static void stop_if_missed(gr_run *r) {
  const gr_run_spec *s = r->me.spec;
  const gr_rung *missed = gr_evaluation_missed(&r->evaluation, s, &r->progress);
  gr_hook_result asked = {.stop = true};
  if (!missed || gr_run_is_done(&r->progress, &s->set.loop)) return;
  snprintf(asked.reason, sizeof asked.reason, "after %lld epochs %s has not reached %g",
           (long long)r->progress.epoch, s->set.saving.metric, missed->value);
  gr_control_ask(&r->control, &asked, 0);
}

static gr_status end_epoch(gr_run *r, double began) {
  int64_t every = r->me.spec->set.saving.every_epochs;
  const gr_progress *p = &r->progress;
  gr_named named[2 * GR_MAX_METRICS];
  double eval_began = gr_seconds();
  bool due = gr_evaluation_is_due(p, &r->me.spec->set.loop);
  gr_evaluation_clear(&r->evaluation);
  if (due) GR_TRY(gr_run_validate(r));
  int n = gr_metrics_named(r->me.arena, &p->epoch_train, "train.", named), n_train = n;
  n += gr_metrics_named(r->me.arena, &r->evaluation.validation, "validation.", named + n);
  gr_report_epoch_row row = {.epoch = p->epoch,
                             .steps = p->step,
                             .lr = r->control.values.lr,
                             .train_loss = train_loss(&r->me, p),
                             .seconds = gr_seconds() - began,
                             .data_seconds = gr_waits_end_epoch(&r->waits),
                             .samples = gr_dataset_count(r->me.spec->data, GR_SPLIT_TRAIN),
                             .metrics = named,
                             .n_metrics = n,
                             .n_train = n_train,
                             .last = p->step == p->total_steps,
                             .shown = r->me.spec->looped};
  gr_run_set_failure(&r->control, gr_report_epoch(r->outputs.report, &row));
  gr_run_hook(r, GR_HOOK_EPOCH_END, &p->epoch_train, NULL);
  bool best = gr_evaluation_is_among_best(&r->evaluation, p);
  best |= gr_run_update_pass_best(&r->evaluation, &r->me, p);
  gr_progress_end_epoch(&r->progress);
  stop_if_missed(r);
  if (best || (every && p->epoch % every == 0)) GR_TRY(gr_run_save_finite(r));
  gr_run_log_validation(r);
  if (due) gr_run_evaluated(r, gr_seconds() - eval_began);
  return GR_OK;
}

// ---- The loop ---------------------------------------------------------------------------------

// What all ranks do next. A failure of this rank stops all ranks.
static gr_status agree(gr_run *r, gr_step_controls *k) {
  gr_run_hook_epoch(r);
  gr_run_hook_step(r);
  *k = gr_control_wanted(&r->control);
  k->finish = gr_saving_is_ready(&r->saving);
  double start = gr_run_span_begin(&r->me), began = gr_seconds();
  GR_TRY(gr_run_agree(&r->control, &r->me, gr_report_split(r->outputs.report), k));
  gr_waits_agreed(&r->waits, gr_seconds() - began);
  gr_run_span(&r->me, GR_TRACE_COMMUNICATION, "agree on what is next", start);
  gr_control_agreed(&r->control, k);
  return GR_OK;
}

// An evaluation that a hook has requested. If it is interrupted, the resumed run repeats it.
static gr_status evaluate_if_asked(gr_run *r) {
  double began = gr_seconds();
  if (!r->control.asked.evaluate) return GR_OK;
  if (!gr_evaluation_is_of(&r->evaluation, &r->progress)) gr_evaluation_clear(&r->evaluation);
  GR_TRY(gr_run_validate(r));
  gr_control_evaluated(&r->control);
  if (gr_evaluation_is_among_best(&r->evaluation, &r->progress)) GR_TRY(gr_run_save_finite(r));
  gr_run_log_validation(r);
  gr_run_evaluated(r, gr_seconds() - began);
  return GR_OK;
}

static gr_status save_if_due(gr_run *r, bool asked) {
  bool due =
      gr_run_save_due(&r->saving, &r->progress, asked) && !gr_saving_has(&r->saving, &r->progress);
  double start = gr_run_span_begin(&r->me), began = gr_seconds();
  gr_status s = due ? gr_run_save_finite(r) : GR_OK;
  if (due) gr_run_span(&r->me, GR_TRACE_CHECKPOINTS, "save", start);
  if (due) gr_report_interrupted(r->outputs.report, GR_ETA_CHECKPOINT, gr_seconds() - began, 1);
  return s;
}

// Within the span of a batch that was not ready, the trace shows a span of waiting.
static void take_batch(gr_run *r, gr_loader *loader, const gr_batch **out) {
  bool ready = gr_loader_ready(loader);
  gr_event_step(r->progress.step);
  gr_event(ready ? "taking a batch" : "waiting for a batch");
  double began = gr_seconds(), start = gr_run_span_begin(&r->me);
  if (!r->control.failure)
    gr_run_set_failure(&r->control, gr_run_next_batch(&r->me, &r->progress, loader, out));
  if (*out) gr_waits_add(&r->waits, r->me.waited + (ready ? 0 : gr_seconds() - began));
  r->me.waited = 0;
  if (!ready && *out) gr_run_span(&r->me, GR_TRACE_DATA, "not ready", start);
  gr_run_span(&r->me, GR_TRACE_DATA, "next batch", start);
}

// A run that was stopped at the end of an epoch resumes by ending that epoch.
static gr_status loop(gr_run *r, gr_loader *loader) {
  for (double epoch_began = gr_seconds();;) {
    if (gr_run_epoch_open(&r->progress)) {
      GR_TRY(end_epoch(r, epoch_began));
      epoch_began = gr_seconds();
    }
    if (gr_run_is_done(&r->progress, &r->me.spec->set.loop)) break;
    const gr_batch *b = NULL;
    gr_step_controls k;
    if (!r->control.failure)
      gr_run_set_failure(&r->control, gr_run_trace(&r->me, r->progress.step, r->outputs.dir));
    take_batch(r, loader, &b);
    GR_TRY(agree(r, &k));
    if (k.failed || k.signal || k.stop) return gr_run_exit_early(r, &k);
    if (k.finish) GR_TRY(gr_run_save_finish(r));
    GR_TRY(evaluate_if_asked(r));
    GR_TRY(save_if_due(r, k.save));
    GR_TRY(gr_run_name_straggler(r));
    gr_run_follow(&r->me, loader, gr_run_program_after(&r->me, &r->progress));
    GR_TRY(gr_run_step(r, gr_run_next_program(&r->me, &r->progress), b));
    if (r->progress.step && r->progress.step == r->me.spec->weights.replay.step) return GR_OK;
  }
  gr_control_end(&r->control, "done");
  return GR_OK;
}

// The first one of a data set also computes what transforms need of all samples.
static gr_status open_loader(gr_rank *r, const gr_loader_spec *spec, gr_loader **out) {
  gr_work work;
  gr_work_begin(&work, gr_run_work_shown(r), "going through the training samples", 0);
  gr_status s = gr_loader_open(r->spec->data, spec, out);
  gr_work_end(&work);
  return s;
}

static gr_status train(gr_run *r) {
  gr_loader_spec spec = gr_run_train_batches(&r->me, &r->progress);
  gr_loader *loader = NULL;
  bool takes = gr_run_takes_data(&r->me);
  if (takes && !gr_dataset_count(r->me.spec->data, GR_SPLIT_TRAIN))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are no training samples"),
                   "`graphrun data inspect CONFIG.yaml` shows what was left out and why");
  if (takes) GR_TRY(open_loader(&r->me, &spec, &loader));
  gr_control_open(&r->control);
  gr_status st = gr_run_is_dry(&r->me) ? gr_run_dry(r, loader) : loop(r, loader);
  gr_loader_close(loader);
  return gr_also(st, gr_run_trace_end(&r->me, r->outputs.dir));
}

// ---- Entry point --------------------------------------------------------------------------------

static void close_run(gr_run *r) {
  gr_outputs_close(&r->outputs);
  gr_saving_close(&r->saving);
  gr_evaluation_close(&r->evaluation);
  gr_outputs_unlock(&r->outputs);
  gr_rank_close(&r->me);
}

static gr_status run_training(gr_run *r, gr_status opened) {
  bool nothing_left = false;
  gr_status s = opened ? opened : open_run(r, &nothing_left);
  if (!s && nothing_left) return GR_OK;
  s = s ? s : train(r);
  if (!s && r->me.spec->weights.replay.step) gr_run_log_weightless(&r->me);
  if (r->me.spec->weights.replay.step) return gr_also(s, gr_control_take_failure(&r->control));
  s = s || gr_run_is_dry(&r->me) ? s : gr_run_end(r);
  if (s && gr_status_code(s) != GR_ERR_STOPPED) gr_run_hook_exception(r, gr_status_text(s));
  return gr_run_write_final_files(r, gr_also(s, gr_control_take_failure(&r->control)));
}

static gr_status run_weights(gr_run *r, gr_status opened) {
  gr_status s = opened ? opened : gr_run_try_batches(&r->me, &r->progress);
  s = s ? s : gr_run_use_weights(r);
  if (!s) gr_run_log_weightless(&r->me);
  return gr_also(s, gr_control_take_failure(&r->control));
}

gr_status gr_run_rank(const gr_run_spec *spec, gr_comm *world) {
  gr_run r = {0};
  gr_status s = open_rank(&r, spec, world);
  if (spec->kind == GR_RUN_TRAIN)
    s = run_training(&r, s);
  else
    s = run_weights(&r, s);
  if (!r.control.opened) s = gr_run_stopped_opening(&r.me, s);
  if (r.me.ranks > 1 && gr_status_code(s) != GR_ERR_STOPPED && gr_status_code(s) != GR_ERR_RANK)
    s = gr_note(s, GR_NOWHERE, "on rank %d of %d", r.me.rank, r.me.ranks);
  // An error that the ranks have not agreed on would leave the other ranks waiting.
  if (s && gr_status_code(s) != GR_ERR_STOPPED && gr_status_code(s) != GR_ERR_RANK)
    world->ops->abort(world, gr_status_text(s));
  close_run(&r);
  return s;
}
