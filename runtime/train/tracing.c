// tracing.c - the trace of profile.steps: opened before its first step, written after its last. See
// run.h and runtime/exec/trace.h.
#include <inttypes.h>
#include "runtime/train/run.h"

double gr_run_span_begin(const gr_run *r) { return r->trace ? gr_trace_now() : 0; }

void gr_run_span(gr_run *r, gr_trace_lane lane, const char *name, double from) {
  if (r->trace) gr_trace_add(r->trace, lane, name, NULL, NULL, from);
}

static void put_step(gr_text *t, const void *what) {
  gr_text_printf(t, "\"step\":%" PRId64, *(const int64_t *)what);
}

void gr_run_span_step(gr_run *r, double from) {
  if (!r->trace) return;
  int64_t *step = GR_NEW(r->arena, int64_t, 1);
  *step = r->step;
  gr_trace_add(r->trace, GR_TRACE_STEPS, "step", put_step, step, from);
}

static const char *name_of(gr_run *r) {
  return gr_arena_printf(r->arena, "trace.%d.json", r->rank);
}

gr_status gr_run_trace_end(gr_run *r) {
  gr_trace *t = r->trace;
  if (!t) return GR_OK;
  r->trace = NULL;
  gr_status s = gr_exec_trace(r->exec, NULL);
  GR_TRY(gr_also(s, gr_trace_close(t)));
  if (r->rank == 0)
    gr_log(GR_INFO, "trace: %s/%s%s; ui.perfetto.dev draws it", r->dir, name_of(r),
           r->ranks > 1 ? ", and one of each other rank" : "");
  return GR_OK;
}

gr_status gr_run_trace(gr_run *r) {
  const gr_settings *s = &r->spec->set;
  if (r->trace && r->step >= s->trace_end) return gr_run_trace_end(r);
  if (r->trace || r->step < s->trace_first || r->step >= s->trace_end) return GR_OK;
  GR_TRY(gr_trace_open(r->dir, name_of(r), r->rank, &r->trace));
  return gr_exec_trace(r->exec, r->trace);
}
