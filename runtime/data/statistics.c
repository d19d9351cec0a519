// statistics.c - see statistics.h.
#include "runtime/data/statistics.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

double gr_statistics_divisor(double mean, double deviation) {
  return deviation > DBL_MIN + 1e-14 * fabs(mean) ? deviation : 1;
}

bool gr_statistics_read(const char **text, double *out) {
  char *end;
  *out = strtod(*text, &end);
  bool found = end != *text && isfinite(*out);
  *text = end;
  return found;
}
