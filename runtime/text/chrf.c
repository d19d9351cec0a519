// chrf.c - chrF2 (Popovic, 2015) over all texts, with the defaults of sacrebleu: sequences of up to
// 6 characters, of which white space is none, and recall that counts twice as much as precision.
// Precision and recall are means over the orders that both texts have.
#include "runtime/text/text.h"
#include "runtime/text/units.h"

enum { ORDERS = 6, OURS = 0, WANTED = 1, COMMON = 2, EACH = 3 };  // EACH: counts of an order
static const double beta_squared = 4;

// Where the reference has no sequence of an order, those of the hypothesis do not count.
static void count(gr_arena *a, const char *hypothesis, const char *reference, int64_t *counts) {
  gr_units ours = gr_units_characters(a, hypothesis, false);
  gr_units wanted = gr_units_characters(a, reference, false);
  for (int n = 1; n <= ORDERS; n++, counts += EACH) {
    int64_t there = gr_units_grams(&wanted, n);
    counts[OURS] += there ? gr_units_grams(&ours, n) : 0;
    counts[WANTED] += there;
    counts[COMMON] += gr_units_common(a, &ours, &wanted, n);
  }
}

static double value(const int64_t *c) {
  double precision = 0, recall = 0;
  int orders = 0;
  for (int i = 0; i < ORDERS; i++, c += EACH) {
    if (!c[OURS] || !c[WANTED]) continue;
    precision += (double)c[COMMON] / (double)c[OURS];
    recall += (double)c[COMMON] / (double)c[WANTED];
    orders++;
  }
  if (!orders || precision + recall == 0) return 0;
  precision /= orders, recall /= orders;
  return 100 * (1 + beta_squared) * precision * recall / (beta_squared * precision + recall);
}

const gr_text_metric gr_text_metric_chrf = {
    .name = "chrf", .n = ORDERS * EACH, .count = count, .value = value};
