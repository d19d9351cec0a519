// leave.c - leaves a run early: at a signal, after a failure, when a hook asks for it. See run.h.
#include "runtime/train/run.h"

// No checkpoint of an uninterrupted run has the state at an epoch's end, or that before an
// evaluation or a call of a hook that comes before it is saved. What a hook has asked to save is
// owed then.
static gr_status save_leaving(gr_run *r, const gr_step_controls *k) {
  bool last = !k->failed && !k->signal, early = k->cut || r->control.asked.evaluate;
  bool usual = !gr_run_epoch_open(&r->progress) && gr_progress_is_sound(&r->progress) && !early &&
               gr_run_save_due(&r->saving, &r->progress, k->save);
  if (k->save && !usual) (void)gr_saving_owe(&r->saving);
  return gr_run_save_last(r, !last && !usual);
}

// A dry run, and one that only uses weights, has no state to save.
static gr_status exit_without_saving(const gr_run *r, gr_status failure, const char *cause) {
  if (failure) return failure;
  if (*cause) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "%s", cause);
  if (!gr_run_signalled() && r->me.spec->weights.replay.step)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the run was stopped after step %lld, before that: %s",
                   (long long)r->progress.step, r->control.asked.reason);
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
  gr_control_end(&r->control,
                 *asked ? gr_arena_printf(r->me.arena, "stopped: %s", asked) : "stopped by a hook");
  return GR_OK;
}

gr_status gr_run_go_on(gr_run *r) {
  gr_step_controls k = gr_control_interrupted(&r->control);
  GR_TRY(gr_run_agree(&r->control, &r->me, (gr_time_split){0}, &k));
  return k.failed || k.signal ? gr_run_exit_early(r, &k) : GR_OK;
}
