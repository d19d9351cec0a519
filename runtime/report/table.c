// table.c - tables as JSON, text and SVG. See table.h.
#include "runtime/report/table.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "runtime/report/plot.h"

enum { MAX_DRAWN = 512, MAX_PRINTED = 24, MAX_LABELLED = 48 };  // rows

// ---- JSON and text ------------------------------------------------------------------------------

static void put_number(gr_text *t, double v) {
  if (v == floor(v) && fabs(v) < 1e15)
    gr_text_printf(t, "%.0f", v);
  else
    gr_text_json_float(t, v);
}

static const float *put_axis(gr_text *t, const gr_table *a, int axis, const float *value) {
  if (axis == a->rank) {
    put_number(t, (double)*value);
    return value + 1;
  }
  gr_text_put(t, "[");
  for (int64_t i = 0; i < a->dim[axis]; i++) {
    if (i) gr_text_put(t, ", ");
    value = put_axis(t, a, axis + 1, value);
  }
  gr_text_put(t, "]");
  return value;
}

void gr_table_json(gr_text *t, const gr_table *a) { put_axis(t, a, 0, a->values); }

// The name of index i of an axis, or its number.
static const char *name_of(const gr_tables *names, int64_t length, int64_t i, char buf[24]) {
  if (names->classes && length == names->n_classes) return names->classes[i];
  snprintf(buf, 24, "%lld", (long long)i);
  return buf;
}

static void put_cell(gr_text *t, double v) {
  gr_text_printf(t, v == floor(v) ? "  %8.0f" : "  %8.4f", gr_shown(v));
}

static int longest_name(const gr_tables *names, int64_t length) {
  size_t most = 1;
  char buf[24];
  for (int64_t i = 0; i < length; i++) {
    size_t n = strlen(name_of(names, length, i, buf));
    most = n > most ? n : most;
  }
  return (int)(most < 24 ? most : 24);
}

void gr_table_text(gr_text *t, const gr_table *a, const gr_tables *names) {
  char buf[24];
  int64_t rows = a->rank ? a->dim[0] : 1, columns = a->rank == 2 ? a->dim[1] : 1;
  gr_text_printf(t, "%s:\n", a->name);
  if (a->rank < 1 || a->rank > 2 || rows > MAX_PRINTED || columns > MAX_PRINTED) {
    gr_table_json(t, a);
    gr_text_put(t, "\n");
    return;
  }
  int width = longest_name(names, rows);
  for (int64_t i = 0; i < rows; i++) {
    gr_text_printf(t, "  %-*.24s", width, name_of(names, rows, i, buf));
    for (int64_t k = 0; k < columns; k++) put_cell(t, (double)a->values[i * columns + k]);
    gr_text_put(t, "\n");
  }
}

// ---- SVG ----------------------------------------------------------------------------------------

bool gr_table_is_drawn(const gr_table *a) {
  return a->rank == 2 && a->dim[0] == a->dim[1] && a->dim[0] > 1 && a->dim[0] <= MAX_DRAWN;
}

static double row_sum(const gr_table *a, int64_t i) {
  double s = 0;
  for (int64_t k = 0; k < a->dim[1]; k++) s += fabs((double)a->values[i * a->dim[1] + k]);
  return s;
}

// From the paper's colour to blue.
static void put_rect(gr_text *t, double x, double y, double side, double part) {
  gr_text_printf(t,
                 "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                 "fill=\"#08519c\" fill-opacity=\"%.3f\"/>\n",
                 x, y, side, side, part);
}

static void put_label(gr_text *t, double x, double y, const char *how, const char *text) {
  gr_text_printf(t, "<text x=\"%.0f\" y=\"%.0f\"%s>", x, y, how);
  gr_plot_escape(t, text);
  gr_text_put(t, "</text>\n");
}

static void put_row(gr_text *t, const gr_table *a, int64_t i, double side, double left,
                    double top) {
  double whole = row_sum(a, i);
  for (int64_t k = 0; k < a->dim[1]; k++) {
    double v = (double)a->values[i * a->dim[1] + k], part = whole > 0 ? fabs(v) / whole : 0;
    double x = left + (double)k * side, y = top + (double)i * side;
    put_rect(t, x, y, side, part);
    if (side < 30 || v == 0) continue;
    char text[32];
    snprintf(text, sizeof text, v == floor(v) ? "%.0f" : "%.3g", gr_shown(v));
    put_label(t, x + side / 2, y + side / 2 + 4,
              part > 0.5 ? " text-anchor=\"middle\" fill=\"white\"" : " text-anchor=\"middle\"",
              text);
  }
}

void gr_table_svg(gr_text *t, const gr_table *a, const gr_tables *names) {
  assert(gr_table_is_drawn(a));
  int64_t n = a->dim[0];
  bool labels = n <= MAX_LABELLED;
  double side = n <= 12 ? 48 : n <= MAX_LABELLED ? 32 : ceil(512.0 / (double)n);
  double left = labels ? 7.5 * longest_name(names, n) + 36 : 36, top = left + 24,
         size = side * (double)n;
  char buf[24], how[96];
  gr_text_printf(
      t,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\" class=\"gr\">\n%s",
      left + size + 16, top + size + 16, gr_plot_paper);
  put_label(t, 8, 20, " font-weight=\"bold\"", a->name);
  for (int64_t i = 0; i < n; i++) put_row(t, a, i, side, left, top);
  for (int64_t i = 0; labels && i < n; i++) {
    double place = ((double)i + 0.5) * side;
    put_label(t, left - 6, top + place + 4, " text-anchor=\"end\"", name_of(names, n, i, buf));
    snprintf(how, sizeof how, " transform=\"rotate(-90 %.0f %.0f)\"", left + place + 4, top - 6);
    put_label(t, left + place + 4, top - 6, how, name_of(names, n, i, buf));
  }
  gr_text_printf(t,
                 "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
                 "stroke=\"#444444\"/>\n</svg>\n",
                 left, top, size, size);
}
