// bleu.c - BLEU (Papineni et al., 2002) over all texts, with the defaults of sacrebleu (Post,
// 2018): words as NIST's mteval-v13a.pl splits them, and its exponential smoothing (Chen and
// Cherry, 2014, method 3).
#include <math.h>
#include "runtime/text/text.h"
#include "runtime/text/units.h"

enum { ORDERS = 4, OURS = 0, WANTED = 1, CORRECT = 2, TOTAL = CORRECT + ORDERS };
enum { N_COUNTS = TOTAL + ORDERS };

static const gr_text_rule rules[] = {
    {"\\s+\\z", ""},
    {"<skipped>", ""},
    {"-\\n", ""},  // a word that is divided at the end of a line
    {"&quot;", "\""},
    {"&amp;", "&"},
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"\\A|\\z", " "},  // the rules below look at what is beside a character
    {"[!-&(-+/:-@\\[-`{-~]", " $0 "},
    {"([^0-9])([.,])", "$1 $2 "},
    {"([.,])([^0-9])", " $1 $2"},
    {"([0-9])-", "$1 - "},
    {NULL, NULL}};
static const gr_text_step steps[] = {{.rules = rules}, {0}};

static void count(gr_arena *a, const char *hypothesis, const char *reference, int64_t *counts) {
  gr_units u[2];
  gr_units_words(a, hypothesis, reference, u);
  counts[OURS] += u[0].n, counts[WANTED] += u[1].n;
  for (int n = 1; n <= ORDERS; n++) {
    counts[CORRECT + n - 1] += gr_units_common(a, &u[0], &u[1], n);
    counts[TOTAL + n - 1] += gr_units_grams(&u[0], n);
  }
}

// Without a match of any order it is 0, and so it is where the texts are too short for an order.
static double value(const int64_t *c) {
  double sum = 0, smooth = 1;
  int64_t any = 0;
  for (int i = 0; i < ORDERS; i++) any += c[CORRECT + i];
  if (!any || !c[TOTAL + ORDERS - 1]) return 0;
  for (int i = 0; i < ORDERS; i++) {
    double correct = (double)c[CORRECT + i];
    if (!c[CORRECT + i]) correct = 1 / (smooth *= 2);
    sum += log(100 * correct / (double)c[TOTAL + i]);
  }
  double brevity = c[OURS] < c[WANTED] ? exp(1 - (double)c[WANTED] / (double)c[OURS]) : 1;
  return brevity * exp(sum / ORDERS);
}

const gr_text_metric gr_text_metric_bleu = {
    .name = "bleu", .n = N_COUNTS, .steps = steps, .count = count, .value = value};
