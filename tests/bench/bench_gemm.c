// bench_gemm.c - GFLOP/s of one thread, by shape: our kernel, oneDNN's, and what gemm.c chooses.
//
//   bench_gemm        the shapes docs/decisions.md has, and some more
#include <stdio.h>
#include <stdlib.h>
#include "base/port.h"
#include "ops/kernels/gemm.h"

enum { ROUNDS = 60 };

static const struct shape {
  const char *how;  // N: as stored, T: transposed
  int64_t m, n, k;
} shapes[] = {{"NN", 8, 512, 512},    {"NN", 16, 512, 512},    {"NN", 32, 512, 512},
              {"NT", 8, 512, 512},    {"NT", 16, 512, 512},    {"NT", 32, 512, 512},
              {"NT", 64, 512, 512},   {"NT", 128, 512, 512},   {"NT", 256, 512, 512},
              {"NN", 8, 1, 512},      {"NT", 8, 1, 512},       {"NN", 8, 512, 1},
              {"NT", 32, 256, 1152},  {"NN", 32, 6, 128},      {"TN", 256, 1152, 32},
              {"NT", 500, 500, 64},   {"NN", 500, 64, 500},    {"TN", 500, 64, 500},
              {"NN", 512, 512, 512},  {"NN", 1024, 1152, 384}, {"NT", 1024, 1152, 384},
              {"TN", 512, 512, 2400}, {"NT", 2400, 512, 512},  {"NN", 2400, 512, 512}};

static float *filled(int64_t n) {
  float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);
  if (!p) abort();
  for (int64_t i = 0; i < n; i++) p[i] = (float)(i % 201 - 100) / 100;
  return p;
}

// The best of the rounds, each of some milliseconds of this thread's time on a processor.
static double rate(gr_gemm_kernel kernel, const gr_gemm *g, const float *a, const float *b,
                   float *c) {
  double flops = 2.0 * (double)(g->m * g->n * g->k), best = 0;
  int times = (int)(2e8 / flops) + 1;
  for (int r = 0; r < ROUNDS; r++) {
    double start = gr_thread_seconds();
    for (int i = 0; i < times; i++) kernel(g, a, b, c);
    double now = flops * times / (gr_thread_seconds() - start) / 1e9;
    best = now > best ? now : best;
  }
  return best;
}

int main(void) {
  gr_status opened = gr_gemm_open();
  if (opened) gr_status_print(stderr, opened);
  printf("%-24s %8s %8s %8s %8s\n", "GFLOP/s", "plain", "packed", "oneDNN", "chosen");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const struct shape *s = &shapes[i];
    gr_gemm g = gr_gemm_dense(s->how[0] == 'T', s->how[1] == 'T', s->m, s->n, s->k);
    float *a = filled(g.m * g.k), *b = filled(g.k * g.n), *c = filled(g.m * g.n);
    printf("%s %5lld x %4lld x %4lld    %8.1f", s->how, (long long)g.m, (long long)g.n,
           (long long)g.k, rate(gr_gemm_plain, &g, a, b, c));
    printf(" %8.1f", rate(gr_gemm_packed, &g, a, b, c));
    printf(" %8.1f", gr_gemm_onednn() ? rate(gr_gemm_onednn(), &g, a, b, c) : 0.0);
    printf(" %8.1f\n", rate(gr_gemm_one, &g, a, b, c));
    free(a), free(b), free(c);
  }
  return 0;
}
