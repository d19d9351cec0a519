// conv_f32.c - convolution of f32 as products of the kernel with patches of x (im2col): a row of
// patches for each window, [taps, channels], and the kernel as rows [out, taps, channels]. Patches
// are made for as many samples at once as fit a block of memory. Depthwise convolutions are no
// products (conv_depthwise.c), and oneDNN does most that have two axes or three (conv_library.c).
#include "ops/kernels/gemm.h"
#include "ops/kernels/rows.h"
#include "ops/nn/conv.h"

enum { MAX_PATCHES = 4 << 20 };  // numbers, unless one sample has more

typedef struct job {
  const gr_conv_sizes *v;
  int64_t group;
  const float *source;
  float *target;
} job;

static int64_t patch_of(const gr_conv_sizes *v) { return gr_conv_taps(v) * gr_conv_c(v); }

// Windows that are elements of x: x itself is the patches.
static bool is_pointwise(const gr_conv_sizes *v) {
  bool one = true;
  for (int i = 0; i < GR_SPATIAL; i++)
    one &= v->w.size[i] == 1 && v->w.stride[i] == 1 && v->w.pad[i] == 0;
  return one;
}

static int64_t samples_at_once(const gr_conv_sizes *v) {
  return gr_max_i64(1, gr_min_i64(v->n, MAX_PATCHES / (gr_conv_windows(v) * patch_of(v))));
}

size_t gr_conv_scratch(const gr_conv_sizes *v, bool grad_w) {
  int64_t rows =
      is_pointwise(v) || gr_conv_is_depthwise(v) ? 0 : samples_at_once(v) * gr_conv_windows(v);
  size_t bytes = sizeof(float) * (size_t)((v->out + rows) * patch_of(v));
  size_t library = gr_conv_library_scratch(v, grad_w);
  return bytes > library ? bytes : library;
}

// Most lines are short: a call of memcpy takes longer than what it does.
static inline void copy_line(float *to, const float *source, int64_t n) {
  if (n >= 8) {
    memcpy(to, source, sizeof *to * (size_t)n);
    return;
  }
  if (n & 4) memcpy(to, source, 4 * sizeof *to), to += 4, source += 4;
  if (n & 2) memcpy(to, source, 2 * sizeof *to), to += 2, source += 2;
  if (n & 1) *to = *source;
}

// What lines of taps are read from: x of c channels, cg of them in the group. dense: those inside
// follow each other in x.
typedef struct lines {
  const gr_windows *w;
  int64_t c, cg, patch;  // patch: numbers from window to window
  bool dense;
} lines;

static lines lines_of(const gr_conv_sizes *v) {
  int64_t cg = gr_conv_c(v);
  return (lines){&v->w, v->c, cg, patch_of(v), cg == v->c && v->w.dilation[2] == 1};
}

// The taps along the last axis of one window, of which the others are at sample row `line`, or
// outside (NULL).
static void gather_line(const lines *g, const float *line, int64_t s, float *p) {
  const gr_windows *w = g->w;
  int64_t c = g->c, first = gr_window_at(w, 2, s, 0), taps = w->size[2];
  if (line && g->dense) {
    int64_t begin = gr_min_i64(taps, gr_max_i64(0, -first));
    int64_t end = gr_max_i64(begin, gr_min_i64(taps, w->in[2] - first));
    if (begin) memset(p, 0, sizeof *p * (size_t)(begin * c));
    copy_line(p + begin * c, line + (first + begin) * c, (end - begin) * c);
    if (end < taps) memset(p + end * c, 0, sizeof *p * (size_t)((taps - end) * c));
    return;
  }
  for (int64_t k = 0; k < taps; k++, p += g->cg) {
    int64_t column = gr_window_at(w, 2, s, k);
    if (line && gr_window_inside(w, 2, column))
      copy_line(p, line + column * c, g->cg);
    else
      memset(p, 0, sizeof *p * (size_t)g->cg);
  }
}

// Where the elements of x begin that taps k0 and k1 of a window read, in a sample; -1: padding.
static int64_t line_of(const gr_windows *w, const int64_t s[GR_SPATIAL], int64_t k0, int64_t k1) {
  int64_t a = gr_window_at(w, 0, s[0], k0), b = gr_window_at(w, 1, s[1], k1);
  bool inside = gr_window_inside(w, 0, a) && gr_window_inside(w, 1, b);
  return inside ? (a * w->in[1] + b) * w->in[2] : -1;
}

