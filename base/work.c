// work.c - see work.h.
#include "base/work.h"
#include <string.h>
#include "base/log.h"
#include "base/port.h"

// Milliseconds: before the first line of some work, between lines, and on a terminal.
enum { FIRST = 5000, EVERY = 10000, TERMINAL = 100 };

static _Thread_local gr_work *current;

static void put_time(char *to, size_t size, const char *what, double seconds) {
  long s = (long)(seconds + 0.5);
  size_t used = strlen(to);
  if (s >= 3600)
    snprintf(to + used, size - used, "  %s%ld:%02ld:%02ld", what, s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(to + used, size - used, "  %s%ld:%02ld", what, s / 60, s % 60);
}

static void show(const gr_work *p, double seconds) {
  char line[256];
  double done = (double)atomic_load(&p->done);
  if (p->total > 0 && done > p->total) done = p->total;
  snprintf(line, sizeof line, "%s", p->what);
  size_t used = strlen(line);
  if (p->total > 0 && done > 0) {
    if (p->items)
      snprintf(line + used, sizeof line - used, ": %d %%", (int)(100 * done / p->total));
    else
      snprintf(line + used, sizeof line - used, "  %.0f of %.0f MB", done / 1e6, p->total / 1e6);
    put_time(line, sizeof line, "eta ", seconds * (p->total / done - 1));
  } else if (seconds >= 1) {
    put_time(line, sizeof line, "", seconds);
  }
  if (p->shown == GR_WORK_TERMINAL)
    gr_log_progress(line);
  else
    gr_log(GR_INFO, "%s", line);
}

static void begin(gr_work *p, gr_work_shown shown, const char *what, double total, bool items) {
  *p = (gr_work){.what = what, .total = total, .items = items, .shown = shown, .outer = current};
  p->clock = gr_seconds, p->began = p->clock();
  p->next = shown == GR_WORK_TERMINAL ? TERMINAL : FIRST;
  current = p;
  gr_stop_doing(what);
  if (shown == GR_WORK_TERMINAL) show(p, 0);
}

void gr_work_begin(gr_work *p, gr_work_shown shown, const char *what, double total) {
  begin(p, shown, what, total, false);
}

void gr_work_begin_items(gr_work *p, const char *what, double items) {
  begin(p, current ? current->shown : GR_WORK_HIDDEN, what, items, true);
}

void gr_work_end(gr_work *p) {
  if (p->shown == GR_WORK_TERMINAL) gr_log_progress(NULL);
  current = p->outer;
  gr_stop_doing(current ? current->what : NULL);
}

gr_work *gr_work_current(void) { return current; }

bool gr_work_add(gr_work *p, int64_t n) {
  if (!p) return !gr_stop_due();
  atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
  if (p->shown == GR_WORK_HIDDEN) return !gr_stop_due();
  double seconds = p->clock() - p->began;
  int64_t now = (int64_t)(1e3 * seconds), due = atomic_load(&p->next);
  int64_t next = now + (p->shown == GR_WORK_TERMINAL ? TERMINAL : EVERY);
  if (now >= due && atomic_compare_exchange_strong(&p->next, &due, next)) show(p, seconds);
  return !gr_stop_due();
}

gr_status gr_work_step(int64_t n) { return gr_work_add(current, n) ? GR_OK : gr_stop_check(); }
