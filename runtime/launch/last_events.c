// last_events.c - what each rank did last, for the user, when one has died or hung. See state.h.
#include <inttypes.h>
#include "runtime/launch/state.h"

// Of the events, the one before the last `back` ones; NULL: there was none.
static const gr_event_entry *event_before(const gr_events *e, uint32_t back) {
  uint32_t n = atomic_load_explicit(&e->n, memory_order_acquire);
  return back < n && back < GR_EVENTS ? &e->last[(n - 1 - back) % GR_EVENTS] : NULL;
}

static void put_rank(FILE *f, int rank, const gr_launch_rank_state *r, double until) {
  const gr_event_entry *e = event_before(&r->events, 0), *before = event_before(&r->events, 1);
  fprintf(f, "rank %d (process %d)", rank, atomic_load(&r->pid));
  if (e)
    fprintf(f, ", step %" PRId64 ": %.*s", atomic_load(&r->events.step), GR_EVENT_TEXT, e->what);
  if (e) fprintf(f, ", for %.1f s", until > e->since ? until - e->since : 0);
  if (before) fprintf(f, "; before that: %.*s", GR_EVENT_TEXT, before->what);
  fprintf(f, "%s\n", e ? "" : ": nothing is known of what it did");
}

void gr_launch_state_put_events(FILE *f, const gr_launch_state *s, double until) {
  for (int r = 0; r < s->ranks; r++)
    if (atomic_load(&s->rank[r].state)) put_rank(f, r, &s->rank[r], until);
}
