// plot_svg.c - draws panels of curves as SVG. See plot.h.
#include <math.h>
#include "runtime/report/plot.h"

// Pixels. A panel is the plot area with margins; the legend is right of it.
enum { LEFT = 76, RIGHT = 24, TOP = 40, BOTTOM = 48, WIDTH = 640, HEIGHT = 260, LETTER = 7 };
enum { FEW = 40 };

// Colours that are told apart with most kinds of colour blindness (Okabe and Ito, 2008).
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#5c4b8a", "inherit"};
enum { COLOURS = sizeof colours / sizeof *colours };
const char gr_plot_paper[] =
    "<style>@media (prefers-color-scheme:dark){.gr{color:#e4e7eb}.gr .paper{fill:#14181d}"
    ".gr [color=\"#0072b2\"]{color:#55aee8}.gr [color=\"#5c4b8a\"]{color:#a998e0}}</style>\n"
    "<rect width=\"100%\" height=\"100%\" class=\"paper\" fill=\"white\"/>\n";
static const char *const dashes[] = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""};

// A panel as it is drawn: its plot area in pixels, and its axes.
typedef struct area {
  gr_text *t;
  const gr_panel *panel;
  double width, height;
  gr_axis x, y;
} area;

static double across(const area *a, double x) { return a->width * gr_axis_place(&a->x, x); }
static double down(const area *a, double y) { return a->height * (1 - gr_axis_place(&a->y, y)); }

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
  gr_text_printf(t, "<text x=\"%.1f\" y=\"%.1f\" fill=\"currentColor\"%s>", x, y, how);
  gr_plot_escape(t, text);
  gr_text_put(t, "</text>\n");
}

// pale: of the opacity of its colour.
static void put_line(gr_text *t, double x1, double y1, double x2, double y2, double pale) {
  gr_text_printf(t,
                 "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"currentColor\" "
                 "stroke-opacity=\"%g\"/>\n",
                 x1, y1, x2, y2, pale);
}

static void put_axes(const area *a) {
  gr_text *t = a->t;
  for (int i = 0; i < a->y.n; i++) {
    double place = down(a, a->y.tick[i]);
    put_line(t, 0, place, a->width, place, 0.12);
    put_text(t, -8, place + 4, " text-anchor=\"end\"", a->y.label[i]);
  }
  for (int i = 0; i < a->x.n; i++) {
    double place = across(a, a->x.tick[i]);
    put_line(t, place, a->height, place, a->height + 5, 0.7);
    put_text(t, place, a->height + 20, " text-anchor=\"middle\"", a->x.label[i]);
  }
  put_line(t, 0, a->height, a->width, a->height, 0.7);
}

typedef struct pen {
  gr_text *t;
  bool down;  // within a piece of the path
} pen;

static void put_point(pen *p, double x, double y) {
  gr_text_printf(p->t, "%s%.1f %.1f", p->down ? "L" : "M", x, y);
  p->down = true;
}

typedef struct column {  // points whose x is in the same pixel
  int pixel;             // of which pixel; -1: none
  double x, first, least, most, last;
} column;

// Many points in one pixel are drawn as the span of their values.
static void put_column(pen *p, const column *c) {
  if (c->pixel < 0) return;
  put_point(p, c->x, c->first);
  bool falls = c->last < c->first;
  double next = falls ? c->most : c->least, then = falls ? c->least : c->most;
  if (next != c->first) put_point(p, c->x, next);
  if (then != next) put_point(p, c->x, then);
  if (c->last != then) put_point(p, c->x, c->last);
}

static void put_path(pen *p, const area *a, const gr_curve *c) {
  column now = {.pixel = -1};
  for (int i = 0; i < c->n; i++) {
    if (!gr_axis_shows(a->panel, c->y[i])) {
      put_column(p, &now);
      now.pixel = -1, p->down = false;
      continue;
    }
    double px = across(a, c->x[i]), py = down(a, c->y[i]);
    if ((int)px != now.pixel || c->n <= 2 * a->width) {
      put_column(p, &now);
      now = (column){(int)px, px, py, py, py, py};
    }
    now.least = fmin(now.least, py), now.most = fmax(now.most, py), now.last = py;
  }
  put_column(p, &now);
}

// Few points are also marked, so that a single one is seen.
static void put_curve(const area *a, int index) {
  const gr_curve *c = &a->panel->curves[index];
  const char *colour = colours[index % COLOURS];
  pen p = {.t = a->t};
  gr_text_printf(a->t,
                 "<path fill=\"none\" stroke=\"currentColor\" color=\"%s\" "
                 "stroke-width=\"1.6\"%s d=\"",
                 colour, dashes[index / COLOURS % 3]);
  put_path(&p, a, c);
  gr_text_put(a->t, "\"/>\n");
  for (int i = 0; i < c->n && c->n <= FEW; i++) {
    if (!gr_axis_shows(a->panel, c->y[i])) continue;
    gr_text_printf(a->t,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"currentColor\" "
                   "color=\"%s\"/>\n",
                   across(a, c->x[i]), down(a, c->y[i]), colour);
  }
}

static void put_legend(const area *a) {
  for (int i = 0; i < a->panel->n; i++) {
    double y = 8 + 18.0 * i;
    gr_text_printf(a->t,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
                   "stroke=\"currentColor\" color=\"%s\" stroke-width=\"2\"%s/>\n",
                   WIDTH + 16, y, WIDTH + 40, y, colours[i % COLOURS], dashes[i / COLOURS % 3]);
    put_text(a->t, WIDTH + 46, y + 4, "", a->panel->curves[i].name);
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

static void put_panel(area *a) {
  const gr_panel *p = a->panel;
  put_text(a->t, 0, -14, " font-weight=\"bold\"", p->title);
  if (!gr_axis_fit(p, 8, 6, &a->x, &a->y)) {
    put_text(a->t, 0, 10, "", "no finite value");
    return;
  }
  put_axes(a);
  for (int c = 0; c < p->n; c++) put_curve(a, c);
  put_line(a->t, 0, 0, 0, a->height, 0.7);
  put_text(a->t, a->width / 2, a->height + 38, " text-anchor=\"middle\"", p->x_label);
  put_legend(a);
}

void gr_plot_svg(gr_text *t, const gr_panel *p, int n) {
  int width = LEFT + WIDTH + legend_width(p, n) + RIGHT, height = 0;
  for (int i = 0; i < n; i++) height += panel_height(&p[i]);
  gr_text_printf(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
                 "color=\"black\" class=\"gr\">\n%s",
                 width, height, width, height, gr_plot_paper);
  for (int i = 0, top = TOP; i < n; top += panel_height(&p[i++])) {
    area a = {.t = t, .panel = &p[i], .width = WIDTH, .height = HEIGHT};
    gr_text_printf(t, "<g transform=\"translate(%d %d)\">\n", LEFT, top);
    put_panel(&a);
    gr_text_put(t, "</g>\n");
  }
  gr_text_put(t, "</svg>\n");
}
