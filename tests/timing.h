// timing.h - the time of processors, and medians, for benches and tests.
#pragma once
#include <stdlib.h>
#include <time.h>

// Seconds that this process has had processors for, on all threads together.
static inline double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The order of two numbers, for qsort.
static inline int timing_by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// From the least to the largest.
static inline void sort_numbers(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, timing_by_value);
}

// The median of n numbers, which are sorted.
static inline double median_of(double *x, int n) {
  sort_numbers(x, n);
  return x[n / 2];
}
