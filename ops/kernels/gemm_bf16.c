// gemm_bf16.c - products of few rows of bf16 with a prepacked bf16 matrix, accumulated in f32.
//
// A packed matrix is in panels of PANEL columns; in a panel, elements 2p and 2p+1 of a column are
// adjacent, as the instruction vdpbf16ps of AVX512-BF16 takes them: it adds two products to each of
// 16 sums. The tiles of AMX take them as well, and are used first (gemm_amx.c). Processors without
// both multiply in f32. Which is used is asked of the processor.
#include "ops/kernels/gemm.h"
#include "ops/kernels/operands.h"

enum { PANEL = 48, PAIR = 2 };  // columns; elements along k
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 24")

int64_t gr_gemm_bf16_packed_at(const gr_gemm *g, int64_t j, int64_t p) {
  return j / PANEL * PANEL * g->k + p / PAIR * PANEL * PAIR + j % PANEL * PAIR + p % PAIR;
}

void gr_gemm_bf16_pack(const gr_gemm *g, const uint16_t *b, uint16_t *packed) {
  for (int64_t first = 0; first < g->n; first += PANEL)
    for (int64_t p = 0; p < g->k; p += PAIR)
      for (int64_t j = first; j < first + PANEL; j++)
        for (int64_t e = p; e < p + PAIR; e++)
          *packed++ = j < g->n ? b[g->tb ? j * g->ldb + e : e * g->ldb + j] : 0;
}

// In the order of the mathematics, for the case that a library fails.
void gr_gemm_bf16_plain(const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      float sum = g->add ? c[i * g->ldc + j] : 0;
      for (int64_t p = 0; p < g->k; p++)
        sum += gr_float_of_bf16(a[g->ta ? p * g->lda + i : i * g->lda + p]) *
               gr_float_of_bf16(b[g->tb ? j * g->ldb + p : p * g->ldb + j]);
      c[i * g->ldc + j] = sum;
    }
}

typedef void (*panel_kernel)(const gr_gemm *, const uint16_t *a, const uint16_t *b, float *c,
                             int64_t columns);

// ---- Any processor ------------------------------------------------------------------------------
// A block of rows by a stretch of columns that the registers hold; the two elements of a pair are
// the upper and the lower half of 32 bits, and are f32 with zeros in the other half.

#if defined(__AVX512F__)
enum { STRETCH = 48 };
#else
enum { STRETCH = 16 };
#endif
_Static_assert(PANEL % STRETCH == 0, "a panel is whole stretches");

INLINE void tile_plain(int rows, const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c,
                       int64_t columns) {
  float sum[4][STRETCH] = {{0}};
  for (int64_t p = 0; p < g->k; p += PAIR, b += PANEL * PAIR) {
    uint32_t pair[STRETCH];
    memcpy(pair, b, sizeof pair);
    UNROLL for (int i = 0; i < rows; i++) {
      float x0 = gr_float_of_bf16(a[i * g->lda + p]), x1 = gr_float_of_bf16(a[i * g->lda + p + 1]);
      for (int j = 0; j < STRETCH; j++)
        sum[i][j] += x0 * gr_float_of(pair[j] << 16) + x1 * gr_float_of(pair[j] & 0xffff0000);
    }
  }
  for (int i = 0; i < rows; i++) memcpy(c + i * g->ldc, sum[i], sizeof *c * (size_t)columns);
}

static void panel_plain(const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c,
                        int64_t columns) {
  for (int64_t first = 0; first < columns; first += STRETCH) {
    const uint16_t *columns_of_b = b + first * PAIR;
    int64_t i = 0, n = gr_min_i64(STRETCH, columns - first);
    for (; i + 4 <= g->m; i += 4)
      tile_plain(4, g, a + i * g->lda, columns_of_b, c + i * g->ldc + first, n);
    for (; i < g->m; i++) tile_plain(1, g, a + i * g->lda, columns_of_b, c + i * g->ldc + first, n);
  }
}

// ---- AVX512-BF16 --------------------------------------------------------------------------------
#if defined(__x86_64__)
#include <immintrin.h>
#define NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

