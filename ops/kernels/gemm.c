// gemm.c - selects the kernel for a shape and divides a GEMM among threads.
#include "ops/kernels/gemm.h"
#include <assert.h>
#include <stdatomic.h>
#include "base/module.h"
#include "ops/kernels/operands.h"

gr_gemm gr_gemm_dense(bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
  assert(m >= 0 && n >= 0 && k >= 0);
  return (gr_gemm){
      .m = m, .n = n, .k = k, .ta = ta, .tb = tb, .lda = ta ? m : k, .ldb = tb ? k : n, .ldc = n};
}

// ---- oneDNN ---------------------------------------------------------------------------------

// atomic: each rank that runs as a thread opens it
static _Atomic(gr_gemm_kernel) onednn;
static _Atomic(gr_gemm_bf16_kernel) onednn_bf16;
static _Atomic(const gr_gemm_packs *) onednn_packed;
static _Atomic(const gr_onednn_convs *) onednn_convs;

gr_gemm_kernel gr_gemm_onednn(void) { return atomic_load_explicit(&onednn, memory_order_relaxed); }

gr_gemm_bf16_kernel gr_gemm_onednn_bf16(void) {
  return atomic_load_explicit(&onednn_bf16, memory_order_relaxed);
}

const gr_gemm_packs *gr_gemm_onednn_packs(void) {
  return atomic_load_explicit(&onednn_packed, memory_order_relaxed);
}

const gr_onednn_convs *gr_gemm_onednn_convs(void) {
  return atomic_load_explicit(&onednn_convs, memory_order_relaxed);
}

gr_status gr_gemm_open(void) {
#if GR_HAVE_ONEDNN
  const gr_gemm_module *m;
  GR_TRY(gr_module_open("onednn", &m));
  atomic_store_explicit(&onednn, m->run, memory_order_relaxed);
  atomic_store_explicit(&onednn_bf16, m->bf16(), memory_order_relaxed);
  atomic_store_explicit(&onednn_packed, m->packs(), memory_order_relaxed);
  atomic_store_explicit(&onednn_convs, *m->convs, memory_order_relaxed);
#endif
  return GR_OK;
}

// Measured (docs/decisions.md). Packing does not pay off for few rows. oneDNN 2.6 packs its
// operands with AVX-512; with AVX2, only if b is transposed or narrow.
#if defined(__AVX512F__)
enum { DOTS = 128 };
static bool onednn_packs(const gr_gemm *g) { return g != NULL; }
#else
enum { DOTS = 32 };
static bool onednn_packs(const gr_gemm *g) { return g->tb || g->n <= 128; }
#endif

// Dot products, those of a transposed b, end with a sum over lanes: of short rows most of the work,
// unless the rows of a are so few that the other kernels would move b for little.
static gr_gemm_kernel choose(const gr_gemm *g) {
  bool dots = g->m < DOTS && 2 * g->m <= g->k;
  bool few_rows = g->tb ? dots : g->m <= 32 && g->k <= 2048;
  bool tiny = g->m * g->n * g->k < 32 * 32 * 32;
  if (tiny && !few_rows && gr_gemm_is_short(g)) return gr_gemm_turned;
  if (few_rows || tiny) return gr_gemm_plain;
  gr_gemm_kernel library = onednn_packs(g) ? gr_gemm_onednn() : NULL;
  return library ? library : gr_gemm_packed;
}

void gr_gemm_one(const gr_gemm *g, const float *a, const float *b, float *c) {
  choose(g)(g, a, b, c);
}

// ---- Threads --------------------------------------------------------------------------------
// The packed kernel uses all threads itself (gemm_packed.c). Any other GEMM is divided into blocks
// of rows, or of columns if these are more. It is not divided below MIN_PARALLEL multiplications,
// because waking a thread costs more, nor if it is one of many. The plain kernel sums each element
// in the same order wherever the blocks begin, so each thread gets one block; oneDNN's blocks
// depend on the shape alone, so that results do not depend on the number of threads, and are large,
// because each block packs the other operand again. Blocks of few columns of all rows are made as
// many that are less narrow, which together pack less.