// Windows that follow each other along the last axis have the others in common.
static void gather(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const gr_conv_sizes *v = j->v;
  const lines g = lines_of(v);
  int64_t windows = gr_conv_windows(v), sample = gr_conv_in(v) * g.c, s[GR_SPATIAL];
  for (int64_t r = begin, n; r < end; r += n) {
    const float *x = j->source + r / windows * sample + j->group * g.cg;
    float *p = j->target + r * g.patch;
    gr_unravel(r % windows, g.w->out, s);
    n = gr_min_i64(end - r, g.w->out[2] - s[2]);
    for (int64_t k0 = 0; k0 < g.w->size[0]; k0++)
      for (int64_t k1 = 0; k1 < g.w->size[1]; k1++, p += g.w->size[2] * g.cg) {
        int64_t line = line_of(g.w, s, k0, k1);
        for (int64_t i = 0; i < n; i++)
          gather_line(&g, line < 0 ? NULL : x + line * g.c, s[2] + i, p + i * g.patch);
      }
  }
}

static void scatter_line(const job *j, float *line, int64_t s, const float *p) {
  const gr_windows *w = &j->v->w;
  int64_t cg = gr_conv_c(j->v);
  for (int64_t k = 0; k < w->size[2]; k++, p += cg) {
    int64_t column = gr_window_at(w, 2, s, k);
    if (!gr_window_inside(w, 2, column)) continue;
    float *x = line + column * j->v->c;
    GR_VECTOR for (int64_t c = 0; c < cg; c++) x[c] += p[c];
  }
}

// Adds patches to the elements that they were gathered from (col2im), sample by sample.
static void scatter(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const gr_conv_sizes *v = j->v;
  int64_t windows = gr_conv_windows(v), step = v->w.size[2] * gr_conv_c(v), s[GR_SPATIAL];
  for (int64_t r = begin * windows; r < end * windows; r++) {
    float *sample = j->target + r / windows * gr_conv_in(v) * v->c + j->group * gr_conv_c(v);
    const float *p = j->source + r * patch_of(v);
    gr_unravel(r % windows, v->w.out, s);
    for (int64_t k = 0; k < v->w.size[0] * v->w.size[1]; k++, p += step) {
      int64_t line = line_of(&v->w, s, k / v->w.size[1], k % v->w.size[1]);
      if (line >= 0) scatter_line(j, sample + line * v->c, s[2], p);
    }
  }
}

// The kernel [o, c, taps] as rows [o, taps, c], and back.
static void kernel_to_rows(const gr_conv_sizes *v, const float *w, float *rows) {
  int64_t taps = gr_conv_taps(v), cg = gr_conv_c(v);
  for (int64_t o = 0; o < v->out; o++)
    for (int64_t k = 0; k < taps; k++)
      for (int64_t c = 0; c < cg; c++) rows[(o * taps + k) * cg + c] = w[(o * cg + c) * taps + k];
}

static void rows_to_kernel(const gr_conv_sizes *v, const float *rows, float *w) {
  int64_t taps = gr_conv_taps(v), cg = gr_conv_c(v);
  for (int64_t o = 0; o < v->out; o++)
    for (int64_t c = 0; c < cg; c++)
      for (int64_t k = 0; k < taps; k++) w[(o * cg + c) * taps + k] = rows[(o * taps + k) * cg + c];
}

static void add_bias(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t r = begin; r < end; r++) {
    float *y = j->target + r * j->v->out;
    GR_VECTOR for (int64_t o = 0; o < j->v->out; o++) y[o] += j->source[o];
  }
}

// A group's product for samples [first, first + n): the operands, and the distance of their rows.
typedef struct part {
  int64_t rows, ld;  // ld: of patches
  const float *patches;
} part;

static part patches_of(const gr_launch *l, const gr_conv_sizes *v, const float *x, float *patches,
                       int64_t first, int64_t n, int64_t group) {
  part p = {n * gr_conv_windows(v), patch_of(v), patches};
  const float *samples = x + first * gr_conv_in(v) * v->c;
  if (is_pointwise(v)) return p.ld = v->c, p.patches = samples + group * gr_conv_c(v), p;
  gr_parallel(l, p.rows, gr_row_grain(patch_of(v)), gather, &(job){v, group, samples, patches});
  return p;
}