static bool has_avx512(void) { return __builtin_cpu_supports("avx512bf16"); }

enum { LANES = 16, COLS = PANEL / LANES, ROWS = 8 };

NATIVE INLINE void tile(int rows, const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c,
                        int64_t columns) {
  __m512 sum[ROWS * COLS];
  UNROLL for (int i = 0; i < rows * COLS; i++) sum[i] = _mm512_setzero_ps();
  for (int64_t p = 0; p < g->k; p += PAIR, b += PANEL * PAIR) {
    __m512i col[COLS];
    UNROLL for (int j = 0; j < COLS; j++) col[j] = _mm512_loadu_si512(b + j * LANES * PAIR);
    UNROLL for (int i = 0; i < rows; i++) {
      int32_t pair;
      memcpy(&pair, a + i * g->lda + p, sizeof pair);
      __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
      UNROLL for (int j = 0; j < COLS; j++) sum[i * COLS + j] =
          _mm512_dpbf16_ps(sum[i * COLS + j], x, (__m512bh)col[j]);
    }
  }
  UNROLL for (int j = 0; j < COLS; j++) {
    int64_t left = gr_max_i64(0, gr_min_i64(LANES, columns - j * LANES));
    __mmask16 mask = (__mmask16)((1u << left) - 1);
    UNROLL for (int i = 0; i < rows; i++)
        _mm512_mask_storeu_ps(c + i * g->ldc + j * LANES, mask, sum[i * COLS + j]);
  }
}

NATIVE static void panel_native(const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c,
                                int64_t columns) {
  int64_t i = 0;
  for (; i + 8 <= g->m; i += 8) tile(8, g, a + i * g->lda, b, c + i * g->ldc, columns);
  for (; i + 4 <= g->m; i += 4) tile(4, g, a + i * g->lda, b, c + i * g->ldc, columns);
  for (; i < g->m; i++) tile(1, g, a + i * g->lda, b, c + i * g->ldc, columns);
}
#else
static bool has_avx512(void) { return false; }
static const panel_kernel panel_native = panel_plain;
#endif

gr_bf16_unit gr_gemm_bf16_unit(void) {
  return gr_gemm_amx() ? GR_BF16_AMX : has_avx512() ? GR_BF16_AVX512 : GR_BF16_NONE;
}

// ---- Threads ------------------------------------------------------------------------------------

typedef struct job {
  const gr_gemm *g;
  panel_kernel kernel;  // NULL: AMX
  const uint16_t *a, *b;
  float *c;
} job;

static void panels(void *arg, int64_t begin, int64_t end) {
  const job *x = arg;
  if (!x->kernel) gr_gemm_amx_panels(x->g, x->a, x->b, x->c, begin, end);
  for (int64_t i = begin; i < end && x->kernel; i++)
    x->kernel(x->g, x->a, x->b + i * PANEL * x->g->k, x->c + i * PANEL,
              gr_min_i64(PANEL, x->g->n - i * PANEL));
}

static void gemm_bf16_run(const gr_launch *l, const job *x) {
  enum { MIN_PARALLEL = 1 << 21 };  // multiplications: below, waking a thread costs more
  const gr_gemm *g = x->g;
  int64_t count = (g->n + PANEL - 1) / PANEL, grain = g->m * g->n * g->k < MIN_PARALLEL ? count : 1;
  gr_parallel(l, count, grain, panels, (void *)x);
}

void gr_gemm_bf16_by_packed(const gr_launch *l, const gr_gemm *g, const uint16_t *a,
                            const uint16_t *packed, float *c) {
  enum { LEAST_ROWS = 4 };  // of AMX, whose time is that of 16 rows
  panel_kernel other = has_avx512() ? panel_native : panel_plain;
  gemm_bf16_run(l, &(job){g, g->m >= LEAST_ROWS && gr_gemm_amx() ? NULL : other, a, packed, c});
}

void gr_gemm_bf16_by_packed_plain(const gr_launch *l, const gr_gemm *g, const uint16_t *a,
                                  const uint16_t *packed, float *c) {
  gemm_bf16_run(l, &(job){g, panel_plain, a, packed, c});
}
