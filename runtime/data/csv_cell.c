// csv_cell.c - see csv_cell.h.
#include "runtime/data/csv_cell.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *after_blanks(const char *s) {
  while (*s == ' ' || *s == '\t') s++;
  return s;
}

// Asked of every cell, most of which are numbers: by their first character they are none of these.
bool gr_cell_missing(const char *cell) {
  static const char *const words[] = {"", "NA", "N/A", "#N/A", "<NA>", "NaN", "null", "?"};
  cell = after_blanks(cell);
  if ((*cell >= '0' && *cell <= '9') || *cell == '-') return false;
  if (*cell && !strchr("nN#<?", *cell)) return false;
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

// Reads the digits at *text as further ones of *value; *count becomes their number. False: there
// are too many for it.
static bool read_digits(const char **text, uint64_t *value, int *count) {
  const char *start = *text;
  for (; **text >= '0' && **text <= '9'; ++*text) {
    if (*value > (UINT64_MAX - 9) / 10) return false;
    *value = 10 * *value + (uint64_t)(**text - '0');
  }
  *count = (int)(*text - start);
  return true;
}

// A number of few digits without an exponent, as nearly all are: both parts of the quotient are
// exact, so that it is rounded once, as strtod rounds. False: strtod must say what the cell is.
static bool read_decimal(const char *cell, double *out) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  enum { POWERS = sizeof powers / sizeof *powers };
  uint64_t value = 0;
  int whole, scale = 0;
  bool minus = *cell == '-';
  cell += minus || *cell == '+';
  if (!read_digits(&cell, &value, &whole)) return false;
  if (*cell == '.' && (cell++, !read_digits(&cell, &value, &scale))) return false;
  if (!(whole + scale) || *after_blanks(cell) || value > 1ull << 53 || scale >= POWERS)
    return false;
  *out = (double)value / powers[scale];
  if (minus) *out = -*out;
  return true;
}

bool gr_cell_float(const char *cell, double *out) {
  char *end;
  cell = after_blanks(cell);
  if (read_decimal(cell, out)) return true;
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
