// hook_calls.c - calls a run's Lua scripts: their parameters, contexts and requests. See run.h.
#include <math.h>
#include <string.h>
#include "base/events.h"
#include "runtime/train/run.h"

double gr_run_base_lr(const gr_rank *r, const gr_progress *p) {
  return gr_base_lr(&r->spec->set.loop, p->step);
}

// Those that the event gives, by name, or those of the last step with its gradient norm.
static int name_metrics(const gr_progress *p, gr_arena *a, const gr_metrics *given, gr_named *out) {
  int n = gr_metrics_named(a, given ? given : &p->last, "", out);
  if (given || !p->has_grad_norm || n == GR_MAX_METRICS) return n;
  for (int i = 0; i < n; i++)
    if (!strcmp(out[i].name, "grad_norm")) return n;  // the model has a metric of this name
  out[n++] = (gr_named){"grad_norm", p->grad_norm};
  return n;
}

static const char *last_checkpoint(const gr_saving *s, gr_arena *a) {
  if (s->saved_step < 0 || s->resumed_step == s->saved_step) return s->resumed_from;
  return gr_arena_printf(a, "%s/step-%08lld", s->ckpt_dir, (long long)s->saved_step);
}

static gr_hook_context context_of(const gr_run *r, gr_arena *a, gr_hook_event event,
                                  const char *reason) {
  const gr_settings *s = &r->me.spec->set;
  double base = gr_run_base_lr(&r->me, &r->progress);
  return (gr_hook_context){
      .step = r->progress.step,
      .epoch = event == GR_HOOK_EVAL_END ? gr_run_last_epoch(&r->progress) : r->progress.epoch,
      .steps_per_epoch = r->progress.steps_per_epoch,
      .max_steps = s->loop.max_steps,
      .max_epochs = s->loop.max_epochs,
      .world_size = r->me.ranks,
      .base_lr = base,
      .lr = event == GR_HOOK_START || event == GR_HOOK_RESUME ? base : r->control.values.lr,
      .loss = r->progress.loss,
      .has_loss = r->progress.step > 0 || event == GR_HOOK_STEP_END,
      .has_best = !isnan(r->evaluation.best),
      .best = r->evaluation.best,
      .best_step = r->evaluation.best_step,
      .skipped_steps = r->progress.all_skipped,
      .global_batch = s->options.batch.global,
      .samples_per_s = r->progress.samples_per_s,
      .elapsed = gr_seconds() - r->me.began,
      .output_dir = r->outputs.dir,
      .last_checkpoint = last_checkpoint(&r->saving, a),
      .set = r->control.values.set,
      .reason = reason};
}

// A call that is interrupted because the run stops has no effect. Nothing is lost: a resumed run
// calls `lr` and on_start again.
static bool was_cut_off(gr_hook_event event, gr_status s) {
  if (gr_status_code(s) != GR_ERR_STOPPED) return false;
  gr_loc loc = gr_status_loc(s);
  bool again = gr_hook_events[event].again;
  gr_log(GR_WARN, "%s:%d: hook '%s' was cut off, since the run is to stop%s", loc.file, loc.line,
         gr_hook_events[event].name,
         again ? "" : "; what it would have done at this step is not in the checkpoint");
  gr_status_drop(s);
  return true;
}

bool gr_run_hook(gr_run *r, gr_hook_event event, const gr_metrics *metrics, const char *reason) {
  bool rate = gr_hook_events[event].returns == GR_HOOK_RATE;
  if (rate) gr_control_set_lr(&r->control, gr_run_base_lr(&r->me, &r->progress));
  if (!gr_outputs_has_hook(&r->outputs, event) || r->control.failure) return true;
  gr_named named[GR_MAX_METRICS + 1];
  gr_arena *scratch = gr_arena_create();
  gr_hook_context ctx = context_of(r, scratch, event, reason);
  ctx.metrics = named, ctx.n_metrics = name_metrics(&r->progress, scratch, metrics, named);
  gr_hook_result result = {0};
  double start = gr_run_span_begin(&r->me);
  gr_event(gr_arena_printf(scratch, "hook %s", gr_hook_events[event].name));
  gr_status st = gr_hooks_call(r->outputs.hooks, event, &ctx, &result);
  gr_run_span(&r->me, GR_TRACE_HOOKS, gr_hook_events[event].name, start);
  gr_arena_destroy(scratch);
  if (was_cut_off(event, st)) return gr_control_cut_off(&r->control), false;
  gr_run_set_failure(&r->control, st);
  if (st) return true;
  if (rate) gr_control_set_lr(&r->control, result.lr);
  gr_control_ask(&r->control, &result, r->me.spec->n_adjust);
  return true;
}

void gr_run_hook_epoch(gr_run *r) {
  gr_control *c = &r->control;
  int64_t epoch = r->progress.epoch;
  if (r->progress.batch || c->called[GR_ONCE_EPOCH_START] == epoch || c->failure) return;
  if (gr_run_hook(r, GR_HOOK_EPOCH_START, NULL, NULL))
    gr_control_set_called(c, GR_ONCE_EPOCH_START, epoch);
}

// Calls an event of the next step unless a checkpoint says that it was called. False: a script was
// cut off.
static bool call_once(gr_run *r, gr_hook_event event, gr_once which) {
  gr_control *c = &r->control;
  int64_t step = r->progress.step;
  bool has = gr_outputs_has_hook(&r->outputs, event);
  if (c->failure || (has && c->called[which] == step)) return true;
  bool called = gr_run_hook(r, event, NULL, NULL);
  gr_control_set_called(c, which, has && called && !c->failure ? step : -1);
  return called;
}

void gr_run_hook_step(gr_run *r) {
  if (call_once(r, GR_HOOK_LR, GR_ONCE_LR))
    call_once(r, GR_HOOK_BEFORE_OPTIMIZER, GR_ONCE_BEFORE_OPTIMIZER);
}

void gr_run_hook_exception(gr_run *r, const char *reason) {
  gr_hook_result before = r->control.asked;
  if (!gr_control_except(&r->control)) return;
  gr_run_hook(r, GR_HOOK_EXCEPTION, NULL, reason);
  gr_control_ask_only(&r->control, &before);
}
