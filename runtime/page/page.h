// page.h - report.html of a run: one self-contained page of curves, metrics, pictures,
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
