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

// The windows along the last axis of which tap k is inside: [first, last).
static void inside(const gr_windows *w, int64_t k, int64_t *first, int64_t *last) {
  *first = 0, *last = w->out[2];
  while (*first < *last && gr_window_at(w, 2, *first, k) < 0) ++*first;
  while (*last > *first && gr_window_at(w, 2, *last - 1, k) >= w->in[2]) --*last;
}

static void add_products(float *to, const float *a, const float *b, int64_t n) {
  GR_VECTOR for (int64_t c = 0; c < n; c++) to[c] += a[c] * b[c];
}

// ---- Forward, and the gradient of x -------------------------------------------------------------

// Along lines of windows, which differ along the last axis alone: a tap reads elements of x that
// are as far apart from window to window, so that their places are not computed one by one.

// Windows of a line that a tap does not read padding of.
typedef struct run {
  int64_t x, y;    // where the channels of the first one's element begin, and those of the window
  int64_t x_step;  // from window to window
  int64_t n;
} run;

// Those of `many` windows of a line, the first of which is window r of all windows.
static run run_of(const gr_conv_sizes *v, int64_t r, int64_t many, int64_t tap) {
  const gr_windows *w = &v->w;
  int64_t windows = gr_conv_windows(v), s[GR_SPATIAL], k[GR_SPATIAL], first, last;
  gr_unravel(r % windows, w->out, s), gr_unravel(tap, w->size, k);
  inside(w, k[2], &first, &last);
  int64_t skip = gr_max_i64(0, first - s[2]), n = gr_min_i64(last - s[2], many) - skip;
  s[2] += skip;
  int64_t element = n > 0 ? gr_window_element(w, s, k) : -1;
  if (element < 0) return (run){0};
  return (run){.x = (r / windows * gr_conv_in(v) + element) * v->c,
               .y = (r + skip) * v->c,
               .x_step = w->stride[2] * v->c,
               .n = n};
}

// How many of the windows [r, end) are on the line of the first one.
static int64_t on_line(const gr_conv_sizes *v, int64_t r, int64_t end) {
  return gr_min_i64(end - r, v->w.out[2] - r % v->w.out[2]);
}

static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t n = j->v->c, taps = gr_conv_taps(j->v);
  memset(j->to + begin * n, 0, sizeof(float) * (size_t)((end - begin) * n));
  for (int64_t r = begin, many; r < end; r += many) {
    many = on_line(j->v, r, end);
    for (int64_t tap = 0; tap < taps; tap++) {
      run g = run_of(j->v, r, many, tap);
      for (int64_t i = 0; i < g.n; i++)
        add_products(j->to + g.y + i * n, j->x + g.x + i * g.x_step, j->w + tap * n, n);
    }
  }
}

static void grad_x(void *arg, int64_t begin, int64_t end) {  // of samples
  const job *j = arg;
  int64_t n = j->v->c, taps = gr_conv_taps(j->v), windows = gr_conv_windows(j->v);
  int64_t size = gr_conv_in(j->v) * n;
  memset(j->to + begin * size, 0, sizeof(float) * (size_t)((end - begin) * size));
  for (int64_t r = begin * windows, many; r < end * windows; r += many) {
    many = on_line(j->v, r, end * windows);
    for (int64_t tap = 0; tap < taps; tap++) {
      run g = run_of(j->v, r, many, tap);
      for (int64_t i = 0; i < g.n; i++)
        add_products(j->to + g.x + i * g.x_step, j->dy + g.y + i * n, j->w + tap * n, n);
    }
  }
}

// ---- The gradient of the kernel -----------------------------------------------------------------

// Tap by tap, along such lines.

enum { LANES = 8 };  // channels that are summed at once, in a register
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static inline lanes lanes_of(const float *x) { return *(const lanes *)x; }

typedef struct line {
  const float *x, *dy;      // of its first window that the tap does not read padding of
  int64_t x_step, dy_step;  // from window to window
  int64_t n;                // windows
} line;

// Four sums, of every fourth window each: one alone would wait for its last product.
static void add_lanes(float *to, const line *g, int64_t c) {
  const float *x = g->x + c, *dy = g->dy + c;
  const int64_t by = g->x_step, step = g->dy_step;
  lanes sum[4] = {lanes_of(to + c)};
  int64_t s = 0;
  for (; s + 4 <= g->n; s += 4, x += 4 * by, dy += 4 * step)
    for (int k = 0; k < 4; k++) sum[k] += lanes_of(x + k * by) * lanes_of(dy + k * step);
  for (; s < g->n; s++, x += by, dy += step) sum[0] += lanes_of(x) * lanes_of(dy);
  *(lanes *)(to + c) = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void add_line(float *to, const line *g, int64_t channels) {
  int64_t c = 0;
  for (; c + LANES <= channels; c += LANES) add_lanes(to, g, c);
  for (int64_t s = 0; c < channels && s < g->n; s++)
    add_products(to + c, g->x + s * g->x_step + c, g->dy + s * g->dy_step + c, channels - c);
}

static void add_tap(const job *j, int64_t tap, float *to) {
  const gr_windows *w = &j->v->w;
  int64_t n = j->v->c, windows = gr_conv_windows(j->v), k[GR_SPATIAL], s[GR_SPATIAL], last;
  gr_unravel(tap, w->size, k);
  line g = {.x_step = w->stride[2] * n, .dy_step = n};
  inside(w, k[2], &s[2], &last);
  g.n = last - s[2];
  for (int64_t i = 0; i < j->v->n && g.n; i++)
    for (s[0] = 0; s[0] < w->out[0]; s[0]++)
      for (s[1] = 0; s[1] < w->out[1]; s[1]++) {
        int64_t element = gr_window_element(w, s, k);
        if (element < 0) continue;
        g.x = j->x + (i * gr_conv_in(j->v) + element) * n;
        g.dy = j->dy + (i * windows + (s[0] * w->out[1] + s[1]) * w->out[2] + s[2]) * n;
        add_line(to, &g, n);
      }
}

static void grad_w(void *arg, int64_t begin, int64_t end) {  // of taps
  const job *j = arg;
  int64_t n = j->v->c;
  memset(j->to + begin * n, 0, sizeof(float) * (size_t)((end - begin) * n));
  for (int64_t tap = begin; tap < end; tap++) add_tap(j, tap, j->to + tap * n);
}

// ---- The calls ----------------------------------------------------------------------------------

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
