// work.c - see work.h.
#include "base/work.h"
#include "base/events.h"
#include "base/log.h"
#include "base/port.h"

// Milliseconds: before the first line of some work, between lines, and on a terminal.
enum { FIRST = 5000, EVERY = 10000, TERMINAL = 100 };

static _Thread_local gr_work *current;

// In a log, which has no bar, a share of items follows what is done.
static gr_progress_line line_of(const gr_work *p, double share) {
  bool terminal = p->shown == GR_WORK_TERMINAL;
  return p->items && !terminal && share > 0
             ? gr_progress_line_begin(share, "%s: %d %%", p->what, (int)(100 * share))
             : gr_progress_line_begin(share, "%s", p->what);
}

static void show(const gr_work *p, double seconds) {
  char text[GR_PROGRESS_LINE];
  double done = (double)atomic_load(&p->done), total = p->total;
  if (total > 0 && done > total) done = total;
  gr_progress_line line = line_of(p, total > 0 ? done / total : -1);
  if (total > 0 && done > 0) {
    if (!p->items)
      gr_progress_line_put(&line, 2, GR_TINT_NONE, "%.0f of %.0f MB", done / 1e6, total / 1e6);
    gr_progress_line_put_time(&line, 1, "eta ", seconds * (total / done - 1));
  } else if (seconds >= 1) {
    gr_progress_line_put_time(&line, 1, "", seconds);
  }
  gr_progress_line_print(&line, text);
  if (p->shown == GR_WORK_TERMINAL)
    gr_log_progress(&line);
  else
    gr_log(GR_INFO, "%s", text);
}

static void begin(gr_work *p, gr_work_shown shown, const char *what, double total, bool items) {
  *p = (gr_work){.what = what, .total = total, .items = items, .shown = shown, .outer = current};
  p->clock = current ? current->clock : gr_seconds, p->began = p->clock();
  p->next = shown == GR_WORK_TERMINAL ? TERMINAL : FIRST;
  current = p;
  gr_stop_doing(what);
  gr_event(what);
  if (shown == GR_WORK_TERMINAL) show(p, 0);
}

void gr_work_begin(gr_work *p, gr_work_shown shown, const char *what, double total) {
  begin(p, shown, what, total, false);
}

void gr_work_begin_items(gr_work *p, const char *what, double items) {
  begin(p, current ? current->shown : GR_WORK_HIDDEN, what, items, true);
}

void gr_work_set_total(double total) {
  if (current) current->total = total;
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
