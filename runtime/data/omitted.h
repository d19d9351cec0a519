// omitted.h - counts what is left out of a data set or changed in it, and where the first of it is,
// so that one line says it.
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

// What a reason is about, and so the line that says it.
typedef enum gr_omitted_of {
  GR_OMITTED_SKIPPED,  // samples that are there and not taken: "skipped 5 of 60 texts: 5 WHY"
  GR_OMITTED_CHANGED,  // samples that are not taken whole: "5 of 60 texts WHY"
  GR_OMITTED_OTHER,    // things that are no samples: "WHY: 5"
} gr_omitted_of;

// A reason, which is a constant.
typedef struct gr_skip_reason {
  const char *why;   // after a number: "with an empty transcript"
  const char *hint;  // what to change if no sample is left
  gr_omitted_of of;
} gr_skip_reason;

typedef struct gr_omitted {
  uint64_t n;
  const char *first;  // where the first is: "list.csv:7", or its name; NULL: not known
  const char *why;    // in place of the reason's, where it has numbers or names in it
} gr_omitted;

// Adds n things, of which the first has a place, or where that is none a name. 0: nothing.
void gr_omitted_add(gr_arena *, gr_omitted *, uint64_t n, gr_loc, const char *name);
// Appends " (the first: PLACE)", if there is one; of one thing alone " (PLACE)".
void gr_omitted_put_first(const gr_omitted *, gr_text *);
// Appends the line of what is not of skipped samples, after a new line if it is not the
// first; nothing of none. `all` and `samples` are of the data set: 60, "texts".
void gr_omitted_put(const gr_omitted *, const gr_skip_reason *, uint64_t all, const char *samples,
                    gr_text *);