enum {
  MIN_PARALLEL = 1 << 20,
  UNIT = 16,
  MIN_BLOCK = 128,
  MAX_BLOCK = 512,
  BLOCKS = 16,
  MANY = 16
};

typedef struct cut {
  const gr_gemm *g;
  gr_gemm_kernel kernel;
  gr_gemm_bf16_kernel kernel_bf16;  // if kernel is NULL
  gr_gemm_steps step;
  const void *a, *b;  // f32, or bf16
  float *c;
  int64_t rows, cols, down, across;  // of a block; blocks of a column, and of a row
  const gr_gemm_packs *packs;        // if b is packed for all blocks
  size_t packed_bytes;               // of what blocks of the same columns share
  int failed;                        // whether something could not be packed; atomic
} cut;

// The size of each part, rounded up to a multiple of unit.
static int64_t part_size(int64_t size, int64_t parts, int64_t unit) {
  int64_t part = (size + parts - 1) / parts;
  return (part + unit - 1) / unit * unit;
}

static void count_blocks(cut *x) {
  x->down = (x->g->m + x->rows - 1) / x->rows, x->across = (x->g->n + x->cols - 1) / x->cols;
}

static cut cut_up(const gr_gemm *g, gr_gemm_kernel kernel, int64_t count, int threads) {
  cut x = {.g = g, .kernel = kernel, .rows = g->m, .cols = g->n, .down = 1, .across = 1};
  int64_t *size = g->m >= g->n ? &x.rows : &x.cols;
  if (count >= MANY || g->m * g->n * g->k < MIN_PARALLEL) return x;
  *size = !kernel || kernel == gr_gemm_onednn()
              ? gr_min_i64(MAX_BLOCK, part_size(*size, BLOCKS, MIN_BLOCK))
              : part_size(*size, threads, UNIT);
  while (kernel && kernel == gr_gemm_onednn() && x.cols < g->n && x.rows > 2 * x.cols)
    x.rows = part_size(x.rows, 2, UNIT), x.cols *= 2;
  count_blocks(&x);
  return x;
}

// Block i of the products, and where its operands and its result begin, in elements.
static gr_gemm block_at(const cut *x, int64_t i, gr_gemm_steps *offset) {
  gr_gemm g = *x->g;
  int64_t which = i / (x->down * x->across), of = i % (x->down * x->across);
  int64_t row = of % x->down * x->rows, col = of / x->down * x->cols;
  g.m = gr_min_i64(x->rows, g.m - row), g.n = gr_min_i64(x->cols, g.n - col);
  offset->a = which * x->step.a + row * (g.ta ? 1 : g.lda);
  offset->b = which * x->step.b + col * (g.tb ? g.ldb : 1);
  offset->c = which * x->step.c + row * g.ldc + col;
  return g;
}

static void part(void *arg, int64_t begin, int64_t end) {
  const cut *x = arg;
  for (int64_t i = begin; i < end; i++) {
    gr_gemm_steps offset;
    gr_gemm g = block_at(x, i, &offset);
    if (x->kernel)
      x->kernel(&g, (const float *)x->a + offset.a, (const float *)x->b + offset.b,
                x->c + offset.c);
    else
      x->kernel_bf16(&g, (const uint16_t *)x->a + offset.a, (const uint16_t *)x->b + offset.b,
                     x->c + offset.c);
  }
}

static void run_parts(const gr_launch *l, cut *x, int64_t count) {
  int64_t blocks = x->down * x->across, work = x->g->m * x->g->n * x->g->k / blocks;
  gr_parallel(l, count * blocks, gr_max_i64(1, MIN_PARALLEL / 2 / gr_max_i64(1, work)), part, x);
}

