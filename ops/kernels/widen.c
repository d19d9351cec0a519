// widen.c - see widen.h.
#include "ops/kernels/widen.h"
#include "ops/kernels/operands.h"
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

// `n` numbers in rows, of which the narrow ones are `ld` apart and the others follow each other.
typedef struct conversion {
  gr_dtype narrow;
  const void *source;
  void *target;
  int64_t n, columns, ld;
} conversion;

static void widen_part(void *arg, int64_t begin, int64_t end) {
  const conversion *c = arg;
  for (int64_t i = begin; i < end; i++)
    gr_widen(c->narrow, (const uint16_t *)c->source + i * c->ld,
             (float *)c->target + i * c->columns, gr_min_i64(c->columns, c->n - i * c->columns));
}

static void narrow_part(void *arg, int64_t begin, int64_t end) {
  const conversion *c = arg;
  for (int64_t i = begin; i < end; i++)
    gr_narrow(c->narrow, (const float *)c->source + i * c->columns,
              (uint16_t *)c->target + i * c->ld, gr_min_i64(c->columns, c->n - i * c->columns));
}

void gr_widen_rows(const gr_launch *l, gr_dtype d, const uint16_t *source, int64_t ld, int64_t rows,
                   int64_t columns, float *target) {
  conversion c = {d, source, target, rows * columns, columns, ld};
  gr_parallel(l, rows, GRAIN / columns + 1, widen_part, &c);
}

void gr_narrow_rows(const gr_launch *l, gr_dtype d, const float *source, int64_t rows,
                    int64_t columns, int64_t ld, uint16_t *target) {
  conversion c = {d, source, target, rows * columns, columns, ld};
  gr_parallel(l, rows, GRAIN / columns + 1, narrow_part, &c);
}

void gr_widen_all(const gr_launch *l, gr_dtype d, const void *source, float *target, int64_t n) {
  conversion c = {d, source, target, n, GRAIN, GRAIN};
  gr_parallel(l, (n + GRAIN - 1) / GRAIN, 1, widen_part, &c);
}

void gr_narrow_all(const gr_launch *l, gr_dtype d, const float *source, void *target, int64_t n) {
  conversion c = {d, source, target, n, GRAIN, GRAIN};
  gr_parallel(l, (n + GRAIN - 1) / GRAIN, 1, narrow_part, &c);
}

// ---- Kernels for f32 ----------------------------------------------------------------------------

// Room for an operand or a result in f32, a multiple of 64 bytes; 0 if it is not narrow.
static size_t room(const gr_type *t) {
  return gr_is_narrow(t->dtype) ? ((size_t)gr_type_count(t) * sizeof(float) + 63) / 64 * 64 : 0;
}

static int divisor(int64_t samples) { return samples % 2 ? 1 : samples % 4 ? 2 : 4; }

int64_t gr_widened_samples(const gr_type *x) {
  return x->dim[0] / (gr_is_narrow(x->dtype) ? divisor(x->dim[0]) : 1);
}

static int parts_of(const gr_type *in, gr_samples by) {
  if (!by.operands) return 1;
  while (!(by.operands & 1)) by.operands >>= 1, in++;
  return divisor(in->dim[0]);
}

static gr_type part_of(gr_type t, bool divided, int parts) {
  if (divided && parts > 1) t.dim[0] /= parts;
  return t;
}

static bool has_samples(gr_samples by, const gr_type *in, int k) {
  return in[k].rank && k < 32 && by.operands >> k & 1;
}

size_t gr_widened_scratch(const gr_op_call *s, gr_samples by, size_t bytes) {
  int parts = parts_of(s->in, by);
  for (int k = 0; k < s->n_in; k++) {
    gr_type t = part_of(s->in[k], has_samples(by, s->in, k), parts);
    bytes += room(&t);
  }
  for (int k = 0; k < s->n_out; k++) {
    gr_type t = part_of(s->out[k], !by.sums, parts);
    bytes += room(&t) * (by.sums ? 2 : 1);
  }
  return bytes;
}

size_t gr_each_scratch(const gr_op_call *s) { return gr_widened_scratch(s, gr_each, 0); }

enum { MOST = 8 };  // operands or results of ops with a fast kernel
typedef struct widening {
  const gr_launch *l;
  gr_samples by;
  int parts;
  gr_type in[MOST], out[MOST];  // of a part, as they are
  const void *x[MOST];
  void *y[MOST];
  float *sum[MOST];
} widening;

static void *part_at(const void *all, const gr_type *part, bool divided, int p) {
  return (char *)all + (divided ? (size_t)p * gr_type_bytes(part) : 0);
}

// Returns the scratch memory that is left.
static char *place(widening *w, char *cursor) {
  const gr_launch *l = w->l;
  for (int k = 0; k < l->n_in; k++) {
    w->in[k] = part_of(l->in_type[k], has_samples(w->by, l->in_type, k), w->parts);
    w->x[k] = room(&w->in[k]) ? cursor : l->in[k];
    cursor += room(&w->in[k]);
  }
  for (int k = 0; k < l->n_out; k++) {
    w->out[k] = part_of(l->out_type[k], !w->by.sums, w->parts);
    w->y[k] = room(&w->out[k]) ? cursor : l->out[k];
    cursor += room(&w->out[k]);
    if (w->by.sums) w->sum[k] = (float *)(void *)cursor, cursor += room(&w->out[k]);
  }
  return cursor;
}

static void load(widening *w, int p) {
  for (int k = 0; k < w->l->n_in; k++) {
    bool divided = has_samples(w->by, w->in, k);
    const void *source = part_at(w->l->in[k], &w->in[k], divided, p);
    if (!room(&w->in[k]))
      w->x[k] = source;
    else if (divided || !p)
      gr_widen_all(w->l, w->in[k].dtype, source, (float *)w->x[k], gr_type_count(&w->in[k]));
  }
  for (int k = 0; k < w->l->n_out; k++)
    if (!room(&w->out[k])) w->y[k] = part_at(w->l->out[k], &w->out[k], true, p);
}

static void store(const widening *w, int p) {
  for (int k = 0; k < w->l->n_out; k++) {
    if (!room(&w->out[k])) continue;
    int64_t n = gr_type_count(&w->out[k]);
    float *y = w->y[k], *sum = w->sum[k];
    for (int64_t i = 0; sum && i < n; i++) y[i] = sum[i] = p ? sum[i] + y[i] : y[i];
    if (!sum || p == w->parts - 1)
      gr_narrow_all(w->l, w->out[k].dtype, y, part_at(w->l->out[k], &w->out[k], !sum, p), n);
  }
}

gr_status gr_run_widened(const gr_launch *l, gr_samples by, gr_kernel kernel) {
  widening w = {.l = l, .by = by, .parts = parts_of(l->in_type, by)};
  if (l->n_in > MOST || l->n_out > MOST)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "more than %d operands or results to widen", MOST);
  gr_launch wide = *l;
  wide.scratch = place(&w, l->scratch);
  gr_type in[MOST], out[MOST];
  for (int k = 0; k < l->n_in; k++) in[k] = w.in[k], in[k].dtype = gr_widened(in[k].dtype);
  for (int k = 0; k < l->n_out; k++) out[k] = w.out[k], out[k].dtype = gr_widened(out[k].dtype);
  wide.in_type = in, wide.out_type = out, wide.in = w.x, wide.out = w.y;
  for (int p = 0; p < w.parts; p++) {
    load(&w, p);
    if (w.parts > 1) wide.whole = l->in_type, wide.first = p * gr_type_count(in);
    GR_TRY(kernel(&wide));
    store(&w, p);
  }
  return GR_OK;
}
