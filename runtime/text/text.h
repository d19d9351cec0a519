// text.h - metrics of texts: what a model has written, a hypothesis, against a reference. A metric
// is counts that are added up over samples and ranks, and the number that is made of their sums, so
// that it is the same on any number of ranks.
#pragma once
#include "base/map.h"
#include "base/text.h"

enum { GR_TEXT_COUNTS = 18 };  // at most, of a metric

// Words that are written in another way: those of `words` by the number that they have there.
typedef struct gr_spelling {
  gr_map words;
  const char **instead;
} gr_spelling;

typedef struct gr_normaliser_options {
  bool remove_diacritics, split_letters;  // of basic
  const gr_spelling *spelling;            // of english; NULL: words stay as they are
} gr_normaliser_options;

// A part of what is done to a text: rules of PCRE2, or else a function of valid UTF-8 whose result
// is in the arena.
typedef struct gr_text_rule {
  const char *pattern, *with;  // with: $1 is the first group; groups that match nothing are empty
} gr_text_rule;
typedef struct gr_text_step {
  const gr_text_rule *rules;  // one after the other, up to one without a pattern
  const char *(*change)(gr_arena *, const gr_normaliser_options *, const char *text);
} gr_text_step;

typedef struct gr_normaliser {
  const char *name;
  const gr_text_step *steps;  // up to one with neither; NULL: there are none
} gr_normaliser;
typedef struct gr_text_metric {
  const char *name;
  int n;                      // its counts
  const gr_text_step *steps;  // done to both texts before they are compared; or NULL
  // Adds those of a pair of texts, which are valid UTF-8.
  void (*count)(gr_arena *, const char *hypothesis, const char *reference, int64_t *counts);
  double (*value)(const int64_t *counts);  // NaN: there is none
} gr_text_metric;

// All of them, up to NULL.
extern const gr_text_metric *const gr_text_metrics[];
const gr_text_metric *gr_text_metric_find(const char *name);  // of that name, or NULL
const gr_normaliser *gr_normaliser_find(const char *name);    // likewise

// A metric that a configuration asks for, under a name of its own.
typedef struct gr_text_metric_spec {
  const char *name;
  const gr_text_metric *metric;
  const gr_normaliser *normaliser;
  gr_normaliser_options options;
} gr_text_metric_spec;

// Its counts so far. One thread at a time.
typedef struct gr_text_score gr_text_score;
// Opens it with counts of 0, in the arena; the specification must outlive it. Close it in any case.
GR_MUST_USE gr_status gr_text_score_open(gr_arena *, const gr_text_metric_spec *,
                                         gr_text_score **out);
void gr_text_score_close(gr_text_score *);  // NULL is fine
// Adds a pair of texts; bytes that are not UTF-8 count as U+FFFD. GR_ERR_DATA: a text takes too
// much time or memory.
GR_MUST_USE gr_status gr_text_score_add(gr_text_score *, const char *hypothesis,
                                        const char *reference);
int64_t *gr_text_score_counts(gr_text_score *);  // GR_TEXT_COUNTS of them
// A text as the normaliser leaves it, in the arena. Errors as of gr_text_score_add.
GR_MUST_USE gr_status gr_text_score_normalise(const gr_text_score *, gr_arena *, const char *text,
                                              const char **out);

#define GR_TEXT_METRIC(name, doc) extern const gr_text_metric gr_text_metric_##name;
#include "runtime/text/metrics.def"
#undef GR_TEXT_METRIC
#define GR_NORMALISER(name, doc) extern const gr_normaliser gr_normaliser_##name;
#include "runtime/text/normalisers.def"
#undef GR_NORMALISER