void gr_conv_products_forward(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                              const float *w, float *y) {
  if (gr_conv_is_depthwise(v)) {
    gr_conv_depthwise_forward(l, v, x, w, y);
    return;
  }
  float *rows = l->scratch, *patches = rows + v->out * patch_of(v);
  int64_t step = samples_at_once(v), og = gr_conv_out(v);
  kernel_to_rows(v, w, rows);
  for (int64_t i = 0; i < v->n; i += step)
    for (int64_t group = 0; group < v->groups; group++) {
      part p = patches_of(l, v, x, patches, i, gr_min_i64(step, v->n - i), group);
      gr_gemm g = gr_gemm_dense(false, true, p.rows, og, patch_of(v));
      g.lda = p.ld, g.ldc = v->out;
      gr_gemm_run(l, &g, p.patches, rows + group * og * patch_of(v),
                  y + i * gr_conv_windows(v) * v->out + group * og);
    }
}

void gr_conv_products_grad_x(const gr_launch *l, const gr_conv_sizes *v, const float *w,
                             const float *dy, float *dx) {
  if (gr_conv_is_depthwise(v)) {
    gr_conv_depthwise_grad_x(l, v, w, dy, dx);
    return;
  }
  float *rows = l->scratch, *patches = rows + v->out * patch_of(v);
  int64_t step = samples_at_once(v), og = gr_conv_out(v), sample = gr_conv_in(v) * v->c;
  kernel_to_rows(v, w, rows);
  if (!is_pointwise(v)) memset(dx, 0, sizeof *dx * (size_t)(v->n * sample));
  for (int64_t i = 0; i < v->n; i += step)
    for (int64_t group = 0; group < v->groups; group++) {
      int64_t n = gr_min_i64(step, v->n - i);
      gr_gemm g = gr_gemm_dense(false, false, n * gr_conv_windows(v), patch_of(v), og);
      float *to = is_pointwise(v) ? dx + i * sample + group * gr_conv_c(v) : patches;
      g.lda = v->out, g.ldc = is_pointwise(v) ? v->c : patch_of(v);
      gr_gemm_run(l, &g, dy + i * gr_conv_windows(v) * v->out + group * og,
                  rows + group * og * patch_of(v), to);
      if (!is_pointwise(v)) gr_parallel(l, n, 1, scatter, &(job){v, group, to, dx + i * sample});
    }
}

void gr_conv_products_grad_w(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                             const float *dy, float *dw) {
  if (gr_conv_is_depthwise(v)) {
    gr_conv_depthwise_grad_w(l, v, x, dy, dw);
    return;
  }
  float *rows = l->scratch, *patches = rows + v->out * patch_of(v);
  int64_t step = samples_at_once(v), og = gr_conv_out(v);
  for (int64_t i = 0; i < v->n; i += step)
    for (int64_t group = 0; group < v->groups; group++) {
      part p = patches_of(l, v, x, patches, i, gr_min_i64(step, v->n - i), group);
      gr_gemm g = gr_gemm_dense(true, false, og, patch_of(v), p.rows);
      g.lda = v->out, g.ldb = p.ld, g.add = i > 0;
      gr_gemm_run(l, &g, dy + i * gr_conv_windows(v) * v->out + group * og, p.patches,
                  rows + group * og * patch_of(v));
    }
  rows_to_kernel(v, rows, dw);
}

// ---- By oneDNN or by products ------------------------------------------------------------------

void gr_conv_forward(const gr_launch *l, const gr_conv_sizes *v, const float *x, const float *w,
                     const float *bias, float *y) {
  if (!gr_conv_library_forward(l, v, x, w, y)) gr_conv_products_forward(l, v, x, w, y);
  if (bias)
    gr_parallel(l, v->n * gr_conv_windows(v), gr_row_grain(v->out), add_bias,
                &(job){v, 0, bias, y});
}

void gr_conv_grad_x(const gr_launch *l, const gr_conv_sizes *v, const float *w, const float *dy,
                    float *dx) {
  if (!gr_conv_library_grad_x(l, v, w, dy, dx)) gr_conv_products_grad_x(l, v, w, dy, dx);
}

void gr_conv_grad_w(const gr_launch *l, const gr_conv_sizes *v, const float *x, const float *dy,
                    float *dw) {
  if (!gr_conv_library_grad_w(l, v, x, dy, dw)) gr_conv_products_grad_w(l, v, x, dy, dw);
}
