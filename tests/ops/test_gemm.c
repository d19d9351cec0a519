// test_gemm.c - products of matrices: every kernel against sums in double, on shapes that meet
// every edge of the tiles; blocks and threads.
#include <math.h>
#include <sys/time.h>
#include "base/thread.h"
#include "ops/kernels/gemm.h"
#include "runtime/device/threads.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

static value filled(int64_t rows, int64_t cols, uint64_t seed) {
  value v = value_make((gr_type){.dtype = GR_F32, .rank = 2, .dim = {rows, cols}});
  gr_rng r = gr_rng_make(seed, "gemm", 0);
  double *x = malloc(sizeof *x * (size_t)(rows * cols));
  if (!x) abort();
  gr_rng_normals(&r, 0, rows * cols, x);
  for (int64_t i = 0; i < rows * cols; i++) value_put(&v, i, x[i]);
  free(x);
  return v;
}

static double element(const value *v, bool t, int64_t i, int64_t j) {
  const float *x = v->data;
  return (double)x[t ? j * v->type.dim[1] + i : i * v->type.dim[1] + j];
}

// What a product must be: columns beyond g->n are another's and stay. `before` is what c holds
// first.
static double *reference(const gr_gemm *g, const value *a, const value *b, const value *before) {
  double *want = malloc(sizeof *want * (size_t)(g->m * g->ldc));
  if (!want) abort();
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->ldc; j++) {
      double sum = g->add || j >= g->n ? element(before, false, i, j) : 0;
      for (int64_t p = 0; j < g->n && p < g->k; p++)
        sum += element(a, g->ta, i, p) * element(b, g->tb, p, j);
      want[i * g->ldc + j] = sum;
    }
  return want;
}

static void check_against(const gr_gemm *g, const double *want, const value *c, const char *who) {
  double far = 0;
  bool stays = true;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->ldc; j++) {
      double off = fabs(element(c, false, i, j) - want[i * g->ldc + j]);
      if (j < g->n) far = check_worse(far, off / (1 + sqrt((double)g->k)));
      stays &= j < g->n || off == 0;
    }
  CHECK(far < 6e-6 && stays, "%s: %d%d %lld x %lld x %lld%s: off by %g%s", who, g->ta, g->tb,
        (long long)g->m, (long long)g->n, (long long)g->k, g->add ? " added" : "", far,
        stays ? "" : ", and wrote beyond its columns");
}

static void check_product(const gr_gemm *g, const value *a, const value *b, const value *before,
                          const value *c, const char *who) {
  double *want = reference(g, a, b, before);
  check_against(g, want, c, who);
  free(want);
}

typedef struct kernel {
  const char *name;
  gr_gemm_kernel run;
} kernel;

// The same product by each of n kernels.
static void try_shape(const kernel *kernels, int n_kernels, int64_t m, int64_t n, int64_t k) {
  for (int how = 0; how < 8; how++) {
    bool ta = how & 1, tb = how & 2;
    value a = filled(ta ? k : m, (ta ? m : k) + 3, 1), b = filled(tb ? n : k, (tb ? k : n) + 5, 2);
    value before = filled(m, n + 2, 3);
    gr_gemm g = gr_gemm_dense(ta, tb, m, n, k);
    g.lda = a.type.dim[1], g.ldb = b.type.dim[1], g.ldc = n + 2, g.add = how & 4;
    double *want = reference(&g, &a, &b, &before);
    for (int i = 0; i < n_kernels; i++) {
      value c = value_copy(&before);
      kernels[i].run(&g, a.data, b.data, c.data);
      check_against(&g, want, &c, kernels[i].name);
      value_free(&c);
    }
    free(want);
    value_free(&a), value_free(&b), value_free(&before);
  }
}

// Rows of b that are turned, where that kernel takes them.
static void turned(const gr_gemm *g, const float *a, const float *b, float *c) {
  (gr_gemm_is_short(g) ? gr_gemm_turned : gr_gemm_plain)(g, a, b, c);
}

// A product of a transposed b of short rows is not made of dot products, which would be several
// times slower, unless it has few rows; whichever kernel makes it, those of its rows that another
// product has, too, are the same bits.
static void short_rows(void) {
  gr_gemm g = gr_gemm_dense(false, true, 64, 20, 8), upper = g;
  value a = filled(64, 8, 1), b = filled(20, 8, 2), c = filled(64, 20, 3);
  value d = value_copy(&c);
  CHECK(gr_gemm_is_short(&g), "rows of 8 are short");
  gr_gemm_one(&g, a.data, b.data, c.data);
  gr_gemm_turned(&g, a.data, b.data, d.data);
  CHECK(!memcmp(c.data, d.data, sizeof(float) * 64 * 20), "64 x 20 x 8: not the turned kernel");
  upper.m = 24;
  memset(d.data, 0, gr_type_bytes(&d.type));
  gr_gemm_turned(&upper, a.data, b.data, d.data);
  CHECK(!memcmp(c.data, d.data, sizeof(float) * 24 * 20), "rows depend on how many there are");
  value_free(&a), value_free(&b), value_free(&c), value_free(&d);
}

