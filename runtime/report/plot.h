// plot.h - draws curves as SVG and in a terminal.
#pragma once
#include "base/arena.h"
#include "base/text.h"

typedef struct gr_curve {
  const char *name;
  const double *x, *y;  // x ascends; a y that is not finite interrupts the curve
  int n;
} gr_curve;

typedef struct gr_panel {  // curves with the same axes
  const char *title, *x_label;
  const gr_curve *curves;
  int n;
  bool log;    // a logarithmic axis of y; values up to 0 are left out
  bool log_x;  // and of x, all of which are above 0
} gr_panel;

// Appends an SVG document of panels below each other. The same curves give the same bytes.
void gr_plot_svg(gr_text *, const gr_panel *, int n);

typedef struct gr_plot_terminal {
  int columns, rows;  // of a whole panel with its axes
  bool unicode;       // braille dots, else one character a cell
  bool colour;        // ANSI colours tell curves apart, else letters
} gr_plot_terminal;
// Appends one panel as lines of text.
void gr_plot_text(gr_text *, const gr_panel *, const gr_plot_terminal *);

// The paper under an SVG of class "gr", and its colours where the reader's surroundings are dark.
extern const char gr_plot_paper[];
// Appends text with what XML reserves escaped; control characters are left out.
void gr_plot_escape(gr_text *, const char *);

// ---- An axis: the range of values that it shows, and where its ticks are.
enum { GR_TICKS = 16 };
typedef struct gr_axis {
  double low, high;  // low < high
  bool log;
  double tick[GR_TICKS];
  char label[GR_TICKS][24];
  int n;
} gr_axis;
// Covers low to high with about `wanted` ticks, at least 1; low <= high, and 0 < low if it is
// logarithmic.
gr_axis gr_axis_make(double low, double high, bool log, int wanted);
double gr_axis_place(const gr_axis *, double value);  // 0 at its low end, 1 at its high end
// The axes of a panel's curves; false: there is no point to draw.
bool gr_axis_fit(const gr_panel *, int x_ticks, int y_ticks, gr_axis *x, gr_axis *y);
// Whether a point is drawn.
bool gr_axis_shows(const gr_panel *, double y);
