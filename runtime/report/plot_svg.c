// plot_svg.c - draws panels of curves as SVG. See plot.h.
#include <math.h>
#include <string.h>
#include "runtime/report/plot.h"

// Pixels. A panel is the plot area with margins; the legend is right of it.
enum { LEFT = 76, RIGHT = 24, TOP = 40, BOTTOM = 48, WIDTH = 640, HEIGHT = 260, LETTER = 7 };

// Colours that are told apart with most kinds of colour blindness (Okabe and Ito, 2008).
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#5c4b8a", "#000000"};
enum { COLOURS = sizeof colours / sizeof *colours };
static const char *const dashes[] = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""};

void gr_plot_escape(gr_text *t, const char *s) {
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '&' || c == '<' || c == '>' || c == '"')
      gr_text_printf(t, "&#%d;", c);
    else if (c >= 32)
      gr_text_putn(t, s, 1);
  }
}

static void put_text(gr_text *t, double x, double y, const char *how, const char *text) {
  gr_text_printf(t, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
  gr_plot_escape(t, text);
  gr_text_put(t, "</text>\n");
}

static void put_line(gr_text *t, double x1, double y1, double x2, double y2, const char *colour) {
  gr_text_printf(t, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
                 y1, x2, y2, colour);
}

static void put_axes(gr_text *t, const gr_panel *p, const gr_axis *x, const gr_axis *y) {
  for (int i = 0; i < y->n; i++) {
    double at = HEIGHT * (1 - gr_axis_place(y, y->tick[i]));
    put_line(t, 0, at, WIDTH, at, "#e4e4e4");
    put_text(t, -8, at + 4, " text-anchor=\"end\"", y->label[i]);
  }
  for (int i = 0; i < x->n; i++) {
    double at = WIDTH * gr_axis_place(x, x->tick[i]);
    put_line(t, at, HEIGHT, at, HEIGHT + 5, "#444444");
    put_text(t, at, HEIGHT + 20, " text-anchor=\"middle\"", x->label[i]);
  }
  put_line(t, 0, HEIGHT, WIDTH, HEIGHT, "#444444");
  put_line(t, 0, 0, 0, HEIGHT, "#444444");
  put_text(t, WIDTH / 2.0, HEIGHT + 38, " text-anchor=\"middle\"", p->x_label);
  put_text(t, 0, -14, " font-weight=\"bold\"", p->title);
}

typedef struct pen {
  gr_text *t;
  bool down;  // within a piece of the path
  int drawn;  // points of the whole curve
} pen;

static void put_point(pen *p, double x, double y) {
  gr_text_printf(p->t, "%s%.1f %.1f", p->down ? "L" : "M", x, y);
  p->down = true, p->drawn++;
}

typedef struct column {  // points whose x is in the same pixel
  int at;                // of which pixel; -1: none
  double x, first, least, most, last;
} column;

// Many points in one pixel are drawn as the span of their values.
static void put_column(pen *p, const column *c) {
  if (c->at < 0) return;
  put_point(p, c->x, c->first);
  bool falls = c->last < c->first;
  double next = falls ? c->most : c->least, then = falls ? c->least : c->most;
  if (next != c->first) put_point(p, c->x, next);
  if (then != next) put_point(p, c->x, then);
  if (c->last != then) put_point(p, c->x, c->last);
}

static void put_path(pen *p, const gr_panel *panel, const gr_curve *c, const gr_axis *x,
                     const gr_axis *y) {
  column now = {.at = -1};
  for (int i = 0; i < c->n; i++) {
    if (!gr_axis_shows(panel, c->y[i])) {
      put_column(p, &now);
      now.at = -1, p->down = false;
      continue;
    }
    double px = WIDTH * gr_axis_place(x, c->x[i]), py = HEIGHT * (1 - gr_axis_place(y, c->y[i]));
    if ((int)px != now.at || c->n <= 2 * WIDTH) {
      put_column(p, &now);
      now = (column){(int)px, px, py, py, py, py};
    }
    now.least = fmin(now.least, py), now.most = fmax(now.most, py), now.last = py;
  }
  put_column(p, &now);
}

// Few points are also marked, so that a single one is seen.
static void put_curve(gr_text *t, const gr_panel *panel, int index, const gr_axis *x,
                      const gr_axis *y) {
  const gr_curve *c = &panel->curves[index];
  const char *colour = colours[index % COLOURS];
  pen p = {.t = t};
  gr_text_printf(t, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", colour,
                 dashes[index / COLOURS % 3]);
  put_path(&p, panel, c, x, y);
  gr_text_put(t, "\"/>\n");
  for (int i = 0; i < c->n && c->n <= 40; i++)
    if (gr_axis_shows(panel, c->y[i]))
      gr_text_printf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"%s\"/>\n",
                     WIDTH * gr_axis_place(x, c->x[i]), HEIGHT * (1 - gr_axis_place(y, c->y[i])),
                     colour);
}

static void put_legend(gr_text *t, const gr_panel *p) {
  for (int i = 0; i < p->n; i++) {
    double y = 8 + 18.0 * i;
    gr_text_printf(t,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
                   "stroke-width=\"2\"%s/>\n",
                   WIDTH + 16, y, WIDTH + 40, y, colours[i % COLOURS], dashes[i / COLOURS % 3]);
    put_text(t, WIDTH + 46, y + 4, "", p->curves[i].name);
  }
}

static int letters(const char *s) {
  int n = 0;
  for (; *s; s++) n += (*s & 0xc0) != 0x80;
  return n;
}

static int legend_width(const gr_panel *p, int n) {
  int most = 0;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < p[i].n; c++) {
      int now = letters(p[i].curves[c].name);
      most = now > most ? now : most;
    }
  return 46 + LETTER * most;
}

static int panel_height(const gr_panel *p) {
  int legend = 18 * p->n + 8;
  return TOP + BOTTOM + (legend > HEIGHT ? legend : HEIGHT);
}

void gr_plot_svg(gr_text *t, const gr_panel *p, int n) {
  int width = LEFT + WIDTH + legend_width(p, n) + RIGHT, height = 0;
  for (int i = 0; i < n; i++) height += panel_height(&p[i]);
  gr_text_printf(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                 width, height, width, height, width, height);
  for (int i = 0, top = TOP; i < n; top += panel_height(&p[i++])) {
    gr_axis x, y;
    gr_text_printf(t, "<g transform=\"translate(%d %d)\">\n", LEFT, top);
    if (gr_axis_fit(&p[i], 8, 6, &x, &y)) {
      put_axes(t, &p[i], &x, &y);
      for (int c = 0; c < p[i].n; c++) put_curve(t, &p[i], c, &x, &y);
      put_legend(t, &p[i]);
    } else {
      put_text(t, 0, -14, " font-weight=\"bold\"", p[i].title);
      put_text(t, 0, 10, "", "no finite value");
    }
    gr_text_put(t, "</g>\n");
  }
  gr_text_put(t, "</svg>\n");
}
