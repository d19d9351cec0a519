// work.h - long work before a run trains: it shows how far it is, and ends when the process is
// asked to stop (stop.h).
#pragma once
#include <stdatomic.h>
#include "base/stop.h"

// How work is shown.
typedef enum gr_work_shown {
  GR_WORK_HIDDEN,
  GR_WORK_LINES,     // a line of the log when it takes long, and then every ten seconds
  GR_WORK_TERMINAL,  // the progress line (base/log.h)
} gr_work_shown;

// The caller's; the fields are private.
typedef struct gr_work {
  const char *what;
  double total, began;
  bool items;  // they are counted, not bytes
  gr_work_shown shown;
  _Atomic int64_t done;
  _Atomic int64_t next;  // milliseconds since it began, when it is shown again
  struct gr_work *outer;
  double (*clock)(void);  // that of the outer work, or gr_seconds
} gr_work;

// Begins work of the calling thread: `what` it does ("reading weights"; borrowed), and the bytes
// that it goes through in all, 0: not known. Work within other work takes its place until its end.
void gr_work_begin(gr_work *, gr_work_shown, const char *what, double total);
// The same for work within other work, which goes through so many items and not bytes ("looking for
// 12000 files: 35 %"). It is shown as the work around it is.
void gr_work_begin_items(gr_work *, const char *what, double items);
// What the calling thread's work goes through in all, where that is known only after its begin.
void gr_work_set_total(double total);
void gr_work_end(gr_work *);     // in the thread that has begun it
gr_work *gr_work_current(void);  // the calling thread's innermost; NULL: none
// Counts so many bytes or items of work, which may be another thread's, or NULL, and shows it when
// that is due. False: gr_stop_due, so that the work should end.
bool gr_work_add(gr_work *, int64_t n);
// The same for the calling thread's work, with the error of gr_stop_check.
GR_MUST_USE gr_status gr_work_step(int64_t n);
