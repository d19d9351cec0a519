// stop.c - see stop.h.
#include "base/stop.h"
#include <stdatomic.h>

static atomic_bool requested, deferred;
static _Thread_local const char *doing;

void gr_stop_request(void) { atomic_store(&requested, true); }
void gr_stop_clear(void) { atomic_store(&requested, false); }
bool gr_stop_requested(void) { return atomic_load_explicit(&requested, memory_order_relaxed); }
void gr_stop_defer(bool on) { atomic_store(&deferred, on); }
bool gr_stop_due(void) {
  return gr_stop_requested() && !atomic_load_explicit(&deferred, memory_order_relaxed);
}

gr_status gr_stop_check(void) {
  if (!gr_stop_due()) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal while %s",
                         doing ? doing : "the run was being prepared"),
                 "nothing had been computed yet, and checkpoints are as they were: start it again");
}

void gr_stop_doing(const char *what) { doing = what; }