// ---- b packed once for all blocks of oneDNN -----------------------------------------------------
// Measured (docs/decisions.md): this is faster if b is transposed or has wide rows. Columns are
// packed in parts, on all threads; each block is of the columns of one part. There are about as
// many blocks as without packing, so that no thread waits longer.

enum {
  WIDE = 2048,
  LARGE = 1 << 20,
  MIN_COLS = 384,
  COL_UNIT = 48,
  MIN_DEPTH = 128,
  HEADER = 4096
};

static bool shares_b(const gr_gemm *g) {
  return !g->ta && (g->tb || g->n >= WIDE) && g->m >= 2 * MIN_BLOCK &&
         g->m * g->n * g->k >= MIN_PARALLEL;
}

static cut cut_for_packed(const gr_gemm *g) {
  cut x = {.g = g};
  int64_t least = g->k * g->n < LARGE ? MIN_BLOCK : 2 * MIN_BLOCK;
  x.rows = gr_min_i64(MAX_BLOCK, part_size(g->m, BLOCKS, least));
  x.down = (g->m + x.rows - 1) / x.rows;
  int64_t parts = gr_max_i64(1, gr_min_i64(BLOCKS / x.down, g->n / MIN_COLS));
  x.cols = gr_min_i64(g->n, part_size(g->n, parts, COL_UNIT));
  count_blocks(&x);
  // The library pads columns, and k by up to 0.475 of it, to 128 at least; and has a header.
  int64_t depth = gr_max_i64(g->k + g->k / 2, MIN_DEPTH);
  int64_t numbers = part_size(x.cols, 1, COL_UNIT) * depth + HEADER;
  x.packed_bytes = sizeof(float) * (size_t)numbers;
  return x;
}

size_t gr_gemm_scratch(const gr_gemm *g) {
  if (!shares_b(g)) return 0;
  cut x = cut_for_packed(g);
  return (size_t)x.across * x.packed_bytes;
}

static void *packed_columns(const cut *x, int64_t i) {
  return (char *)x->g->scratch + (size_t)(i / x->down) * x->packed_bytes;
}

static void pack_part(void *arg, int64_t begin, int64_t end) {
  cut *x = arg;
  for (int64_t i = begin * x->down; i < end * x->down; i += x->down) {
    gr_gemm_steps offset;
    gr_gemm g = block_at(x, i, &offset);
    size_t bytes = x->packs->bytes(&g);
    if (!bytes || bytes > x->packed_bytes ||
        !x->packs->pack(&g, (const float *)x->b + offset.b, packed_columns(x, i)))
      __atomic_store_n(&x->failed, 1, __ATOMIC_RELAXED);
  }
}

static void packed_part(void *arg, int64_t begin, int64_t end) {
  const cut *x = arg;
  for (int64_t i = begin; i < end; i++) {
    gr_gemm_steps offset;
    gr_gemm g = block_at(x, i, &offset);
    const float *a = (const float *)x->a + offset.a;
    if (!x->packs->run(&g, a, packed_columns(x, i), x->c + offset.c))
      gr_gemm_plain(&g, a, (const float *)x->b + offset.b, x->c + offset.c);
  }
}

// False, and nothing done: b is not to be packed, or the library cannot.
static bool run_packed(const gr_launch *l, const gr_gemm *g, const float *a, const float *b,
                       float *c) {
  if (!g->scratch || !shares_b(g) || !gr_gemm_onednn_packs() || choose(g) != gr_gemm_onednn())
    return false;
  cut x = cut_for_packed(g);
  x.packs = gr_gemm_onednn_packs(), x.a = a, x.b = b, x.c = c;
  gr_parallel(l, x.across, 1, pack_part, &x);
  if (x.failed) return false;
  gr_parallel(l, x.down * x.across, 1, packed_part, &x);
  return true;
}

