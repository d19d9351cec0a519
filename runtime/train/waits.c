// waits.c - see waits.h.
#include "runtime/train/waits.h"
#include <inttypes.h>
#include "base/log.h"

static void add(gr_wait *w, double seconds) {
  w->batches++, w->late += seconds > 0, w->seconds += seconds;
}

void gr_waits_add(gr_waits *w, double waited) {
  add(&w->all, waited), add(&w->epoch, waited), w->data += waited;
}

void gr_waits_agreed(gr_waits *w, double seconds) { w->agreement += seconds; }

void gr_waits_end_step(gr_waits *w) { w->data = w->agreement = 0; }

double gr_waits_end_epoch(gr_waits *w) {
  double seconds = w->epoch.seconds;
  if (!w->epochs++) w->first = w->epoch;
  w->epoch = (gr_wait){0};
  return seconds;
}

void gr_waits_log(const gr_waits *w) {
  char later[96] = "";
  gr_wait all = w->all, first = w->first;
  if (!all.batches) return;
  if (w->epochs > 1)
    snprintf(later, sizeof later, "; after the first epoch %.1f ms for %" PRId64 " of %" PRId64,
             1e3 * (all.seconds - first.seconds), all.late - first.late,
             all.batches - first.batches);
  gr_log(GR_INFO, "steps waited %.1f ms for data, for %" PRId64 " of %" PRId64 " batches%s",
         1e3 * all.seconds, all.late, all.batches, later);
}
