// progress_line.c - see progress_line.h.
#include "base/progress_line.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 10, MAX_BAR = 40, PERCENT = 6 };  // columns of the bar, and of " 100 %"

gr_progress_line gr_progress_line_begin(double share, const char *fmt, ...) {
  gr_progress_line line = {.share = share > 1 ? 1 : share};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line.what, sizeof line.what, fmt, ap);
  va_end(ap);
  return line;
}

void gr_progress_line_put(gr_progress_line *p, int drop, gr_tint tint, const char *fmt, ...) {
  if (p->n == GR_PROGRESS_FIELDS) return;
  gr_progress_field *f = &p->field[p->n++];
  f->drop = drop, f->tint = tint;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->text, sizeof f->text, fmt, ap);
  va_end(ap);
}

void gr_progress_line_put_time(gr_progress_line *p, int drop, const char *what, double seconds) {
  long s = (long)(seconds + 0.5);
  if (s >= 3600)
    gr_progress_line_put(p, drop, GR_TINT_NONE, "%s%ld:%02ld:%02ld", what, s / 3600, s / 60 % 60,
                         s % 60);
  else
    gr_progress_line_put(p, drop, GR_TINT_NONE, "%s%ld:%02ld", what, s / 60, s % 60);
}

// ---- What fits ---------------------------------------------------------------------------------

typedef struct layout {
  bool shown[GR_PROGRESS_FIELDS], bar;
  int columns;  // of all that is shown, with a bar of BAR columns
} layout;

// Leaves out the field that is the first to be left out, or the bar; false: there is none.
static bool drop(const gr_progress_line *p, layout *l) {
  int found = -1;
  for (int i = 0; i < p->n; i++)
    if (l->shown[i] && (found < 0 || p->field[i].drop >= p->field[found].drop)) found = i;
  if (l->bar && (found < 0 || p->field[found].drop < GR_PROGRESS_DROP_BAR)) {
    l->bar = false, l->columns -= 2 + BAR + PERCENT;
    return true;
  }
  if (found < 0) return false;
  l->shown[found] = false, l->columns -= 2 + gr_text_columns(p->field[found].text);
  return true;
}

static layout lay_out(const gr_progress_line *p, int room) {
  layout l = {.bar = p->share >= 0, .columns = gr_text_columns(p->what)};
  if (l.bar) l.columns += 2 + BAR + PERCENT;
  for (int i = 0; i < p->n; i++)
    l.shown[i] = true, l.columns += 2 + gr_text_columns(p->field[i].text);
  while (l.columns > room && drop(p, &l)) continue;
  return l;
}

// ---- Writing -----------------------------------------------------------------------------------

static void put(char *out, const char *text) {
  size_t used = strlen(out);
  snprintf(out + used, GR_PROGRESS_LINE - used, "%s", text);
}

static void put_tinted(char *out, const gr_terminal *t, gr_tint tint, const char *text) {
  static const char *const codes[] = {[GR_TINT_NONE] = "",
                                      [GR_TINT_GOOD] = "\033[32m",
                                      [GR_TINT_LATE] = "\033[33m",
                                      [GR_TINT_FAINT] = "\033[2m"};
  bool tinted = t->colour && tint != GR_TINT_NONE && *text;
  if (tinted) put(out, codes[tint]);
  put(out, text);
  if (tinted) put(out, "\033[0m");
}

// Heavy and light lines differ without colours, too.
static void put_bar(char *out, const gr_terminal *t, double share, int width) {
  char done[4 * MAX_BAR] = "", left[4 * MAX_BAR] = "", percent[16];
  int filled = (int)(share * width);
  for (int i = 0; i < width; i++)
    strcat(i < filled ? done : left, i < filled ? t->utf8 ? "━" : "#" : t->utf8 ? "─" : "-");
  put(out, "  ");
  put_tinted(out, t, GR_TINT_GOOD, done);
  put_tinted(out, t, GR_TINT_FAINT, left);
  snprintf(percent, sizeof percent, " %3d %%", (int)(100 * share));
  put(out, percent);
}

// What fits of it in whole words, where nothing else does; of one long word what fits.
static void put_what(char *out, const char *what, int room) {
  char text[sizeof((gr_progress_line *)0)->what];
  size_t n = gr_text_fit(what, room);
  snprintf(text, sizeof text, "%.*s", (int)n, what);
  while (gr_text_columns(text) > room && n) text[--n] = 0;
  put(out, text);
}

void gr_progress_line_draw(const gr_progress_line *p, const gr_terminal *t,
                           char out[GR_PROGRESS_LINE]) {
  int room = t->columns - 1;
  layout l = lay_out(p, room);
  int bar = BAR + (room - l.columns > 0 ? room - l.columns : 0);
  *out = 0;
  put_what(out, p->what, room);
  if (l.bar) put_bar(out, t, p->share, bar > MAX_BAR ? MAX_BAR : bar);
  for (int i = 0; i < p->n; i++) {
    if (!l.shown[i]) continue;
    put(out, "  ");
    put_tinted(out, t, p->field[i].tint, p->field[i].text);
  }
}

void gr_progress_line_print(const gr_progress_line *p, char out[GR_PROGRESS_LINE]) {
  *out = 0;
  put(out, p->what);
  for (int i = 0; i < p->n; i++) put(out, "  "), put(out, p->field[i].text);
}
