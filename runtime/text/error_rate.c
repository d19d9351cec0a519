// error_rate.c - word and character error rates.
#include <math.h>
#include "runtime/text/text.h"
#include "runtime/text/units.h"

enum { EDITS, UNITS, N_COUNTS };

static void add(gr_arena *a, const gr_units *hypothesis, const gr_units *reference,
                int64_t *counts) {
  counts[EDITS] += gr_units_distance(a, hypothesis, reference);
  counts[UNITS] += reference->n;
}

static void count_words(gr_arena *a, const char *hypothesis, const char *reference,
                        int64_t *counts) {
  gr_units u[2];
  gr_units_words(a, hypothesis, reference, u);
  add(a, &u[0], &u[1], counts);
}

static void count_characters(gr_arena *a, const char *hypothesis, const char *reference,
                             int64_t *counts) {
  gr_units u[2] = {gr_units_characters(a, hypothesis, true),
                   gr_units_characters(a, reference, true)};
  add(a, &u[0], &u[1], counts);
}

static double rate(const int64_t *counts) {
  return counts[UNITS] ? (double)counts[EDITS] / (double)counts[UNITS] : (double)NAN;
}

const gr_text_metric gr_text_metric_wer = {
    .name = "wer", .n = N_COUNTS, .count = count_words, .value = rate};
const gr_text_metric gr_text_metric_cer = {
    .name = "cer", .n = N_COUNTS, .count = count_characters, .value = rate};
