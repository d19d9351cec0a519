// bench_conv.c - GFLOP/s of one thread, by shape: convolutions by matrix products and by oneDNN.
//
//   bench_conv        the shapes that docs/decisions.md has
#include <stdio.h>
#include <stdlib.h>
#include "base/port.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/conv.h"

enum { ROUNDS = 20 };

static const struct shape {
  int64_t n, c, out, in[GR_SPATIAL], taps, stride, groups;
} shapes[] = {{8, 32, 64, {8, 16, 16}, 3, 1, 1},   {8, 64, 128, {4, 8, 8}, 3, 1, 1},
              {8, 128, 256, {2, 4, 4}, 3, 1, 1},   {8, 3, 32, {17, 64, 64}, 3, 1, 1},
              {8, 32, 64, {8, 16, 16}, 1, 1, 1},   {8, 64, 64, {1, 32, 32}, 3, 1, 1},
              {8, 64, 128, {1, 32, 32}, 3, 2, 1},  {8, 64, 64, {1, 32, 32}, 3, 1, 64},
              {16, 8, 8, {1, 32, 32}, 7, 1, 8},    {16, 16, 16, {1, 16, 16}, 7, 1, 16},
              {16, 40, 256, {1, 1, 800}, 3, 2, 1}, {16, 256, 256, {1, 1, 400}, 3, 2, 1}};

static gr_conv_sizes sizes_of(const struct shape *s) {
  gr_conv_sizes v = {.n = s->n, .c = s->c, .out = s->out, .groups = s->groups};
  v.w.axes = s->in[0] > 1 ? 3 : s->in[1] > 1 ? 2 : 1;
  for (int i = 0; i < GR_SPATIAL; i++) {
    bool there = i >= GR_SPATIAL - v.w.axes;
    v.w.in[i] = s->in[i], v.w.size[i] = there ? s->taps : 1, v.w.dilation[i] = 1;
    v.w.stride[i] = there ? s->stride : 1, v.w.pad[i] = there ? s->taps / 2 : 0;
    v.w.out[i] = gr_windows_fit(&v.w, i);
  }
  return v;
}

static float *filled(int64_t n) {
  float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);
  if (!p) abort();
  for (int64_t i = 0; i < n; i++) p[i] = (float)(i % 201 - 100) / 100;
  return p;
}

typedef struct arrays {
  float *x, *w, *y;
} arrays;

static bool run(const gr_launch *l, const gr_conv_sizes *v, const arrays *a, int what,
                bool library) {
  if (library && what == 0) return gr_conv_library_forward(l, v, a->x, a->w, a->y);
  if (library && what == 1) return gr_conv_library_grad_x(l, v, a->w, a->y, a->x);
  if (library) return gr_conv_library_grad_w(l, v, a->x, a->y, a->w);
  if (what == 0) return gr_conv_products_forward(l, v, a->x, a->w, a->y), true;
  if (what == 1) return gr_conv_products_grad_x(l, v, a->w, a->y, a->x), true;
  return gr_conv_products_grad_w(l, v, a->x, a->y, a->w), true;
}

// The best of the rounds, in this thread's time on a processor; 0: the library does not do it.
static double rate(const gr_launch *l, const gr_conv_sizes *v, const arrays *a, int what,
                   bool library) {
  double flops = 2.0 * (double)(v->n * gr_conv_windows(v) * v->out * gr_conv_taps(v));
  double best = 0;
  flops *= (double)gr_conv_c(v);
  for (int r = 0; r < ROUNDS; r++) {
    double start = gr_thread_seconds();
    if (!run(l, v, a, what, library)) return 0;
    double now = flops / (gr_thread_seconds() - start) / 1e9;
    best = now > best ? now : best;
  }
  return best;
}

int main(void) {
  gr_status s = gr_gemm_open();
  if (s) gr_status_print(stderr, s);
  printf("GFLOP/s, products / oneDNN      forward         grad_x          grad_w\n");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    gr_conv_sizes v = sizes_of(&shapes[i]);
    size_t a_size = gr_conv_scratch(&v, false), b_size = gr_conv_scratch(&v, true);
    arrays a = {filled(v.n * gr_conv_in(&v) * v.c),
                filled(v.out * gr_conv_taps(&v) * gr_conv_c(&v)),
                filled(v.n * gr_conv_windows(&v) * v.out)};
    gr_launch l = {.scratch = filled((int64_t)((a_size > b_size ? a_size : b_size) / 4 + 1))};
    printf("%2lld x %2lldx%2lldx%3lld x %3lld->%3lld g%-2lld", (long long)v.n, (long long)v.w.in[0],
           (long long)v.w.in[1], (long long)v.w.in[2], (long long)v.c, (long long)v.out,
           (long long)v.groups);
    for (int what = 0; what < 3; what++)
      printf("  %6.1f /%6.1f", rate(&l, &v, &a, what, false), rate(&l, &v, &a, what, true));
    printf("\n");
    free(a.x), free(a.w), free(a.y), free(l.scratch);
  }
  return 0;
}
