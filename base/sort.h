// sort.h - orders for qsort and bsearch.
#pragma once
#include <string.h>

// Of texts, const char *, by their bytes.
static inline int gr_order_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}
// Of doubles, ascending.
static inline int gr_order_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
