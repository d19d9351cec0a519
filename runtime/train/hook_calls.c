// hook_calls.c - calls a run's Lua scripts: their parameters, contexts and requests. See run.h.
#include <string.h>
#include "runtime/train/run.h"

gr_status gr_run_open_hooks(gr_run *r) {
  const gr_settings *s = &r->spec->set;
  if (!s->n_hooks || r->rank) return GR_OK;
  gr_hooks_spec spec = {.scripts = s->hooks,
                        .n_scripts = s->n_hooks,
                        .seed = (uint64_t)s->seed,
                        .out_dir = r->dir,
                        .seconds = s->hook_seconds,
                        .stop = gr_run_signalled};
  return gr_hooks_open(&spec, &r->hooks);
}

double gr_run_base_lr(const gr_run *r) { return gr_settings_base_lr(&r->spec->set, r->step); }

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

// The metrics of an event, by name; for a step also its gradient norm.
static int name_metrics(const gr_run *r, gr_arena *a, gr_hook_event event, const gr_metrics *m,
                        gr_named *out) {
  int n = m ? gr_metrics_named(a, m, "", out) : 0;
  if (event != GR_HOOK_STEP_END || !r->has_grad_norm || n == GR_MAX_METRICS) return n;
  for (int i = 0; i < n; i++)
    if (!strcmp(out[i].name, "grad_norm")) return n;  // the model has a metric of this name
  out[n++] = (gr_named){"grad_norm", r->grad_norm};
  return n;
}

// A call that is interrupted because the run stops has no effect. Nothing is lost: a resumed run
// calls `lr` and on_start again.
static bool was_cut_off(gr_hook_event event, gr_status s) {
  if (gr_status_code(s) != GR_ERR_STOPPED) return false;
  gr_loc at = gr_status_loc(s);
  bool again = gr_hook_events[event].again;
  gr_log(GR_WARN, "%s:%d: hook '%s' was cut off, since the run is to stop%s", at.file, at.line,
         gr_hook_events[event].name,
         again ? "" : "; what it would have done at this step is not in the checkpoint");
  gr_status_drop(s);
  return true;
}

bool gr_run_hook(gr_run *r, gr_hook_event event, const gr_metrics *metrics, const char *reason) {
  const gr_settings *s = &r->spec->set;
  double base = gr_run_base_lr(r);
  bool rate = gr_hook_events[event].returns_rate;
  if (rate) r->lr = base;
  if (!r->hooks || !gr_hooks_has(r->hooks, event) || r->failure) return true;
  gr_named named[GR_MAX_METRICS + 1];
  gr_arena *scratch = gr_arena_create();
  gr_hook_context ctx = {.step = r->step,
                         .epoch = event == GR_HOOK_EVAL_END ? gr_run_last_epoch(r) : r->epoch,
                         .steps_per_epoch = r->steps_per_epoch,
                         .max_steps = s->max_steps,
                         .max_epochs = s->max_epochs,
                         .world_size = r->ranks,
                         .base_lr = base,
                         .lr = event == GR_HOOK_START ? base : r->lr,
                         .loss = r->loss,
                         .has_loss = r->step > 0 || event == GR_HOOK_STEP_END,
                         .metrics = named,
                         .n_metrics = name_metrics(r, scratch, event, metrics, named),
                         .reason = reason};
  gr_hook_result result = {0};
  double from = gr_run_span_begin(r);
  gr_status st = gr_hooks_call(r->hooks, event, &ctx, &result);
  gr_run_span(r, GR_TRACE_HOOKS, gr_hook_events[event].name, from);
  gr_arena_destroy(scratch);
  if (was_cut_off(event, st)) return false;
  gr_run_set_failure(r, st);
  if (st) return true;
  if (rate) r->lr = result.lr;
  join(&r->asked, &result);
  return true;
}
