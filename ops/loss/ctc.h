// ctc.h - connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber, 2006), for
// one sample: -log of the sum, over all alignments of the target to `frames` frames, of the product
// of the frames' probabilities.
//
// The target is extended with blanks around its symbols: of 2 symbols + 1 positions, s is a blank
// if s is even. alpha[t][s] is the log probability of the prefixes of alignments in frames 0..t
// that end at position s; beta[t][s] that of their suffixes in frames t+1 and later.
#pragma once
#include "ops/kernels/operands.h"

typedef struct gr_ctc {
  int64_t frames, classes, symbols, blank;
  const int32_t *target;
  double scale;  // of the loss and of the gradient
  bool zero_infinity;
} gr_ctc;

// The number of positions of the extended target, and the class at position s.
static inline int64_t gr_ctc_places(int64_t symbols) { return 2 * symbols + 1; }
// S < gr_ctc_places(symbols); blanks are at even positions.
static inline int64_t gr_ctc_class(const gr_ctc *c, int64_t s) {
  return s % 2 ? c->target[s / 2] : c->blank;
}
// Whether position s may follow s - 2 directly: the blank between different symbols is optional.
static inline bool gr_ctc_skips(const gr_ctc *c, int64_t s) {
  return s % 2 && s > 1 && c->target[s / 2] != c->target[s / 2 - 1];
}

// Doubles of working memory for a sample; keep: with its gradient, which needs all of alpha.
size_t gr_ctc_work(int64_t frames, int64_t symbols, bool keep);

// The loss of logits x [frames, classes], vectorised; its gradient is written to dx unless NULL.
double gr_ctc_f32(const gr_ctc *, const float *x, float *dx, double *work);
