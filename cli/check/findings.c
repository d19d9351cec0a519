// findings.c - see findings.h.
#include "cli/check/findings.h"
#include <math.h>
#include <string.h>

void gr_findings_set(gr_findings *f, const gr_finding *list, int n) {
  f->most = n + 64;
  f->list = GR_NEW(f->arena, gr_finding, f->most), f->n = n;
  if (n) memcpy(f->list, list, sizeof *list * (size_t)n);
}

void gr_found(gr_findings *f, const char *name, gr_finding_state state, const char *hint,
              const char *fmt, ...) {
  char text[2048];
  if (f->n == f->most) gr_findings_set(f, f->list, f->n);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  f->list[f->n++] = (gr_finding){.section = f->section,
                                 .name = name,
                                 .value = gr_arena_strdup(f->arena, text),
                                 .number = NAN,
                                 .state = state,
                                 .hint = state ? hint : NULL};
}

void gr_found_number(gr_findings *f, const char *name, gr_finding_state state, const char *hint,
                     double x, const char *unit, const char *more) {
  int n = f->n;
  bool giga = fabs(x) >= 1e9;
  if (isinf(x))
    gr_found(f, name, state, hint, "unlimited%s", more);
  else if (!*unit)
    gr_found(f, name, state, hint, "%.0f%s", x, more);
  else
    gr_found(f, name, state, hint, "%.1f %s%s%s", x / (giga ? 1e9 : 1e6), giga ? "G" : "M", unit,
             more);
  f->list[n].number = x, f->list[n].unit = unit;
}

void gr_found_constant(gr_findings *f, const char *name, double x, const char *unit) {
  int n = f->n;
  gr_found(f, name, GR_FINDING_OK, NULL, "%.3g %s", x, unit);
  f->list[n].number = x, f->list[n].unit = unit;
}

void gr_found_error(gr_findings *f, const char *name, const char *hint, gr_status s) {
  const char *more = gr_status_hint(s);
  gr_found(f, name, GR_FINDING_FAILS, more ? gr_arena_strdup(f->arena, more) : hint, "%s",
           gr_status_text(s));
  gr_status_drop(s);
}
