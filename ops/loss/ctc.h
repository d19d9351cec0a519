// ctc.h - connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber, 2006), for
// one sample: -log of the sum, over all ways to spell the target in `frames` frames, of the
// product of the frames' probabilities.
//
// The target is read with blanks around its symbols: place s of 2 symbols + 1 is a blank where s
// is even. alpha[t][s] is the log probability of frames 0..t that end in place s; beta[t][s] of
// frames t+1.. from there on.
#pragma once
#include "ops/kernels/operands.h"

typedef struct gr_ctc {
  int64_t frames, classes, symbols, blank;
  const int32_t *target;
  double scale;  // of the loss and of the gradient
  bool zero_infinity;
} gr_ctc;

static inline int64_t gr_ctc_places(int64_t symbols) { return 2 * symbols + 1; }
static inline int64_t gr_ctc_class(const gr_ctc *c, int64_t s) {
  return s % 2 ? c->target[s / 2] : c->blank;
}
// Whether place s may follow s - 2: then the blank between them may be left out.
static inline bool gr_ctc_skips(const gr_ctc *c, int64_t s) {
  return s % 2 && s > 1 && c->target[s / 2] != c->target[s / 2 - 1];
}

// Doubles of working memory for a sample of so many frames and symbols, with its gradient or not.
size_t gr_ctc_work(int64_t frames, int64_t symbols, bool keep);

// f32, vectorised: the loss of logits x [frames, classes], and its gradient in dx unless NULL.
double gr_ctc_f32(const gr_ctc *, const float *x, float *dx, double *work);
