// checkpoints.c - decides when checkpoints are written and which of them are committed. See run.h
// and saving.h.
#include <math.h>
#include "base/events.h"
#include "runtime/train/run.h"

// ---- Saving -----------------------------------------------------------------------------------

static void begin_save(gr_run *r, gr_arena *scratch, const char *hooks, bool exit_checkpoint) {
  gr_scalars_out all = {.rank = &r->me,
                        .arena = scratch,
                        .step = r->progress.step,
                        .hooks = hooks,
                        .exit_checkpoint = exit_checkpoint};
  gr_run_contents_write(r, &all);
  gr_saving_start(&r->saving, &r->progress, &all);
}

// Hooks are called before a checkpoint is written: at the same step in every run, and the
// checkpoint contains their changes. Their error stops the run at the next agreement, with this
// checkpoint.
gr_status gr_run_save(gr_run *r, bool exit_checkpoint) {
  GR_TRY(gr_run_save_finish(r));
  if (!exit_checkpoint) gr_saving_pay(&r->saving, &r->progress);
  if (!exit_checkpoint) gr_run_hook(r, GR_HOOK_CHECKPOINT, NULL, NULL);
  gr_event("saving a checkpoint");
  gr_arena *scratch = gr_arena_create();
  char *hooks = NULL;
  bool all_ok = false;
  gr_status hook_status =
      r->outputs.hooks ? gr_hooks_save(r->outputs.hooks, scratch, &hooks) : GR_OK;
  gr_status s = gr_run_all_ok(&r->me, !hook_status, &all_ok);
  if (!hook_status && !s && !all_ok) s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank failed");
  if (!hook_status && !s) s = gr_run_gather_full(&r->saving.states);
  if (!hook_status && !s) begin_save(r, scratch, hooks, exit_checkpoint);
  gr_arena_destroy(scratch);
  return gr_also(hook_status, s);
}

gr_status gr_run_save_finite(gr_run *r) {
  if (gr_progress_is_sound(&r->progress)) return gr_run_save(r, false);
  if (gr_saving_owe(&r->saving) && !r->me.rank)
    gr_log(
        GR_WARN,
        "no checkpoint at step %lld: its last step had no finite gradient; the next step that has "
        "one is followed by a checkpoint",
        (long long)r->progress.step);
  return GR_OK;
}

// ---- Committing -------------------------------------------------------------------------------

gr_status gr_run_save_finish(gr_run *r) {
  bool saved;
  gr_event("completing a checkpoint");
  GR_TRY(gr_saving_finish(&r->saving, &r->progress, &saved));
  if (saved) gr_run_set_resume_hint(&r->outputs, &r->me, true);
  return GR_OK;
}

gr_status gr_run_save_last(gr_run *r, bool exit_checkpoint) {
  GR_TRY(gr_run_save_finish(r));
  if (!gr_saving_has(&r->saving, &r->progress)) GR_TRY(gr_run_save(r, exit_checkpoint));
  GR_TRY(gr_run_save_finish(r));
  if (gr_saving_has(&r->saving, &r->progress)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "the state after step %lld could not be saved",
                         (long long)r->progress.step),
                 "go on from the newest checkpoint: checkpoint.resume=auto "
                 "output.dir=%s",
                 r->outputs.dir);
}

// The final evaluation replaces the step that confirms a checkpoint.
void gr_run_prune_last(gr_run *r) {
  double loss = gr_metric_value(&r->evaluation.validation, "loss");
  bool sound =
      gr_progress_is_sound(&r->progress) && (!r->evaluation.validation.n || isfinite(loss));
  if (sound && gr_saving_has(&r->saving, &r->progress))
    gr_saver_prune(r->saving.saver, r->progress.step);
}

// ---- Giving up --------------------------------------------------------------------------------

// The newest finite checkpoint from before a step; NULL: there is none. *newest: resuming with auto
// uses the same one.
static const char *before(gr_arena *a, const char *dir, int64_t step, bool *newest) {
  gr_checkpoint_entry *all = NULL;
  const char *found = NULL;
  int n;
  gr_status_drop(gr_checkpoint_list(a, dir, &all, &n));
  *newest = true;
  for (int i = n; i-- > 0 && !found;) {
    bool good = all[i].state == GR_CHECKPOINT_OK && all[i].finite;
    if (good && all[i].step < step) found = all[i].path;
    if (good && all[i].step >= step) *newest = false;
  }
  return found;
}

gr_status gr_run_hint_before(gr_run *r, gr_status s) {
  static const char try[] =
      "a smaller training.lr, a longer training.warmup_steps or training.grad_clip";
  bool newest;
  uint64_t unread = gr_dataset_unreadable(r->me.spec->data);
  if (unread)
    s = gr_hint(s,
                "%llu sample%s could not be read, and a batch without others has no gradient: "
                "`graphrun data inspect CONFIG.yaml --audio` lists them",
                (unsigned long long)unread, gr_text_s((int64_t)unread));
  if (r->progress.why) s = gr_hint(s, "%s", r->progress.why);
  const char *path =
      before(r->me.arena, r->saving.ckpt_dir, r->progress.step - r->progress.skipped, &newest);
  if (!path) return gr_hint(s, "%s; there is no checkpoint from before to continue from", try);
  return gr_hint(s, "%s, and continue from before: checkpoint.resume=%s output.dir=%s", try,
                 newest ? "auto" : path, r->outputs.dir);
}

gr_status gr_run_give_up(gr_run *r) {
  GR_TRY(gr_run_save_finish(r));
  return gr_run_hint_before(
      r,
      gr_fail(GR_ERR_NONFINITE, GR_NOWHERE,
              "no finite gradient in the %lld steps up to step %lld: the weights after step %lld "
              "are good for nothing",
              (long long)r->progress.skipped, (long long)r->progress.step,
              (long long)(r->progress.step - r->progress.skipped)));
}
