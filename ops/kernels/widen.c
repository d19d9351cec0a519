// widen.c - see widen.h.
#include "ops/kernels/widen.h"
#if defined(__F16C__) && defined(__AVX__)
#include <assert.h>
#include <immintrin.h>
#endif

// F16C converts as gr_float_of_f16 and gr_f16 do, bit for bit.
static void widen_f16(const uint16_t *x, float *y, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
  for (; i < n; i++) y[i] = gr_float_of_f16(x[i]);
}

static void narrow_f16(const float *x, uint16_t *y, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#endif
  for (; i < n; i++) y[i] = gr_f16(x[i]);
}

void gr_widen(gr_dtype d, const void *source, float *target, int64_t n) {
  assert(gr_is_narrow(d) && n >= 0);
  const uint16_t *x = source;
  if (d == GR_F16)
    widen_f16(x, target, n);
  else
    for (int64_t i = 0; i < n; i++) target[i] = gr_float_of_bf16(x[i]);
}

void gr_narrow(gr_dtype d, const float *source, void *target, int64_t n) {
  assert(gr_is_narrow(d) && n >= 0);
  uint16_t *y = target;
  if (d == GR_F16)
    narrow_f16(source, y, n);
  else
    for (int64_t i = 0; i < n; i++) y[i] = gr_bf16(source[i]);
}

// ---- On all threads -----------------------------------------------------------------------------

enum { GRAIN = 1 << 14 };

typedef struct conversion {
  gr_dtype narrow;
  const void *source;
  void *target;
} conversion;

static void widen_part(void *arg, int64_t begin, int64_t end) {
  const conversion *c = arg;
  gr_widen(c->narrow, (const uint16_t *)c->source + begin, (float *)c->target + begin, end - begin);
}

static void narrow_part(void *arg, int64_t begin, int64_t end) {
  const conversion *c = arg;
  gr_narrow(c->narrow, (const float *)c->source + begin, (uint16_t *)c->target + begin,
            end - begin);
}

void gr_widen_all(const gr_launch *l, gr_dtype d, const void *source, float *target, int64_t n) {
  gr_parallel(l, n, GRAIN, widen_part, &(conversion){d, source, target});
}

void gr_narrow_all(const gr_launch *l, gr_dtype d, const float *source, void *target, int64_t n) {
  gr_parallel(l, n, GRAIN, narrow_part, &(conversion){d, source, target});
}

// ---- Kernels for f32 ----------------------------------------------------------------------------

// Room for an operand or a result in f32, a multiple of 64 bytes; 0 if it is not narrow.
static size_t room(const gr_type *t) {
  return gr_is_narrow(t->dtype) ? ((size_t)gr_type_count(t) * sizeof(float) + 63) / 64 * 64 : 0;
}

size_t gr_widened_scratch(const gr_op_call *s, size_t bytes) {
  for (int k = 0; k < s->n_in; k++) bytes += room(&s->in[k]);
  for (int k = 0; k < s->n_out; k++) bytes += room(&s->out[k]);
  return bytes;
}

gr_status gr_run_widened(const gr_launch *l, gr_kernel kernel) {
  enum { MOST = 8 };  // operands or results of ops with a fast kernel
  gr_type in[MOST], out[MOST];
  const void *x[MOST];
  void *y[MOST];
  gr_launch wide = *l;
  char *cursor = l->scratch;
  if (l->n_in > MOST || l->n_out > MOST)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "more than %d operands or results to widen", MOST);
  for (int k = 0; k < l->n_in; k++) {
    in[k] = l->in_type[k], x[k] = l->in[k];
    if (!room(&in[k])) continue;
    gr_widen_all(l, in[k].dtype, l->in[k], (float *)cursor, gr_type_count(&in[k]));
    x[k] = cursor, cursor += room(&in[k]), in[k].dtype = GR_F32;
  }
  for (int k = 0; k < l->n_out; k++) {
    out[k] = l->out_type[k], y[k] = l->out[k];
    if (room(&out[k])) y[k] = cursor, cursor += room(&out[k]), out[k].dtype = GR_F32;
  }
  wide.in_type = in, wide.out_type = out, wide.in = x, wide.out = y, wide.scratch = cursor;
  GR_TRY(kernel(&wide));
  for (int k = 0; k < l->n_out; k++)
    if (room(&l->out_type[k]))
      gr_narrow_all(l, l->out_type[k].dtype, y[k], l->out[k], gr_type_count(&out[k]));
  return GR_OK;
}
