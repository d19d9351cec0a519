// pool_max_f32.c - max pooling of f32, by rows of windows along the last spatial axis: for each
// element of a window, all windows of the row at once. So small numbers of channels are fast too.
#include <math.h>
#include "ops/kernels/rows.h"
#include "ops/nn/pool.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct job {
  const gr_pool *p;
  const float *x, *y, *dy;
  float *to;
} job;

// Windows [begin, end) of a row that have element `tap` of theirs, which is no padding.
static gr_pool_range having(const gr_pool *p, int64_t tap) {
  const gr_windows *w = &p->w;
  int64_t stride = w->stride[2], first = tap - w->pad[2];  // of window 0
  int64_t begin = first >= 0 ? 0 : (stride - 1 - first) / stride;
  int64_t end = first >= w->in[2] ? 0 : (w->in[2] - 1 - first) / stride + 1;
  return (gr_pool_range){begin, gr_min_i64(end, w->out[2])};
}

// A row of windows: where its first element is in x, of the first plane and row of its elements.
typedef struct row {
  gr_pool_range plane, line;
  int64_t sample;
} row;

static row row_of(const gr_pool *p, int64_t r) {
  const int64_t *out = p->w.out;
  return (row){.plane = gr_pool_elements(p, 0, r / out[1] % out[0]),
               .line = gr_pool_elements(p, 1, r % out[1]),
               .sample = r / (out[0] * out[1])};
}

// Where element `tap` of a window of the row is in x, for its elements in plane d and line h.
static int64_t place(const gr_pool *p, const row *r, int64_t d, int64_t h, int64_t window,
                     int64_t tap) {
  const gr_windows *w = &p->w;
  int64_t element = window * w->stride[2] - w->pad[2] + tap;
  return (((r->sample * w->in[0] + d) * w->in[1] + h) * w->in[2] + element) * p->c;
}

// ---- The maximum --------------------------------------------------------------------------------

INLINE void raise(const float *x, float *y, int64_t n, int64_t step, int64_t c) {
  for (int64_t o = 0; o < n; o++, x += step, y += c)
    GR_VECTOR for (int64_t i = 0; i < c; i++) y[i] = y[i] > x[i] || y[i] != y[i] ? y[i] : x[i];
}

// Loops over a constant number of channels are unrolled.
static void raise_row(const float *x, float *y, int64_t n, int64_t step, int64_t c) {
  if (step == c)
    raise(x, y, 1, 0, n * c);
  else if (c == 4)
    raise(x, y, n, step, 4);
  else if (c == 8)
    raise(x, y, n, step, 8);
  else if (c == 16)
    raise(x, y, n, step, 16);
  else
    raise(x, y, n, step, c);
}

static void largest(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const gr_pool *p = j->p;
  int64_t c = p->c, size = p->w.out[2] * c;
  for (int64_t k = begin; k < end; k++) {
    row r = row_of(p, k);
    float *y = j->to + k * size;
    for (int64_t i = 0; i < size; i++) y[i] = -INFINITY;
    for (int64_t d = r.plane.begin; d < r.plane.end; d++)
      for (int64_t h = r.line.begin; h < r.line.end; h++)
        for (int64_t tap = 0; tap < p->w.size[2]; tap++) {
          gr_pool_range o = having(p, tap);
          if (o.begin < o.end)
            raise_row(j->x + place(p, &r, d, h, o.begin, tap), y + o.begin * c, o.end - o.begin,
                      p->w.stride[2] * c, c);
        }
  }
}

void gr_pool_max(const gr_launch *l, const gr_pool *p, const float *x, float *y) {
  gr_parallel(l, p->n * p->w.out[0] * p->w.out[1],
              gr_row_grain(gr_product(p->w.size) * p->w.out[2] * p->c), largest,
              &(job){.p = p, .x = x, .to = y});
}

// ---- The gradient -------------------------------------------------------------------------------
// That of a window goes to the first of its elements that equals its maximum. `left` is what is
// still to be given, of some windows of a row and some channels.

enum { ROOM = 1024 };
typedef struct part {
  int64_t first, windows, channel, channels;
} part;

INLINE void give(const float *x, const float *y, float *dx, float *left, const part *t,
                 int64_t step, int64_t apart, int64_t c) {
  for (int64_t o = 0; o < t->windows; o++, x += step, dx += step, y += apart, left += c)
    GR_VECTOR for (int64_t i = 0; i < c; i++) {
      bool it = x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]);
      dx[i] += it ? left[i] : 0;
      left[i] = it ? 0 : left[i];
    }
}

static void give_tap(const float *x, const float *y, float *dx, float *left, const part *t,
                     int64_t step, int64_t apart) {
  if (t->channels == 4)
    give(x, y, dx, left, t, step, apart, 4);
  else if (t->channels == 8)
    give(x, y, dx, left, t, step, apart, 8);
  else if (t->channels == 16)
    give(x, y, dx, left, t, step, apart, 16);
  else
    give(x, y, dx, left, t, step, apart, t->channels);
}

// Gives what windows of row k, t.first and those that follow, have: y and dy are of the first.
static void give_part(const job *j, const row *r, const float *y, const float *dy, const part *t) {
  const gr_pool *p = j->p;
  float left[ROOM];
  for (int64_t o = 0; o < t->windows; o++)
    memcpy(left + o * t->channels, dy + o * p->c, sizeof *left * (size_t)t->channels);
  for (int64_t d = r->plane.begin; d < r->plane.end; d++)
    for (int64_t h = r->line.begin; h < r->line.end; h++)
      for (int64_t tap = 0; tap < p->w.size[2]; tap++) {
        gr_pool_range o = having(p, tap);
        int64_t begin = gr_max_i64(o.begin, t->first),
                end = gr_min_i64(o.end, t->first + t->windows), skipped = begin - t->first;
        if (begin >= end) continue;
        part there = {begin, end - begin, t->channel, t->channels};
        int64_t element = place(p, r, d, h, begin, tap) + t->channel;
        give_tap(j->x + element, y + skipped * p->c, j->to + element, left + skipped * t->channels,
                 &there, p->w.stride[2] * p->c, p->c);
      }
}

static void give_row(const job *j, int64_t k) {
  const gr_pool *p = j->p;
  row r = row_of(p, k);
  int64_t windows = p->w.out[2], channels = gr_min_i64(p->c, ROOM), most = ROOM / channels;
  for (int64_t o = 0; o < windows; o += most)
    for (int64_t c = 0; c < p->c; c += channels) {
      part t = {o, gr_min_i64(most, windows - o), c, gr_min_i64(channels, p->c - c)};
      int64_t offset = (k * windows + o) * p->c + c;
      give_part(j, &r, j->y + offset, j->dy + offset, &t);
    }
}

static void give_samples(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t rows = j->p->w.out[0] * j->p->w.out[1], size = gr_product(j->p->w.in) * j->p->c;
  memset(j->to + begin * size, 0, sizeof(float) * (size_t)((end - begin) * size));
  for (int64_t k = begin * rows; k < end * rows; k++) give_row(j, k);
}

void gr_pool_max_grad(const gr_launch *l, const gr_pool *p, const float *x, const float *y,
                      const float *dy, float *dx) {
  gr_parallel(l, p->n, 1, give_samples, &(job){.p = p, .x = x, .y = y, .dy = dy, .to = dx});
}
