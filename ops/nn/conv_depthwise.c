// conv_depthwise.c - depthwise convolution of f32, each channel by itself: all channels of a window
// at once, tap by tap, with the kernel as [taps, channels]. Products would have one column.
#include "ops/kernels/rows.h"
#include "ops/nn/conv.h"

typedef struct job {
  const gr_conv_sizes *v;
  const float *x, *w, *dy;
  float *to;
} job;

static void turn(const float *source, float *target, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) target[j * rows + i] = source[i * columns + j];
}

// Where the channels of the element begin that a tap of window r of all windows reads; -1: padding.
static int64_t place(const gr_conv_sizes *v, int64_t r, int64_t tap) {
  int64_t windows = gr_conv_windows(v), s[GR_SPATIAL], k[GR_SPATIAL];
  gr_unravel(r % windows, v->w.out, s), gr_unravel(tap, v->w.size, k);
  int64_t element = gr_window_element(&v->w, s, k);
  return element < 0 ? -1 : (r / windows * gr_conv_in(v) + element) * v->c;
}

static void add_products(float *to, const float *a, const float *b, int64_t n) {
  GR_VECTOR for (int64_t c = 0; c < n; c++) to[c] += a[c] * b[c];
}

static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t n = j->v->c, taps = gr_conv_taps(j->v);
  memset(j->to + begin * n, 0, sizeof(float) * (size_t)((end - begin) * n));
  for (int64_t r = begin; r < end; r++)
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t offset = place(j->v, r, tap);
      if (offset >= 0) add_products(j->to + r * n, j->x + offset, j->w + tap * n, n);
    }
}

static void grad_x(void *arg, int64_t begin, int64_t end) {  // of samples
  const job *j = arg;
  int64_t n = j->v->c, taps = gr_conv_taps(j->v), windows = gr_conv_windows(j->v);
  int64_t size = gr_conv_in(j->v) * n;
  memset(j->to + begin * size, 0, sizeof(float) * (size_t)((end - begin) * size));
  for (int64_t r = begin * windows; r < end * windows; r++)
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t offset = place(j->v, r, tap);
      if (offset >= 0) add_products(j->to + offset, j->dy + r * n, j->w + tap * n, n);
    }
}

static void grad_w(void *arg, int64_t begin, int64_t end) {  // of taps
  const job *j = arg;
  int64_t n = j->v->c, rows = j->v->n * gr_conv_windows(j->v);
  memset(j->to + begin * n, 0, sizeof(float) * (size_t)((end - begin) * n));
  for (int64_t tap = begin; tap < end; tap++)
    for (int64_t r = 0; r < rows; r++) {
      int64_t offset = place(j->v, r, tap);
      if (offset >= 0) add_products(j->to + tap * n, j->x + offset, j->dy + r * n, n);
    }
}

void gr_conv_depthwise_forward(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                               const float *w, float *y) {
  int64_t taps = gr_conv_taps(v);
  turn(w, l->scratch, v->c, taps);
  gr_parallel(l, v->n * gr_conv_windows(v), gr_row_grain(taps * v->c), forward,
              &(job){.v = v, .x = x, .w = l->scratch, .to = y});
}

void gr_conv_depthwise_grad_x(const gr_launch *l, const gr_conv_sizes *v, const float *w,
                              const float *dy, float *dx) {
  turn(w, l->scratch, v->c, gr_conv_taps(v));
  gr_parallel(l, v->n, 1, grad_x, &(job){.v = v, .w = l->scratch, .dy = dy, .to = dx});
}

void gr_conv_depthwise_grad_w(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                              const float *dy, float *dw) {
  gr_parallel(l, gr_conv_taps(v), 1, grad_w, &(job){.v = v, .x = x, .dy = dy, .to = l->scratch});
  turn(l->scratch, dw, gr_conv_taps(v), v->c);
}
