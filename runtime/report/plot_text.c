// plot_text.c - draws a panel of curves in a terminal: each character is a cell of 2 x 4 braille
// dots, or, where curves are told apart by letters, one letter. See plot.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/report/plot.h"

enum {
  LABEL = 10,
  LETTERS = 26,
  MIN_COLUMNS = 30,
  MIN_ROWS = 8
};  // LABEL: columns left of the axis

typedef struct canvas {
  int columns, rows;      // of cells
  int across, down;       // dots of a cell
  unsigned char *dots;    // by cell: its braille dots
  unsigned char *curves;  // by cell: 1 + the curve drawn last; 0: none
} canvas;

static void put_dot(canvas *c, int x, int y, int curve) {
  static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || y < 0 || x >= c->columns * c->across || y >= c->rows * c->down) return;
  int cell = y / c->down * c->columns + x / c->across;
  c->dots[cell] |= bits[y % c->down][x % c->across];
  c->curves[cell] = (unsigned char)(1 + curve % 255);
}

// All dots between two points, without gaps.
static void put_segment(canvas *c, int x0, int y0, int x1, int y1, int curve) {
  int dx = x1 - x0, dy = y1 - y0;
  int n = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
  for (int i = 0; i <= n; i++)
    put_dot(c, x0 + (n ? (int)lround((double)dx * i / n) : 0),
            y0 + (n ? (int)lround((double)dy * i / n) : 0), curve);
}

static void draw(canvas *c, const gr_panel *p, int curve, const gr_axis *x, const gr_axis *y) {
  const gr_curve *v = &p->curves[curve];
  bool joined = false;
  int px = 0, py = 0;
  for (int i = 0; i < v->n; i++) {
    bool shown = gr_axis_shows(p, v->y[i]);
    if (shown) {
      int nx = (int)lround(gr_axis_place(x, v->x[i]) * (c->columns * c->across - 1));
      int ny = (int)lround((1 - gr_axis_place(y, v->y[i])) * (c->rows * c->down - 1));
      put_segment(c, joined ? px : nx, joined ? py : ny, nx, ny, curve);
      px = nx, py = ny;
    }
    joined = shown;
  }
}

static const int ansi[] = {34, 31, 32, 35, 33, 36};
enum { ANSI = sizeof ansi / sizeof *ansi };

static void put_cell(gr_text *t, const canvas *c, int cell, const gr_plot_terminal *how,
                     bool letters) {
  int curve = c->curves[cell] - 1;
  if (curve < 0) {
    gr_text_put(t, " ");
    return;
  }
  if (how->colour) gr_text_printf(t, "\033[%dm", ansi[curve % ANSI]);
  if (letters)
    gr_text_printf(t, "%c", 'a' + curve % LETTERS);
  else if (how->unicode)
    gr_text_put_code(t, 0x2800u + c->dots[cell]);
  else
    gr_text_put(t, "*");
  if (how->colour) gr_text_put(t, "\033[0m");
}

// The tick whose row this is; NULL: none.
static const char *label_of(const gr_axis *y, int row, int rows) {
  for (int i = 0; i < y->n; i++)
    if ((int)lround((1 - gr_axis_place(y, y->tick[i])) * (rows - 1)) == row) return y->label[i];
  return NULL;
}

static void put_rows(gr_text *t, const canvas *c, const gr_axis *y, const gr_plot_terminal *how,
                     bool letters) {
  for (int row = 0; row < c->rows; row++) {
    const char *label = label_of(y, row, c->rows);
    gr_text_printf(t, "%*s ", LABEL, label ? label : "");
    gr_text_put(t, how->unicode ? (label ? "┤" : "│") : label ? "+" : "|");
    int end = c->columns;
    while (end && !c->curves[row * c->columns + end - 1]) end--;
    for (int i = 0; i < end; i++) put_cell(t, c, row * c->columns + i, how, letters);
    gr_text_put(t, "\n");
  }
}

// The axis of x, and below it the labels that have room.
static void put_x_axis(gr_text *t, const canvas *c, const gr_axis *x, bool unicode,
                       const char *name) {
  char *line = gr_arena_alloc(t->arena, (size_t)c->columns + 64);
  bool *tick = GR_NEW(t->arena, bool, c->columns + 1);
  int end = 0, width = c->columns + LABEL;
  memset(line, ' ', (size_t)width + 40);
  for (int i = 0; i < x->n; i++) {
    int column = (int)lround(gr_axis_place(x, x->tick[i]) * (c->columns - 1));
    int n = (int)strlen(x->label[i]), first = LABEL + 2 + column - n / 2;
    tick[column] = true;
    if (first < end + 1 || first + n > width + 2) continue;
    memcpy(line + first, x->label[i], (size_t)n);
    end = first + n;
  }
  line[end] = 0;
  gr_text_printf(t, "%*s %s", LABEL, "", unicode ? "└" : "+");
  for (int i = 0; i < c->columns; i++)
    gr_text_put(t, tick[i] ? (unicode ? "┬" : "+") : unicode ? "─" : "-");
  gr_text_printf(t, "\n%s\n%*s %*s\n", line, LABEL, "", c->columns / 2 + (int)strlen(name) / 2,
                 name);
}

static void put_legend(gr_text *t, const gr_panel *p, const gr_plot_terminal *how, bool letters) {
  for (int i = 0; i < p->n; i++) {
    gr_text_printf(t, "%*s ", LABEL, "");
    if (how->colour) gr_text_printf(t, "\033[%dm", ansi[i % ANSI]);
    if (letters)
      gr_text_printf(t, "%c", 'a' + i % LETTERS);
    else
      gr_text_put(t, how->unicode ? "──" : "*");
    gr_text_printf(t, "%s %s\n", how->colour ? "\033[0m" : "", p->curves[i].name);
  }
}

void gr_plot_text(gr_text *t, const gr_panel *p, const gr_plot_terminal *how) {
  gr_axis x, y;
  bool letters = p->n > 1 && !(how->colour && how->unicode && p->n <= ANSI);
  int columns = how->columns < MIN_COLUMNS ? MIN_COLUMNS : how->columns;
  int rows = how->rows < MIN_ROWS ? MIN_ROWS : how->rows;
  bool braille = how->unicode && !letters;
  canvas c = {.columns = columns - LABEL - 2,
              .rows = rows - 4,
              .across = braille ? 2 : 1,
              .down = braille ? 4 : 1};
  gr_text_printf(t, "%*s %s\n", LABEL, "", p->title);
  if (!gr_axis_fit(p, columns / 12, c.rows / 3 + 1, &x, &y)) {
    gr_text_printf(t, "%*s no finite value\n", LABEL, "");
    return;
  }
  c.dots = GR_NEW(t->arena, unsigned char, c.columns *c.rows);
  c.curves = GR_NEW(t->arena, unsigned char, c.columns *c.rows);
  for (int i = 0; i < p->n; i++) draw(&c, p, i, &x, &y);
  put_rows(t, &c, &y, how, letters);
  put_x_axis(t, &c, &x, how->unicode, p->x_label);
  put_legend(t, p, how, letters);
}
