// page.h - report.html of a run or of a folder of runs: one self-contained page, made from the
// files in the folder.
//
// What the files say is gathered as one JSON, which docs/after-training.md describes. The page is a
// template (page.html, style.css and three scripts, all of this folder and built into the program)
// with that JSON in it: the browser draws it. Without scripts the page shows a table of the main
// numbers. It needs no other file and no network, which its Content-Security-Policy also forbids,
// and follows the reader's choice of a light or dark appearance. Texts of users are never markup.
// The same files give the same bytes.
#pragma once
#include "runtime/page/runs.h"

#define GR_PAGE_NAME "report.html"

// Writes `out`, or if that is NULL RUN/report.html, from what the folder of a run has: files that
// are missing or damaged are left out, and the page says so. ended: the run writes it itself, at
// its end. GR_ERR_IO if the page cannot be written.
GR_MUST_USE gr_status gr_page_write(const char *run, const char *out, bool ended);
// Appends the JSON of that page, with a line end.
void gr_page_json(gr_text *, const char *run);

// The same for a folder of runs, such as that of a sweep: what differs between them, their table,
// and their curves over each other.
GR_MUST_USE gr_status gr_page_write_runs(const gr_page_runs *, const char *out);
void gr_page_runs_json(gr_text *, const gr_page_runs *);  // appends its JSON
