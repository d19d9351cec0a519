// csv_cell.c - see csv_cell.h.
#include "runtime/data/csv_cell.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *after_blanks(const char *s) { return s + strspn(s, " \t"); }

bool gr_cell_missing(const char *cell) {
  static const char *const words[] = {"", "NA", "N/A", "#N/A", "<NA>", "NaN", "null", "?"};
  cell = after_blanks(cell);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t n = strlen(words[i]);
    if (!strncasecmp(cell, words[i], n) && !*after_blanks(cell + n)) return true;
  }
  return false;
}

bool gr_cell_int(const char *cell, int64_t *out) {
  char *end;
  errno = 0;
  cell = after_blanks(cell);
  *out = strtoll(cell, &end, 10);
  return end != cell && !errno && !*after_blanks(end);
}

bool gr_cell_float(const char *cell, double *out) {
  char *end;
  cell = after_blanks(cell);
  *out = strtod(cell, &end);
  return end != cell && !*after_blanks(end) && !strpbrk(cell, "xX");
}

bool gr_cell_has_commas(const char *cell) {
  enum { LONGEST = 64 };  // of numbers that people write
  char plain[LONGEST];
  size_t n = 0;
  double f;
  if (!strchr(cell, ',')) return false;
  for (; *cell && n + 1 < sizeof plain; cell++)
    if (*cell != ',') plain[n++] = *cell;
  plain[n] = 0;
  return !*cell && gr_cell_float(plain, &f);
}
