// text.c - texts and boxes of SVG.
#include <stdarg.h>
#include <stdlib.h>
#include "compiler/picture/draw.h"

// Appends text of the user's files as XML (1.0, section 2.4).
void gr_picture_put_escaped(gr_text *t, const char *s) {
  for (; *s; s++) {
    const char *entity = *s == '&'   ? "&amp;"
                         : *s == '<' ? "&lt;"
                         : *s == '>' ? "&gt;"
                         : *s == '"' ? "&quot;"
                                     : NULL;
    if (entity)
      gr_text_put(t, entity);
    else if ((unsigned char)*s >= ' ')
      gr_text_putn(t, s, 1);
  }
}

void gr_picture_put_text(gr_text *t, int x, int y, const char *attributes, const char *text) {
  gr_text_printf(t, "<text x=\"%d\" y=\"%d\" %s>", x, y, attributes);
  gr_picture_put_escaped(t, text);
  gr_text_put(t, "</text>\n");
}
void gr_picture_put_textf(gr_text *t, int x, int y, const char *attributes, const char *format,
                          ...) {
  char buf[512];
  va_list args;
  va_start(args, format);
  vsnprintf(buf, sizeof buf, format, args);
  va_end(args);
  gr_picture_put_text(t, x, y, attributes, buf);
}

void gr_picture_put_box(gr_text *t, int x, int y, int width, int height, const char *class) {
  gr_text_printf(t, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" class=\"%s\"/>\n",
                 x, y, width, height, class);
}

// "7.16 M"
const char *gr_picture_count_text(double n, char buf[32]) {
  static const char *const units[] = {"", " k", " M", " G", " T"};
  int u = 0;
  for (; n >= 1000 && u < 4; u++) n /= 1000;
  snprintf(buf, 32, u ? "%.3g%s" : "%.0f%s", n, units[u]);
  return buf;
}

// "layers.0-11 x12", with an en dash and a multiplication sign
void gr_picture_put_label(gr_text *t, const char *name, const gr_picture_block *b) {
  gr_text_put(t, name);
  if (b->repetitions > 1)
    gr_text_printf(t, "\u2013%lu  \u00d7%u", strtoul(b->name, NULL, 10) + b->repetitions - 1,
                   b->repetitions);
}
