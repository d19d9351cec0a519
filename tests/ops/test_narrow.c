// test_narrow.c - bf16 and f16: every value and every rounding between two neighbours, arrays
// against single values, and the products that processors have instructions for.
#include <math.h>
#include "ops/kernels/gemm.h"
#include "ops/kernels/widen.h"
#include "ops/nn/matmul.h"
#include "ops/ops.h"
#include "tests/check.h"

static float value(gr_dtype d, uint32_t h) {
  return d == GR_F16 ? gr_float_of_f16((uint16_t)h) : gr_float_of_bf16((uint16_t)h);
}
static uint16_t rounded(gr_dtype d, float f) { return d == GR_F16 ? gr_f16(f) : gr_bf16(f); }

// The value of f16 by its definition: sign, 5 bits of exponent, 10 bits of mantissa.
static double f16_of(uint32_t h) {
  int e = (int)(h >> 10 & 31), m = (int)(h & 0x3ff);
  double size = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -size : size;
}

static void values(void) {
  for (uint32_t h = 0; h < 0x10000; h++) {
    double want = f16_of(h), got = (double)value(GR_F16, h);
    CHECK(isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got),
          "f16 %04x is %g, not %g", h, got, want);
    for (gr_dtype d = GR_BF16; d <= GR_F16; d++) {
      float f = value(d, h);
      CHECK(isnan(f) ? isnan(value(d, rounded(d, f))) : rounded(d, f) == h, "%s %04x comes back",
            gr_dtypes[d].name, h);
    }
  }
}

// Between neighbours a and b: up to the middle a, beyond it b, in the middle the even one.
static void roundings(void) {
  for (gr_dtype d = GR_BF16; d <= GR_F16; d++) {
    uint32_t top = d == GR_F16 ? 0x7bff : 0x7f7f;  // the largest finite value
    for (uint32_t h = 0; h < top; h++) {
      float a = value(d, h), b = value(d, h + 1), middle = a + (b - a) / 2;
      CHECK(rounded(d, middle) == h + (h & 1), "%s: the middle after %04x", gr_dtypes[d].name, h);
      CHECK(rounded(d, nextafterf(middle, 0)) == h, "%s: below it", gr_dtypes[d].name);
      CHECK(rounded(d, nextafterf(middle, INFINITY)) == h + 1, "%s: above it", gr_dtypes[d].name);
      CHECK(rounded(d, -middle) == (0x8000 | (h + (h & 1))), "%s: negative", gr_dtypes[d].name);
    }
    CHECK(isinf(value(d, rounded(d, 3.4e38f * 10))), "infinite");
  }
  CHECK(rounded(GR_F16, 65519) == 0x7bff && rounded(GR_F16, 65520) == 0x7c00, "the end of f16");
}

// Arrays of any length give what single values give.
static void arrays(void) {
  enum { N = 1003 };
  float x[N], back[N];
  uint16_t y[N];
  gr_rng r = gr_rng_make(1, "narrow", 0);
  for (int i = 0; i < N; i++) x[i] = (float)(gr_rng_normal(&r, (uint64_t)i) * pow(10, i % 12 - 8));
  x[7] = NAN, x[8] = INFINITY, x[9] = -0.0f, x[N - 1] = 1e-7f;
  for (gr_dtype d = GR_BF16; d <= GR_F16; d++) {
    gr_narrow(d, x, y, N);
    gr_widen(d, y, back, N);
    for (int i = 0; i < N; i++) {
      CHECK(y[i] == rounded(d, x[i]), "%s: element %d", gr_dtypes[d].name, i);
      CHECK(gr_bits_of(back[i]) == gr_bits_of(value(d, y[i])), "and back");
    }
  }
}

static double number(const uint16_t *p, int64_t i) { return (double)gr_float_of_bf16(p[i]); }

// A product by a packed matrix against double, for rows and columns at the edges of tiles,
// as this processor computes it and as one without instructions for bf16 does.
static void packed_by(bool plain) {
  enum { M = 19, N = 130, K = 70, MOST = 192 * K };
  static uint16_t a[M * K], b[N * K], p[MOST];
  static float c[M * N];
  gr_rng r = gr_rng_make(2, "packed", 0);
  for (int i = 0; i < M * K; i++) a[i] = gr_bf16((float)gr_rng_normal(&r, (uint64_t)i));
  for (int i = 0; i < N * K; i++) b[i] = gr_bf16((float)gr_rng_normal(&r, (uint64_t)(i + M * K)));
  for (int m = 1; m <= M; m += 3)
    for (int n = 1; n <= N; n += 43)
      for (int tb = 0; tb < 2; tb++) {
        gr_gemm g = gr_gemm_dense(false, tb, m, n, K);
        double worst = 0;
        gr_gemm_bf16_pack(&g, b, p);
        (plain ? gr_gemm_bf16_by_packed_plain : gr_gemm_bf16_by_packed)(&(gr_launch){0}, &g, a, p,
                                                                        c);
        for (int i = 0; i < m; i++)
          for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
              sum += number(a, i * K + k) * number(b, tb ? j * K + k : k * n + j);
            worst = check_worse(worst, fabs(sum - (double)c[i * n + j]));
          }
        CHECK(worst < 1e-4, "%d x %d, transposed %d: off by %g", m, n, tb, worst);
      }
}

static void packed(void) {
  packed_by(false), packed_by(true);
  printf("  %s\n", gr_gemm_bf16_unit() ? "with instructions for bf16" : "emulated");
}

// A sum of products is added up in f32, unless it has as many terms as one whose parts are read
// again and again.
static void sums_of_products(void) {
  static const struct matmul over_rows = {.ta = true, .sum = true};
  for (int doublings = 0; doublings <= 50; doublings += 5) {
    gr_arena *arena = gr_arena_create();
    gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
    gr_type t = {GR_BF16, 2, {4, 3}};
    gr_val x = gr_leaf(&b, GR_INPUT, 0, "x", t, gr_layout_replicated);
    gr_val z = GR_EMIT(&b, &gr_op_matmul, &over_rows, x, x);
    for (int i = 0; i < doublings; i++) z = gr_add(&b, z, z);
    gr_val y = gr_cast_product(&b, z, GR_F32);
    const gr_op *last = gr_maker(b.g, y)->op;
    MUST(b.err);
    CHECK(gr_at(b.g, y)->type.dtype == GR_F32, "the dtype");
    CHECK((last == &gr_op_cast) == (doublings > 10), "2^%d products end with %s", doublings,
          last->name);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"values", values}, {"roundings", roundings}, {"arrays", arrays},
             {"sums_of_products", sums_of_products}, {"packed", packed});
}