// Sizes that meet every edge of the tiles, by all kernels: their operands and sums are made once.
static void edges(void) {
  static const int64_t sizes[] = {1, 2, 5, 8, 15, 16, 17, 33, 50};
  MUST(gr_gemm_open());
  const kernel all[] = {{"plain", gr_gemm_plain},
                        {"packed", gr_gemm_packed},
                        {"chosen", gr_gemm_one},
                        {"turned", turned},
                        {"oneDNN", gr_gemm_onednn()}};
  const int n = gr_gemm_onednn() ? 5 : 4;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
      for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        try_shape(all, n, sizes[i], sizes[j], sizes[k]);
  try_shape(all, n, 9, 49, 1030);
}

static void blocks(void) {
  static const kernel packed = {"packed", gr_gemm_packed}, chosen = {"chosen", gr_gemm_one};
  MUST(gr_gemm_open());
  try_shape(&packed, 1, 200, 70, 600);
  try_shape(&packed, 1, 20, 1100, 33);
  try_shape(&chosen, 1, 130, 70, 65);
}

static void onednn(void) {
  MUST(gr_gemm_open());
  if (!gr_gemm_onednn()) SKIP("built without oneDNN: `edges` has the other kernels");
}

// The right operand packed first, as stored and transposed.
static void by_packed(void) {
  static const int64_t sizes[][3] = {{8, 512, 256}, {3, 40, 31}, {1, 1, 5}, {40, 100, 600}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int tb = 0; tb < 2; tb++) {
      gr_gemm g = gr_gemm_dense(false, tb, sizes[s][0], sizes[s][1], sizes[s][2]);
      value a = filled(g.m, g.k, 1), b = filled(tb ? g.n : g.k, tb ? g.k : g.n, 2);
      value c = filled(g.m, g.n, 3), packed = filled(g.n, g.k, 4);
      gr_gemm_pack(&g, b.data, packed.data);
      gr_gemm_by_packed(&(gr_launch){0}, &g, a.data, packed.data, c.data);
      check_product(&g, &a, &b, &c, &c, "packed before");
      value_free(&a), value_free(&b), value_free(&c), value_free(&packed);
    }
}

// Cut into blocks, by rows and by columns: the same bytes on one thread and on three.
static void threads(void) {
  static const int64_t shapes[][3] = {{8, 512, 512}, {300, 200, 70}, {200, 500, 700},
                                      {50, 9, 20},   {40, 1, 300},   {1, 60, 300}};
  gr_cpu *cpu;
  MUST(gr_gemm_open());
  MUST(gr_cpu_create(3, true, &cpu));
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int how = 0; how < 8; how++) {
      int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], count = how & 4 ? 3 : 1;
      gr_gemm g = gr_gemm_dense(how & 1, how & 2, m, n, k);
      gr_gemm_steps step = {m * k, 0, m * n};
      value a = filled(count * m, k, 1), b = filled(k, n, 2);
      value c = filled(count * m, n, 3), d = filled(count * m, n, 4);
      gr_gemm_batch(&(gr_launch){0}, &g, count, step, a.data, b.data, c.data);
      gr_gemm_batch(&(gr_launch){.context = cpu}, &g, count, step, a.data, b.data, d.data);
      CHECK(!memcmp(c.data, d.data, gr_type_bytes(&c.type)), "%d: %lld x %lld x %lld", how,
            (long long)m, (long long)n, (long long)k);
      value last = {.type = {.dtype = GR_F32, .rank = 2, .dim = {how & 1 ? k : m, how & 1 ? m : k}},
                    .data = (float *)a.data + (count - 1) * m * k};
      value lasts = {
          .type = {.dtype = GR_F32, .rank = 2, .dim = {how & 2 ? n : k, how & 2 ? k : n}},
          .data = b.data};
      value got = {.type = {.dtype = GR_F32, .rank = 2, .dim = {m, n}},
                   .data = (float *)c.data + (count - 1) * m * n};
      check_product(&g, &last, &lasts, &got, &got, "cut");
      value_free(&a), value_free(&b), value_free(&c), value_free(&d);
    }
  gr_cpu_destroy(cpu);
}

