// events.c - see events.h.
#include "base/events.h"
#include <string.h>
#include "base/port.h"

static gr_events *events;

void gr_events_write_to(gr_events *e) { events = e; }

void gr_event(const char *what) {
  if (!events) return;
  uint32_t n = atomic_load_explicit(&events->n, memory_order_relaxed);
  gr_event_entry *e = &events->last[n % GR_EVENTS];
  e->since = gr_seconds();
  if (!memccpy(e->what, what, 0, sizeof e->what)) e->what[sizeof e->what - 1] = 0;
  atomic_store_explicit(&events->n, n + 1, memory_order_release);
}

void gr_event_step(int64_t step) {
  if (events) atomic_store_explicit(&events->step, step, memory_order_relaxed);
}
