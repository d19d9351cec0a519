// draw.h - what the files that write SVG share: sizes, the page, and texts.
#pragma once
#include "compiler/picture/layout.h"

// All lengths are in pixels; letters limit texts, whose width SVG does not say.
enum {
  MARGIN = 16,
  TOP = 168,  // of the first row: title, memory, legend, inputs and update are above it
  MOVES_WIDTH = 158,
  FORWARD_WIDTH = 330,
  KEPT_WIDTH = 96,
  BACKWARD_WIDTH = 230,
  WEIGHTS_WIDTH = 128,
  LIVE_WIDTH = 170,
  INPUT_LETTERS = 22,
  LETTERS = 52,           // of a forward box's summary
  RUN_LETTERS = 46,       // of one that has no name
  BACKWARD_LETTERS = 36,  // of a backward box's
  BOTTOM = 64,
  SLIGHT = 1024,  // bytes kept that are not worth a number
};

typedef struct gr_picture_page {
  gr_text *t;
  const gr_picture *p;
  gr_picture_layout lay;
  bool trains;
  int moves_forward, forward, backward, moves_backward, weights, live, width;  // left edges
  double most_live;  // bytes that are as long as the column
} gr_picture_page;

// Appends text of the user's files as XML (1.0, section 2.4).
void gr_picture_put_escaped(gr_text *, const char *);
// Appends a text with its baseline at y; `attributes` are of its element.
void gr_picture_put_text(gr_text *, int x, int y, const char *attributes, const char *text);
// The same, printf-style.
void gr_picture_put_textf(gr_text *, int x, int y, const char *attributes, const char *format, ...)
    GR_PRINTF(5, 6);
// Appends a rectangle with round corners.
void gr_picture_put_box(gr_text *, int x, int y, int width, int height, const char *class);
// Appends a block's name, and how often it repeats: "layers.0-11 x12", with an en dash and a
// multiplication sign.
void gr_picture_put_label(gr_text *, const char *name, const gr_picture_block *);
// Writes "7.16 M" to buf, which is returned.
const char *gr_picture_count_text(double n, char buf[32]);

// Everything at the height of one row: its boxes, collectives, weights and memory.
void gr_picture_put_row(gr_picture_page *, uint32_t row);
// The collectives of a phase at a row, from (x, y) down; those of updates belong to no row.
void gr_picture_put_moves(gr_picture_page *, uint32_t row, gr_picture_phase, int x, int y);
// The lines between rows, of both phases.
void gr_picture_put_lines(gr_picture_page *);
// A vertical line with an arrow at its end.
void gr_picture_put_arrow(gr_text *, int x, int source, int target, const char *class);
