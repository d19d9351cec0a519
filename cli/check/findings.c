// findings.c - see findings.h.
#include "cli/check/findings.h"
#include <math.h>
#include <string.h>

static const char *format(gr_arena *a, const char *fmt, va_list ap) {
  char text[2048];
  vsnprintf(text, sizeof text, fmt, ap);
  for (char *c = text; (c = strchr(c, '\n'));) *c = ' ';
  return gr_arena_strdup(a, text);
}

gr_finding *gr_found(gr_findings *f, const char *name, const char *fmt, ...) {
  if (f->n == f->room) {
    gr_finding *before = f->list;
    f->room = f->room ? 2 * f->room : 64;
    f->list = GR_NEW(f->arena, gr_finding, f->room);
    if (before) memcpy(f->list, before, sizeof *before * (size_t)f->n);
  }
  gr_finding *one = &f->list[f->n++];
  va_list ap;
  va_start(ap, fmt);
  *one = (gr_finding){.section = f->section, .name = name, .number = NAN};
  one->value = format(f->arena, fmt, ap);
  va_end(ap);
  return one;
}

gr_finding *gr_found_bytes(gr_findings *f, const char *name, double bytes) {
  bool small = fabs(bytes) < 1e9;
  gr_finding *one = gr_found(f, name, "%.1f %s", bytes / (small ? 1e6 : 1e9), small ? "MB" : "GB");
  one->number = bytes, one->unit = "bytes";
  return one;
}

void gr_finding_judge(gr_findings *f, gr_finding_state state, const char *fmt, ...) {
  gr_finding *last = &f->list[f->n - 1];
  va_list ap;
  va_start(ap, fmt);
  last->state = state, last->hint = format(f->arena, fmt, ap);
  va_end(ap);
}

void gr_found_error(gr_findings *f, const char *name, gr_finding_state state, gr_status s,
                    const char *hint) {
  gr_found(f, name, "%s", gr_status_text(s));
  gr_finding_judge(f, state, "%s", gr_status_hint(s) ? gr_status_hint(s) : hint);
  gr_status_drop(s);
}
