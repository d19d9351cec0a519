// run_hooks.c - a run's Lua scripts: their parameters, contexts and wishes. See run.h.
#include <math.h>
#include <string.h>
#include "cli/run.h"

gr_status gr_run_open_hooks(gr_run *r) {
  const gr_settings *s = &r->job->set;
  if (!s->n_hooks || r->rank) return GR_OK;
  gr_hooks_spec spec = {
      .scripts = s->hooks, .n_scripts = s->n_hooks, .seed = (uint64_t)s->seed, .out_dir = r->dir};
  return gr_hooks_open(&spec, &r->hooks);
}

// A linear warm-up whose first step is 1/warmup of the rate, not 0.
double gr_run_base_lr(const gr_run *r) {
  const gr_settings *s = &r->job->set;
  return s->lr * (r->step < s->warmup ? (double)(r->step + 1) / (double)s->warmup : 1);
}

static void join(gr_hook_result *all, const gr_hook_result *now) {
  if (now->stop && !all->stop) memcpy(all->reason, now->reason, sizeof all->reason);
  all->stop |= now->stop, all->save |= now->save;
  for (int i = 0; i < now->n_logs; i++) {
    int at = 0;
    while (at < all->n_logs && strcmp(all->logs[at].name, now->logs[i].name)) at++;
    if (at == GR_HOOK_LOGS) continue;
    all->logs[at] = now->logs[i];
    if (at == all->n_logs) all->n_logs++;
  }
}

void gr_run_hook(gr_run *r, gr_hook_event event, const gr_metrics *metrics, const char *reason) {
  const gr_settings *s = &r->job->set;
  double base = gr_run_base_lr(r);
  if (event == GR_HOOK_LR) r->lr = base;
  if (!r->hooks || !gr_hooks_has(r->hooks, event) || r->failure) return;
  gr_named named[GR_MAX_METRICS];
  gr_arena *scratch = gr_arena_create();
  gr_hook_context ctx = {.step = r->step,
                         .epoch = event == GR_HOOK_EVAL_END ? gr_run_last_epoch(r) : r->epoch,
                         .steps_per_epoch = r->steps_per_epoch,
                         .max_steps = s->max_steps,
                         .max_epochs = s->max_epochs,
                         .world_size = r->ranks,
                         .base_lr = base,
                         .lr = event == GR_HOOK_START ? base : r->lr,
                         .loss = r->step ? r->loss : (double)NAN,
                         .metrics = named,
                         .n_metrics = metrics ? gr_metrics_named(scratch, metrics, "", named) : 0,
                         .reason = reason};
  gr_hook_result result = {0};
  gr_status st = gr_hooks_call(r->hooks, event, &ctx, &result);
  gr_arena_destroy(scratch);
  gr_run_keep(r, st);
  if (st) return;
  if (event == GR_HOOK_LR) r->lr = result.lr;
  join(&r->asked, &result);
}
