// array.c - see array.h.
#include "runtime/data/array.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "base/text.h"

bool gr_array_is_text(const gr_array *a) { return a->element >= GR_ELEMENT_BYTES; }
bool gr_array_is_whole(const gr_array *a) { return a->element <= GR_ELEMENT_INT; }

const char *gr_array_type(const gr_array *a) {
  static const char *const names[][4] = {[GR_ELEMENT_BOOL] = {"bool", "bool", "bool", "bool"},
                                         [GR_ELEMENT_UINT] = {"u8", "u16", "u32", "u64"},
                                         [GR_ELEMENT_INT] = {"i8", "i16", "i32", "i64"},
                                         [GR_ELEMENT_FLOAT] = {"", "f16", "f32", "f64"}};
  if (gr_array_is_text(a)) return "text";
  return names[a->element][a->size == 1 ? 0 : a->size == 2 ? 1 : a->size == 4 ? 2 : 3];
}

// IEEE 754 binary16.
static double half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double v = exponent == 0    ? ldexp(fraction, -24)
             : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                              : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -v : v;
}

static double float_at(const gr_array *a, const unsigned char *p) {
  uint16_t bits;
  float f;
  double d;
  if (a->size == 2) return memcpy(&bits, p, 2), half(bits);
  if (a->size == 4) return memcpy(&f, p, 4), (double)f;
  return memcpy(&d, p, 8), d;
}

// The magnitude bits of an integer, without its sign.
static uint64_t bits_at(const gr_array *a, const unsigned char *p) {
  uint64_t v = 0;
  memcpy(&v, p, a->size);  // all supported machines are little-endian
  return v;
}

static int64_t signed_at(const gr_array *a, const unsigned char *p) {
  int shift = 64 - 8 * (int)a->size;
  return (int64_t)(bits_at(a, p) << shift) >> shift;
}

double gr_array_number(const gr_array *a, int64_t i) {
  assert(!gr_array_is_text(a) && i >= 0 && i < a->count);
  const unsigned char *p = a->data + (size_t)i * a->size;
  if (a->element == GR_ELEMENT_FLOAT) return float_at(a, p);
  if (a->element == GR_ELEMENT_INT) return (double)signed_at(a, p);
  return a->element == GR_ELEMENT_BOOL ? *p != 0 : (double)bits_at(a, p);
}

bool gr_array_integer(const gr_array *a, int64_t i, int64_t *out) {
  assert(!gr_array_is_text(a) && i >= 0 && i < a->count);
  const unsigned char *p = a->data + (size_t)i * a->size;
  if (a->element == GR_ELEMENT_FLOAT) {
    double v = float_at(a, p);
    if (!(v >= -0x1p63 && v < 0x1p63) || v != floor(v)) return false;
    *out = (int64_t)v;
    return true;
  }
  if (a->element == GR_ELEMENT_BOOL) return *out = *p != 0, true;
  *out = a->element == GR_ELEMENT_INT ? signed_at(a, p) : (int64_t)bits_at(a, p);
  return a->element == GR_ELEMENT_INT || *out >= 0;
}

static const char *codes_text(gr_arena *arena, const unsigned char *p, size_t size) {
  gr_text t = gr_text_make(arena);
  uint32_t code;
  for (size_t k = 0; k + 4 <= size; k += 4) {
    memcpy(&code, p + k, 4);
    if (!code) break;
    bool valid = code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
    gr_text_put_code(&t, valid ? code : 0xfffd);
  }
  return t.chars;
}

const char *gr_array_text(gr_arena *arena, const gr_array *a, int64_t i) {
  const unsigned char *p = a->data + (size_t)i * a->size;
  int64_t whole;
  const char *text;
  if (a->element == GR_ELEMENT_TEXTS) return memcpy(&text, p, sizeof text), text;
  if (a->element == GR_ELEMENT_CODES) return codes_text(arena, p, a->size);
  if (a->element == GR_ELEMENT_BYTES)
    return gr_arena_strndup(arena, (const char *)p, strnlen((const char *)p, a->size));
  bool is_whole = gr_array_is_whole(a) && gr_array_integer(a, i, &whole);
  if (is_whole && whole >= 0 && whole < a->n_names) return a->names[whole];
  if (is_whole) return gr_arena_printf(arena, "%lld", (long long)whole);
  return gr_arena_printf(arena, "%.9g", gr_shown(gr_array_number(a, i)));
}

void gr_array_doubles(const gr_array *a, int64_t first, int64_t n, double *out) {
  assert(!gr_array_is_text(a) && first >= 0 && n >= 0 && first + n <= a->count);
  if (a->element == GR_ELEMENT_FLOAT && a->size == sizeof *out)
    memcpy(out, a->data + (size_t)first * sizeof *out, (size_t)n * sizeof *out);
  else
    for (int64_t i = 0; i < n; i++) out[i] = gr_array_number(a, first + i);
}

void gr_array_floats(const gr_array *a, int64_t first, int64_t n, float *out) {
  assert(!gr_array_is_text(a) && first >= 0 && n >= 0 && first + n <= a->count);
  if (a->element == GR_ELEMENT_FLOAT && a->size == sizeof *out)
    memcpy(out, a->data + (size_t)first * sizeof *out, (size_t)n * sizeof *out);
  else
    for (int64_t i = 0; i < n; i++) out[i] = (float)gr_array_number(a, first + i);
}

int64_t gr_array_ints(const gr_array *a, int64_t first, int64_t n, size_t size, void *out) {
  assert(size == 1 || size == 4 || size == 8);
  int64_t least = size == 1 ? 0 : size == 4 ? INT32_MIN : INT64_MIN;
  int64_t most = size == 1 ? UINT8_MAX : size == 4 ? INT32_MAX : INT64_MAX;
  char *to = out;
  for (int64_t i = 0, v; i < n; i++, to += size) {
    if (!gr_array_integer(a, first + i, &v) || v < least || v > most) return first + i;
    memcpy(to, &v, size);  // little-endian: the low bytes
  }
  return -1;
}
