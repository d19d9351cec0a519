// ctc.c - see ctc.h. Log probabilities are doubles. Log-sum-exp adds a correction to the largest
// term; the correction is computed in floats, which adds an error of about 1e-7 per frame.
#include "ops/loss/ctc.h"
#include "ops/kernels/rows.h"

#define NEVER (-1e30)  // log of zero probability: finite, so that differences are not NaN
enum { PAD = 2 };      // unreachable states before the first and after the last

size_t gr_ctc_work(int64_t frames, int64_t symbols, bool keep) {
  int64_t places = gr_ctc_places(symbols), row = places + 2 * PAD;
  return (size_t)((keep ? frames : 2) * row + frames + 4 * row);
}

typedef struct work {
  int64_t places, row, kept;  // kept: the number of rows of alpha in memory
  double *alpha, *lse, *beta, *onward, *emit,
      *skip;  // skip: 0 where s may follow s - 2, else NEVER
} work;

static work partition(const gr_ctc *c, bool keep, double *memory) {
  work w = {.places = gr_ctc_places(c->symbols), .kept = keep ? c->frames : 2};
  w.row = w.places + 2 * PAD;
  w.lse = memory;
  w.beta = w.lse + c->frames + PAD, w.onward = w.beta + w.row, w.emit = w.onward + w.row;
  w.skip = w.emit + w.row, w.alpha = w.skip + w.row;
  for (int64_t s = -PAD; s < w.places + PAD; s++) {
    w.beta[s] = w.onward[s] = w.emit[s] = NEVER;
    w.skip[s] = s > 0 && s < w.places && gr_ctc_skips(c, s) ? 0 : NEVER;
  }
  for (int64_t r = 0; r < w.kept; r++)
    for (int64_t s = -PAD; s < w.places + PAD; s++) w.alpha[r * w.row + s] = NEVER;
  return w;
}

// log(x) for x from 1 to 3: y is x, halved where x > 1.5; log(y) = 2 atanh(z) as a series with
// z = (y - 1) / (y + 1), whose magnitude is at most 1/5.
static inline float log_near(float x) {
  float halved = x > 1.5f ? 1 : 0, y = x > 1.5f ? x * 0.5f : x;
  float z = (y - 1) / (y + 1), u = z * z;
  float p = 2.0f / 11;
  p = p * u + 2.0f / 9;
  p = p * u + 2.0f / 7;
  p = p * u + 2.0f / 5;
  p = p * u + 2.0f / 3;
  p = p * u + 2.0f;
  return p * z + halved * 0.693147181f;
}

// log(exp(a) + exp(b) + exp(c))
static inline double log_add(double a, double b, double c) {
  double top = a > b ? a : b;
  top = c > top ? c : top;
  float s =
      gr_exp_f32((float)(a - top)) + gr_exp_f32((float)(b - top)) + gr_exp_f32((float)(c - top));
  return top + (double)log_near(s);
}

// The log probability of each state's class in frame t.
static void emissions(const gr_ctc *c, const work *w, const float *x, int64_t t) {
  const float *row = x + t * c->classes;
  for (int64_t s = 0; s < w->places; s++) {
    double e = (double)row[gr_ctc_class(c, s)] - w->lse[t];
    w->emit[s] = e < NEVER ? NEVER : e;
  }
}

static double forward(const gr_ctc *c, const work *w, const float *x) {
  for (int64_t t = 0; t < c->frames; t++) {
    const double *old = w->alpha + (t + w->kept - 1) % w->kept * w->row;
    double *restrict now = w->alpha + t % w->kept * w->row;
    const double *emit = w->emit, *skip = w->skip;
    emissions(c, w, x, t);
    if (t == 0) {
      now[0] = emit[0];
      if (w->places > 1) now[1] = emit[1];
      continue;
    }
    GR_VECTOR for (int64_t s = 0; s < w->places; s++) now[s] =
        emit[s] + log_add(old[s], old[s - 1], old[s - 2] + skip[s]);
  }
  const double *last = w->alpha + (c->frames + w->kept - 1) % w->kept * w->row;
  return log_add(last[w->places - 1], last[w->places - 2], NEVER);
}

// dx = scale (p - posterior probability of class k in frame t, given the target) (Graves et al.,
// "Connectionist temporal classification", 2006).
static void frame_gradient(const gr_ctc *c, const work *w, const float *x, int64_t t, double log_p,
                           float *dx) {
  const double *alpha = w->alpha + t * w->row, *beta = w->beta;
  const float *row = x + t * c->classes;
  float *to = dx + t * c->classes, scale = (float)c->scale, lse = (float)w->lse[t], blank = 0;
  double *share = w->emit;  // the emissions are no longer needed
  GR_VECTOR for (int64_t k = 0; k < c->classes; k++) to[k] = gr_exp_f32(row[k] - lse) * scale;
  GR_VECTOR for (int64_t s = 0; s < w->places; s++) share[s] =
      (double)gr_exp_f32((float)(alpha[s] + beta[s] - log_p));
  for (int64_t s = 0; s < w->places; s += 2) blank += (float)share[s];
  for (int64_t s = 1; s < w->places; s += 2) to[c->target[s / 2]] -= (float)share[s] * scale;
  to[c->blank] -= blank * scale;
}

static void backward(const gr_ctc *c, const work *w, const float *x, double log_p, float *dx) {
  double *beta = w->beta, *restrict onward = w->onward;
  beta[w->places - 1] = 0;
  if (w->places > 1) beta[w->places - 2] = 0;
  for (int64_t t = c->frames; t--;) {
    frame_gradient(c, w, x, t, log_p, dx);
    emissions(c, w, x, t);
    for (int64_t s = 0; s < w->places; s++) onward[s] = beta[s] + w->emit[s];
    GR_VECTOR for (int64_t s = 0; s < w->places; s++) beta[s] =
        log_add(onward[s], onward[s + 1], onward[s + 2] + w->skip[s + 2]);
  }
}

static void fill(const gr_ctc *c, float *dx, float value) {
  for (int64_t i = 0; dx && i < c->frames * c->classes; i++) dx[i] = value;
}

double gr_ctc_f32(const gr_ctc *c, const float *x, float *dx, double *memory) {
  double all = 0;
  work w = partition(c, dx, memory);
  for (int64_t t = 0; t < c->frames; t++)
    all += w.lse[t] = (double)gr_log_sum_exp_f32(x + t * c->classes, c->classes);
  if (!isfinite(all)) {
    fill(c, dx, NAN);
    return (double)NAN;
  }
  double log_p = c->frames ? forward(c, &w, x) : c->symbols ? NEVER : 0;
  if (log_p < NEVER / 10) {
    fill(c, dx, c->zero_infinity ? 0 : NAN);
    return c->zero_infinity ? 0 : (double)INFINITY;
  }
  if (dx) backward(c, &w, x, log_p, dx);
  return -log_p * c->scale;
}
