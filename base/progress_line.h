// progress_line.h - how far something is, in one line: what it is, the share that is done, and
// fields such as the remaining time. All long work is shown by it: on a terminal as a line that is
// overwritten, with a bar (gr_log_progress), else as a line of the log.
#pragma once
#include "base/terminal.h"

typedef enum gr_tint { GR_TINT_NONE, GR_TINT_GOOD, GR_TINT_LATE, GR_TINT_FAINT } gr_tint;
enum { GR_PROGRESS_FIELDS = 16, GR_PROGRESS_TEXT = 64, GR_PROGRESS_LINE = 4096 };
enum { GR_PROGRESS_DROP_BAR = 3 };  // when the bar is left out: gr_progress_field.drop

typedef struct gr_progress_field {
  char text[GR_PROGRESS_TEXT];
  int drop;  // where not all fit, those of the largest number are left out first, wholly
  gr_tint tint;
} gr_progress_field;
typedef struct gr_progress_line {
  char what[128];  // shown in any case
  double share;    // 0 to 1; below 0: not known, and without a bar
  gr_progress_field field[GR_PROGRESS_FIELDS];
  int n;
} gr_progress_line;

// A line without fields.
gr_progress_line gr_progress_line_begin(double share, const char *fmt, ...) GR_PRINTF(2, 3);
// Appends a field; one more than GR_PROGRESS_FIELDS is left out.
void gr_progress_line_put(gr_progress_line *, int drop, gr_tint, const char *fmt, ...)
    GR_PRINTF(4, 5);
// Appends a time of so many seconds, "eta 1:02:03".
void gr_progress_line_put_time(gr_progress_line *, int drop, const char *what, double seconds);
// Writes the line for a terminal: within its columns but the last, no word cut, fields left out
// where they do not fit, and the bar as wide as there is room. Escape sequences are colours only.
void gr_progress_line_draw(const gr_progress_line *, const gr_terminal *,
                           char out[GR_PROGRESS_LINE]);
// Writes it without a bar and with all its fields, for a log.
void gr_progress_line_print(const gr_progress_line *, char out[GR_PROGRESS_LINE]);
