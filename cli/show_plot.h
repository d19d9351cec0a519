// show_plot.h - writes panels of curves to an SVG file or draws them on standard output.
#pragma once
#include "runtime/report/plot.h"

// Only SVG is written: an error for a path, or NULL, that ends like another picture.
GR_MUST_USE gr_status gr_show_check_path(const char *path);
// path: NULL: standard output, as wide as the terminal. GR_ERR_IO.
GR_MUST_USE gr_status gr_show_plot(gr_arena *, const gr_panel *, int n, const char *path);
// Whether an ending, or NULL, is one of n, in either case of its letters.
bool gr_show_is_one_of(const char *ending, const char *const *endings, size_t n);
const char *gr_show_visible(gr_arena *, const char *text);  // a name without control characters