void gr_gemm_batch(const gr_launch *l, const gr_gemm *g, int64_t count, gr_gemm_steps step,
                   const float *a, const float *b, float *c) {
  const gr_cpu *cpu = l->context;
  if (count == 1 && run_packed(l, g, a, b, c)) return;
  if (count < MANY && g->m * g->n * g->k >= MIN_PARALLEL && choose(g) == gr_gemm_packed) {
    for (int64_t i = 0; i < count; i++)
      gr_gemm_packed_by(l, g, a + i * step.a, b + i * step.b, c + i * step.c);
    return;
  }
  cut x = cut_up(g, choose(g), count, cpu ? cpu->threads : 1);
  x.step = step, x.a = a, x.b = b, x.c = c;
  run_parts(l, &x, count);
}

// Measured (docs/decisions.md): in smaller products a call of oneDNN, or its packing, costs more
// than it saves.
bool gr_gemm_bf16_suits(const gr_gemm *g) {
  enum { LEAST = 16, LEAST_WORK = 1 << 16 };
  return g->m >= LEAST && g->n >= LEAST && g->k >= LEAST && g->m * g->n * g->k >= LEAST_WORK;
}

bool gr_gemm_bf16_batch(const gr_launch *l, const gr_gemm *g, int64_t count, gr_gemm_steps step,
                        const uint16_t *a, const uint16_t *b, float *c) {
  const gr_cpu *cpu = l->context;
  gr_gemm_bf16_kernel kernel = gr_gemm_bf16_unit() != GR_BF16_NONE ? gr_gemm_onednn_bf16() : NULL;
  if (!kernel || !gr_gemm_bf16_suits(g)) return false;
  cut x = cut_up(g, NULL, count, cpu ? cpu->threads : 1);
  x.kernel_bf16 = kernel, x.step = step, x.a = a, x.b = b, x.c = c;
  run_parts(l, &x, count);
  return true;
}

// ---- Prepacked operands ---------------------------------------------------------------------
// A panel is as wide as the tile of gemm_plain.c, so that the tile reads it sequentially.
#if defined(__AVX512F__)
enum { PANEL = 32 };
#elif defined(__AVX2__)
enum { PANEL = 24 };
#else
enum { PANEL = 12 };
#endif

static int64_t width(const gr_gemm *g, int64_t first) { return gr_min_i64(PANEL, g->n - first); }

int64_t gr_gemm_packed_at(const gr_gemm *g, int64_t j, int64_t p) {
  assert(j >= 0 && j < g->n && p >= 0 && p < g->k);
  int64_t first = j / PANEL * PANEL;
  return first * g->k + p * width(g, first) + j - first;
}

void gr_gemm_pack(const gr_gemm *g, const float *b, float *packed) {
  for (int64_t first = 0; first < g->n; first += PANEL)
    for (int64_t p = 0; p < g->k; p++)
      for (int64_t j = first, end = first + width(g, first); j < end; j++)
        *packed++ = b[g->tb ? j * g->ldb + p : p * g->ldb + j];
}

static void panels(void *arg, int64_t begin, int64_t end) {
  const cut *x = arg;
  for (int64_t j = begin * PANEL; j < gr_min_i64(x->g->n, end * PANEL); j += PANEL) {
    gr_gemm g = *x->g;
    g.n = g.ldb = width(x->g, j), g.tb = false;
    gr_gemm_plain(&g, x->a, (const float *)x->b + j * g.k, x->c + j);
  }
}

void gr_gemm_by_packed(const gr_launch *l, const gr_gemm *g, const float *a, const float *packed,
                       float *c) {
  int64_t count = (g->n + PANEL - 1) / PANEL, grain = g->m * g->n * g->k < MIN_PARALLEL ? count : 1;
  gr_parallel(l, count, grain, panels, &(cut){.g = g, .a = a, .b = packed, .c = c});
}

void gr_gemm_run(const gr_launch *l, const gr_gemm *g, const float *a, const float *b, float *c) {
  gr_gemm_batch(l, g, 1, (gr_gemm_steps){0}, a, b, c);
}
