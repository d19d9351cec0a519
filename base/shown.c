// shown.c - see shown.h.
#include "base/shown.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// x in the largest of n units that it has one of; the first is whole.
static const char *in_units(double x, const char *const *units, int n, char buf[GR_QUANTITY]) {
  int u = 0;
  for (; x >= 1000 && u < n - 1; u++) x /= 1000;
  snprintf(buf, GR_QUANTITY, u ? "%.1f %s" : "%.0f %s", x, units[u]);
  return buf;
}

const char *gr_bytes_text(double bytes, char buf[GR_QUANTITY]) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  return in_units(bytes, units, sizeof units / sizeof *units, buf);
}

const char *gr_flops_text(double flops, char buf[GR_QUANTITY]) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  return in_units(flops, units, sizeof units / sizeof *units, buf);
}

const char *gr_result_text(double x, char buf[GR_QUANTITY]) {
  snprintf(buf, GR_QUANTITY, fabs(x) < 1e12 ? "%.4f" : "%.4g", gr_shown(x));
  return buf;
}

void gr_list_number(char *list, size_t size, int n, int number) {
  enum { MOST = 8 };
  size_t used = strlen(list);
  if (n < MOST) snprintf(list + used, size - used, "%s%d", n ? ", " : "", number);
  if (n == MOST) snprintf(list + used, size - used, ", ...");
}

double gr_shown(double x) { return isnan(x) ? fabs(x) : x; }

const char *gr_name_shown(gr_arena *a, const char *s) {
  char one[GR_VISIBLE];
  gr_text t = gr_text_make(a);
  bool same = true;
  for (const char *c = s; *c;) {
    int n = gr_text_visible(c, one);
    same &= (size_t)n == strlen(one) && !strncmp(c, one, (size_t)n);
    gr_text_put(&t, one);
    c += n;
  }
  return same ? s : t.chars;
}
