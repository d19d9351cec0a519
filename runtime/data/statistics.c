// statistics.c - see statistics.h.
#include "runtime/data/statistics.h"
#include <math.h>
#include <stdlib.h>

double gr_statistics_divisor(double mean, double deviation) {
  return deviation > 1e-12 * (1 + fabs(mean)) ? deviation : 1;
}

bool gr_statistics_read(const char **text, double *out) {
  char *end;
  *out = strtod(*text, &end);
  bool found = end != *text && isfinite(*out);
  *text = end;
  return found;
}
