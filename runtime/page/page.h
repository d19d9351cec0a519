// page.h - report.html of a run or a sweep: one self-contained page of curves, metrics, pictures,
// the configuration, the plan and the machine, made from the files in the folder.
//
// The page needs no other file, no network and no script. It follows the reader's choice of a light
// or dark appearance. Text of users is escaped, and pictures are images, in which nothing runs. The
// same files give the same bytes.
#pragma once
#include "base/arena.h"

#define GR_PAGE_NAME "report.html"

// Writes `out`, or if that is NULL RUN/report.html, from what the folder of a run has: files that
// are missing or damaged are left out, and the page says so. ended: the run writes it itself, at
// its end. GR_ERR_IO if the page cannot be written.
GR_MUST_USE gr_status gr_page_write(const char *run, const char *out, bool ended);

typedef struct gr_page_run {  // of a sweep
  const char *dir;            // its folder
  const char *label;          // what tells it from the others: "training.lr=1e-3"
  const char *status;         // "done"
  double best, last;          // of the metric; NaN: it has none
  int64_t best_step;
} gr_page_run;
typedef struct gr_page_sweep {
  const char *dir, *metric;
  const gr_page_run *runs;  // best first
  int n;
} gr_page_sweep;
// The same for a sweep: a table of its runs, and their curves over each other.
GR_MUST_USE gr_status gr_page_write_sweep(const gr_page_sweep *, const char *out);
