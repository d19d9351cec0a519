// error_rate.c - word and character error rates.
#include <math.h>
#include "runtime/data/tokenizer/split.h"
#include "runtime/text/text.h"
#include "runtime/text/units.h"

enum { EDITS, UNITS, N_COUNTS };

static void add(gr_arena *a, const gr_units u[2], int64_t *counts) {
  counts[EDITS] += gr_units_distance(a, &u[0], &u[1]);
  counts[UNITS] += u[1].n;
}

static void count_words(gr_arena *a, const char *hypothesis, const char *reference,
                        int64_t *counts) {
  gr_units u[2];
  gr_units_words(a, hypothesis, reference, u);
  add(a, u, counts);
}

// White space at the ends is none of them: normalisers leave some there.
static gr_units characters(gr_arena *a, const char *text) {
  gr_units u = gr_units_characters(a, text, true);
  while (u.n && gr_is_white((uint32_t)u.id[u.n - 1])) u.n--;
  while (u.n && gr_is_white((uint32_t)u.id[0])) u.id++, u.n--;
  return u;
}

static void count_characters(gr_arena *a, const char *hypothesis, const char *reference,
                             int64_t *counts) {
  add(a, (const gr_units[]){characters(a, hypothesis), characters(a, reference)}, counts);
}

static double rate(const int64_t *counts) {
  return counts[UNITS] ? (double)counts[EDITS] / (double)counts[UNITS] : (double)NAN;
}

const gr_text_metric gr_text_metric_wer = {
    .name = "wer", .n = N_COUNTS, .count = count_words, .value = rate};
const gr_text_metric gr_text_metric_cer = {
    .name = "cer", .n = N_COUNTS, .count = count_characters, .value = rate};
