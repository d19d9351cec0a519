// parts.h - the parts of a page that are filled into its template. Private to this folder.
#pragma once
#include "runtime/page/folder.h"
#include "runtime/page/runs.h"

// ---- html.c
// Appends text of users: what HTML reserves is escaped, control characters and those that change
// the writing direction are written out.
void gr_html(gr_text *, const char *);
// The address of the page of a run below the folder of a page, in the arena; NULL: it is not below.
const char *gr_html_link(gr_arena *, const char *folder, const char *run);

// ---- gather.c: all that a page shows, as one object of JSON
void gr_gather_run(gr_text *, const gr_folder *);      // of a run
void gr_gather_runs(gr_text *, const gr_page_runs *);  // of a folder of runs

// ---- numbers.c: the main numbers as tables of HTML, for browsers without scripts
void gr_numbers_run(gr_text *, const gr_folder *);      // of a run
void gr_numbers_runs(gr_text *, const gr_page_runs *);  // of a folder of runs