// One product with scratch memory that ends in a canary; counts what packs something there.
static value with_scratch(gr_cpu *cpu, gr_gemm g, const value *a, const value *b,
                          const value *before, int *packs) {
  size_t bytes = gr_gemm_scratch(&g), all = (bytes + 127) / 64 * 64;
  value c = value_copy(before);
  g.scratch = bytes ? aligned_alloc(64, all) : NULL;
  if (g.scratch) memset(g.scratch, 0x5a, all);
  gr_gemm_run(&(gr_launch){.context = cpu}, &g, a->data, b->data, c.data);
  const unsigned char *end = g.scratch;
  bool within = true, used = false;
  for (size_t i = 0; end && i < bytes; i++) used |= end[i] != 0x5a;
  for (size_t i = bytes; end && i < all; i++) within &= end[i] == 0x5a;
  CHECK(within, "%lld x %lld x %lld writes beyond its scratch memory", (long long)g.m,
        (long long)g.n, (long long)g.k);
  *packs += used;
  free(g.scratch);
  return c;
}

// The right operand packed once for all blocks: the same bytes on one, two and three threads.
static void shared(void) {
  static const int64_t shapes[][3] = {
      {300, 400, 130}, {257, 45, 400}, {280, 2100, 40}, {530, 1250, 90}, {260, 1100, 1000}};
  gr_cpu *cpu[2];
  int packs = 0;
  MUST(gr_gemm_open());
  for (int i = 0; i < 2; i++) MUST(gr_cpu_create(i + 2, true, &cpu[i]));
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int how = 0; how < 8; how++) {
      int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
      bool ta = how & 1, tb = how & 2;
      value a = filled(ta ? k : m, (ta ? m : k) + 3, 1),
            b = filled(tb ? n : k, (tb ? k : n) + 5, 2);
      value before = filled(m, n + 2, 3);
      gr_gemm g = gr_gemm_dense(ta, tb, m, n, k);
      g.lda = a.type.dim[1], g.ldb = b.type.dim[1], g.ldc = n + 2, g.add = how & 4;
      value c = with_scratch(NULL, g, &a, &b, &before, &packs);
      if (m * n * k < 1 << 25) check_product(&g, &a, &b, &before, &c, "packed once");
      for (int i = 0; i < 2; i++) {
        value d = with_scratch(cpu[i], g, &a, &b, &before, &packs);
        CHECK(!memcmp(c.data, d.data, gr_type_bytes(&c.type)), "%d: %lld x %lld x %lld", how,
              (long long)m, (long long)n, (long long)k);
        value_free(&d);
      }
      value_free(&a), value_free(&b), value_free(&before), value_free(&c);
    }
  for (int i = 0; i < 2; i++) gr_cpu_destroy(cpu[i]);
  CHECK(packs || !gr_gemm_onednn_packs(), "nothing was packed");
}

static volatile sig_atomic_t signals;
static void on_signal(int number) { signals += number == SIGALRM; }

static void set_timer(int microseconds) {
  const struct itimerval t = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &t, NULL);
}

// oneDNN 2.6 has its stack in working memory from the heap, which a handler there would overwrite.
static void interrupted(void) {
  enum { SIZE = 128, SIGNALS = 200, EVERY_US = 200 };
  MUST(gr_gemm_open());
  gr_gemm_kernel run = gr_gemm_onednn() ? gr_gemm_onednn() : gr_gemm_one;
  gr_gemm g = gr_gemm_dense(false, false, SIZE, SIZE, SIZE);
  value a = filled(SIZE, SIZE, 1), b = filled(SIZE, SIZE, 2), c = filled(SIZE, SIZE, 3);
  value d = value_copy(&c);
  run(&g, a.data, b.data, c.data);
  gr_signal_handle(SIGALRM, (struct sigaction){.sa_handler = on_signal}, NULL);
  set_timer(EVERY_US);
  while (signals < SIGNALS) {
    run(&g, a.data, b.data, d.data);
    free(malloc(1 + (size_t)signals * 64));  // which aborts where the heap is broken
  }
  set_timer(0);
  gr_signal_handle(SIGALRM, (struct sigaction){.sa_handler = SIG_DFL}, NULL);
  CHECK(!memcmp(c.data, d.data, gr_type_bytes(&c.type)), "another product");
  value_free(&a), value_free(&b), value_free(&c), value_free(&d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"edges", edges}, {"blocks", blocks}, {"onednn", onednn},
             {"short_rows", short_rows}, {"by_packed", by_packed}, {"threads", threads},
             {"shared", shared}, {"interrupted", interrupted});
}
