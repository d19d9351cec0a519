// pool_f32.c - mean pooling of f32: all channels of a window at once. Gradients are added window by
// window, sample by sample. See pool_max_f32.c for the maximum.
#include "ops/kernels/rows.h"
#include "ops/nn/pool.h"

typedef struct job {
  const gr_pool *p;
  const float *x, *dy;
  float *to;
} job;

static int64_t cost(const gr_pool *p) {  // of a window
  int64_t elements =
      p->adaptive ? gr_product(p->w.in) / gr_product(p->w.out) + 1 : gr_product(p->w.size);
  return elements * p->c;
}

// ---- Mean ---------------------------------------------------------------------------------------

static void means(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t n = j->p->c;
  for (int64_t r = begin; r < end; r++) {
    float *y = j->to + r * n;
    gr_pool_walk w = gr_pool_walk_of(j->p, r);
    float weight = 1 / (float)gr_pool_divisor(j->p, w.r);
    memset(y, 0, sizeof *y * (size_t)n);
    for (int64_t element; (element = gr_pool_next(&w)) >= 0;) {
      const float *x = j->x + element * n;
      GR_VECTOR for (int64_t c = 0; c < n; c++) y[c] += x[c];
    }
    GR_VECTOR for (int64_t c = 0; c < n; c++) y[c] *= weight;
  }
}

void gr_pool_mean(const gr_launch *l, const gr_pool *p, const float *x, float *y) {
  gr_parallel(l, p->n * gr_product(p->w.out), gr_row_grain(cost(p)), means,
              &(job){.p = p, .x = x, .to = y});
}

static void spread_window(const job *j, int64_t r) {
  int64_t n = j->p->c;
  const float *dy = j->dy + r * n;
  gr_pool_walk w = gr_pool_walk_of(j->p, r);
  float weight = 1 / (float)gr_pool_divisor(j->p, w.r);
  for (int64_t element; (element = gr_pool_next(&w)) >= 0;) {
    float *dx = j->to + element * n;
    GR_VECTOR for (int64_t c = 0; c < n; c++) dx[c] += dy[c] * weight;
  }
}

static void spread_samples(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t windows = gr_product(j->p->w.out), size = gr_product(j->p->w.in) * j->p->c;
  memset(j->to + begin * size, 0, sizeof(float) * (size_t)((end - begin) * size));
  for (int64_t r = begin * windows; r < end * windows; r++) spread_window(j, r);
}

void gr_pool_mean_grad(const gr_launch *l, const gr_pool *p, const float *dy, float *dx) {
  gr_parallel(l, p->n, 1, spread_samples, &(job){.p = p, .dy = dy, .to = dx});
}
