// shown.h - quantities, results and names as people read them, on a screen and in a log.
#pragma once
#include "base/text.h"

enum { GR_QUANTITY = 32 };
// Each writes a C string to buf, and returns it.
const char *gr_bytes_text(double bytes, char buf[GR_QUANTITY]);  // "12.3 MB": powers of 1,000
const char *gr_flops_text(double flops, char buf[GR_QUANTITY]);  // "12.3 MFLOP"
// A loss, a metric or another result: four decimals, or as %.4g where that would take more room.
const char *gr_result_text(double x, char buf[GR_QUANTITY]);

// Appends the n-th number (from 0) to the text of a list, "1, 2"; of those behind the eighth,
// "...".
void gr_list_number(char *list, size_t size, int n, int number);

// x, without the sign that machines differ in if it is NaN: what printf is given of results and
// data.
double gr_shown(double x);

// A name from a user's file as a part of a line: s, or a copy in the arena with its line ends and
// other control characters escaped (gr_text_visible).
const char *gr_name_shown(gr_arena *, const char *s);
