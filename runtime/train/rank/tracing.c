// tracing.c - the trace of profile.steps. See rank.h and runtime/exec/trace.h.
#include <inttypes.h>
#include "runtime/train/rank/rank.h"

double gr_run_span_begin(const gr_rank *r) { return r->trace ? gr_trace_now() : 0; }

void gr_run_span(gr_rank *r, gr_trace_lane lane, const char *name, double start) {
  if (r->trace) gr_trace_add(r->trace, lane, name, NULL, NULL, start);
}

static void put_step(gr_text *t, const void *what) {
  gr_text_printf(t, "\"step\":%" PRId64, *(const int64_t *)what);
}

void gr_run_span_step(gr_rank *r, int64_t step, double start) {
  if (!r->trace) return;
  int64_t *argument = GR_NEW(r->arena, int64_t, 1);
  *argument = step;
  gr_trace_add(r->trace, GR_TRACE_STEPS, "step", put_step, argument, start);
}

static const char *name_of(gr_rank *r) {
  return gr_arena_printf(r->arena, "trace.%d.json", r->rank);
}

gr_status gr_run_trace_end(gr_rank *r, const char *dir) {
  gr_trace *t = r->trace;
  const char *steps = r->spec->set.outputs.profile_steps;
  if (!t && steps && !r->traced && r->rank == 0)
    gr_log(GR_WARN, "profile.steps=%s: no trace, because none of these steps has been run", steps);
  if (!t) return GR_OK;
  r->trace = NULL;
  gr_status s = gr_exec_trace(r->exec, NULL);
  GR_TRY(gr_also(s, gr_trace_close(t)));
  if (r->rank == 0)
    gr_log(GR_INFO, "trace: %s/%s%s; ui.perfetto.dev draws it", dir, name_of(r),
           r->ranks > 1 ? ", and one of each other rank" : "");
  return GR_OK;
}

gr_status gr_run_trace(gr_rank *r, int64_t step, const char *dir) {
  const gr_outputs_settings *s = &r->spec->set.outputs;
  if (r->trace && step >= s->trace_end) return gr_run_trace_end(r, dir);
  if (r->trace || step < s->trace_first || step >= s->trace_end) return GR_OK;
  GR_TRY(gr_trace_open(dir, name_of(r), r->rank, &r->trace));
  r->traced = true;
  return gr_exec_trace(r->exec, r->trace);
}
