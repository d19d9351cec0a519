// saving.c - decides when checkpoints are written and which of them are committed. See run.h.
//
// A step can leave weights that are finite but useless (a learning rate of 1e9), which shows only
// in the next step. So a checkpoint is committed, and older ones are pruned, only after a step from
// it had a finite gradient; while steps are skipped, no checkpoint is written.
#include <math.h>
#include <string.h>
#include "runtime/train/run.h"

// ---- Saving -----------------------------------------------------------------------------------

static void begin_save(gr_run *r, gr_arena *scratch, const char *hooks, bool exit_checkpoint) {
  gr_scalars_out all = {.rank = &r->me,
                        .arena = scratch,
                        .step = r->progress.step,
                        .hooks = hooks,
                        .exit_checkpoint = exit_checkpoint};
  gr_run_contents_write(r, &all);
  gr_status s = gr_saver_begin(r->saver, r->progress.step, all.at, all.n);
  r->saving = true, r->confirmed = false, r->saved_step = r->progress.step;
  if (s) gr_log(GR_WARN, "a checkpoint could not be begun: %s", gr_status_text(s));
  gr_status_drop(s);  // finish reports the error to all ranks
}

// Hooks are called before a checkpoint is written: at the same step in every run, and the
// checkpoint contains their changes. Their error stops the run at the next agreement, with this
// checkpoint.
gr_status gr_run_save(gr_run *r, bool exit_checkpoint) {
  GR_TRY(gr_run_save_finish(r));
  r->owed &= r->progress.skipped > 0;
  if (!exit_checkpoint) gr_run_hook(r, GR_HOOK_CHECKPOINT, NULL, NULL);
  gr_arena *scratch = gr_arena_create();
  char *hooks = NULL;
  bool all_ok = false;
  gr_status mine = r->outputs.hooks ? gr_hooks_save(r->outputs.hooks, scratch, &hooks) : GR_OK;
  gr_status s = gr_run_all_ok(&r->me, !mine, &all_ok);
  if (!mine && !s && !all_ok) s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank failed");
  if (!mine && !s) s = gr_run_gather_full(r);
  if (!mine && !s) begin_save(r, scratch, hooks, exit_checkpoint);
  gr_arena_destroy(scratch);
  return gr_also(mine, s);
}

bool gr_run_save_due(const gr_run *r, bool asked) {
  int64_t every = r->me.spec->set.every_steps;
  return asked || r->owed || (every && r->progress.step && r->progress.step % every == 0);
}

gr_status gr_run_save_finite(gr_run *r) {
  if (!r->progress.skipped) return gr_run_save(r, false);
  if (!r->me.rank && !r->owed)
    gr_log(
        GR_WARN,
        "no checkpoint at step %lld: its last step had no finite gradient; the next step that has "
        "one is followed by a checkpoint",
        (long long)r->progress.step);
  r->owed = true;
  return GR_OK;
}

// ---- Committing -------------------------------------------------------------------------------

static gr_status abandon(gr_run *r) {
  if (!r->me.rank)
    gr_log(GR_WARN,
           "the checkpoint of step %lld is not kept: no step from it had a finite gradient",
           (long long)r->saved_step);
  r->saved_step = -1;
  return gr_saver_abandon(r->saver);
}

// A failure to write a checkpoint is logged and does not end a run: older checkpoints are intact.
gr_status gr_run_save_finish(gr_run *r) {
  if (!r->saving) return GR_OK;
  r->saving = false;
  if (!r->confirmed && r->progress.step > r->saved_step) return abandon(r);
  gr_status s = r->confirmed ? gr_saver_finish(r->saver) : gr_saver_commit(r->saver);
  if (!s) gr_run_set_resume_hint(&r->outputs, &r->me, true);
  if (gr_status_code(s) != GR_ERR_IO) return s;
  if (r->me.rank == 0) gr_status_print(stderr, s);
  if (r->me.rank == 0)
    gr_log(GR_WARN, "there is no checkpoint of step %lld; older ones are as they were",
           (long long)r->saved_step);
  gr_status_drop(s);
  r->saved_step = -1;
  return GR_OK;
}

gr_status gr_run_save_last(gr_run *r, bool exit_checkpoint) {
  GR_TRY(gr_run_save_finish(r));
  if (r->progress.step != r->saved_step) GR_TRY(gr_run_save(r, exit_checkpoint));
  GR_TRY(gr_run_save_finish(r));
  if (r->progress.step == r->saved_step) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "the state after step %lld could not be saved",
                         (long long)r->progress.step),
                 "free space, and go on from the newest checkpoint: checkpoint.resume=auto "
                 "output.dir=%s",
                 r->outputs.dir);
}

// The final evaluation replaces the step that confirms a checkpoint.
void gr_run_prune_last(gr_run *r) {
  double loss = gr_metric_value(&r->evaluation.validation, "loss");
  bool sound = !r->progress.skipped && (!r->evaluation.validation.n || isfinite(loss));
  if (sound && r->progress.step == r->saved_step) gr_saver_prune(r->saver, r->progress.step);
}

// ---- Giving up --------------------------------------------------------------------------------

// The newest finite checkpoint from before a step; NULL: there is none. *newest: resuming with auto
// uses the same one.
static const char *before(const gr_run *r, int64_t step, bool *newest) {
  gr_checkpoint_entry *all = NULL;
  const char *found = NULL;
  int n;
  gr_status_drop(gr_checkpoint_list(r->me.arena, r->ckpt_dir, &all, &n));
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
  const char *path = before(r, r->progress.step - r->progress.skipped, &newest);
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
