// pickle_calls.c - see pickle_calls.h.
#include "runtime/data/table/pickle_calls.h"
#include <string.h>
#include "base/text.h"

// Memory for a copy; NULL: too much is copied.
static unsigned char *room(gr_pickle_calls *c, size_t bytes) {
  if (bytes > c->left) return NULL;
  c->left -= bytes;
  return gr_arena_alloc(c->arena, bytes + 1);
}

static gr_pickle *make(gr_pickle_calls *c, gr_pickle_kind kind, gr_pickle **out) {
  *out = GR_NEW(c->arena, gr_pickle, 1);
  (*out)->kind = kind;
  return *out;
}

// Bytes that protocol 2 has as the text of these code points.
static const char *encode(gr_pickle_calls *c, const gr_pickle *args, gr_pickle **out) {
  const gr_pickle *text = args->n == 2 ? args->items[0] : NULL;
  if (!text || text->kind != GR_PICKLE_TEXT) return "no text is encoded";
  unsigned char *bytes = room(c, text->len);
  if (!bytes) return "the same text is encoded again and again";
  gr_pickle *v = make(c, GR_PICKLE_BYTES, out);
  v->text = (char *)bytes;
  for (size_t i = 0; i < text->len;) {
    int len = gr_utf8_len(text->text + i);
    uint32_t code = len ? gr_utf8_code(text->text + i, len) : 256;
    if (code > 255) return "a text has characters that Latin-1 lacks";
    bytes[v->len++] = (unsigned char)code, i += (size_t)len;
  }
  return NULL;
}

static const char *new_dtype(gr_pickle_calls *c, const gr_pickle *args, gr_pickle **out) {
  if (!args->n || args->items[0]->kind != GR_PICKLE_TEXT) return "a dtype has no name";
  gr_pickle *v = make(c, GR_PICKLE_DTYPE, out);
  v->text = args->items[0]->text, v->i = '<';
  return NULL;
}

static const char *new_array(gr_pickle_calls *c, const gr_pickle *args, gr_pickle **out) {
  (void)args;
  make(c, GR_PICKLE_ARRAY, out);
  return NULL;
}

const char *gr_pickle_call(gr_pickle_calls *c, const char *name, const gr_pickle *args,
                           gr_pickle **out) {
  static const struct {
    const char *name;
    const char *(*run)(gr_pickle_calls *, const gr_pickle *args, gr_pickle **out);
  } known[] = {{"numpy.core.multiarray._reconstruct", new_array},
               {"numpy._core.multiarray._reconstruct", new_array},
               {"numpy.dtype", new_dtype},
               {"_codecs.encode", encode}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i].name)) return known[i].run(c, args, out);
  return NULL;
}

// ---- Arrays -------------------------------------------------------------------------------------

static const char *shape_of(const gr_pickle *shape, gr_array *a) {
  a->rank = 0, a->count = 1;
  if (shape->kind != GR_PICKLE_TUPLE || shape->n > GR_ARRAY_RANK)
    return "an array has no shape, or more than 6 dimensions";
  for (size_t i = 0; i < shape->n; i++) {
    int64_t size = shape->items[i]->i;
    if (shape->items[i]->kind != GR_PICKLE_INT || size < 0 ||
        __builtin_mul_overflow(a->count, size, &a->count))
      return "an array has an impossible shape";
    a->dim[a->rank++] = size;
  }
  return NULL;
}

static const char *element_of(const gr_pickle *dtype, gr_array *a) {
  static const struct {
    const char *name;
    gr_element element;
    size_t size;
  } known[] = {{"b1", GR_ELEMENT_BOOL, 1},  {"u1", GR_ELEMENT_UINT, 1}, {"i1", GR_ELEMENT_INT, 1},
               {"i2", GR_ELEMENT_INT, 2},   {"i4", GR_ELEMENT_INT, 4},  {"i8", GR_ELEMENT_INT, 8},
               {"f4", GR_ELEMENT_FLOAT, 4}, {"f8", GR_ELEMENT_FLOAT, 8}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(dtype->text, known[i].name)) {
      a->element = known[i].element, a->size = known[i].size;
      return NULL;
    }
  return "an array is not of numbers";
}

static void copy_swapped(const gr_array *a, unsigned char *to) {
  for (size_t i = 0; i < (size_t)a->count; i++)
    for (size_t b = 0; b < a->size; b++) to[i * a->size + b] = a->at[i * a->size + a->size - 1 - b];
}

// Copies values that are stored with the first axis varying fastest.
static void copy_rows_first(const gr_array *a, unsigned char *to) {
  int64_t step[GR_ARRAY_RANK] = {1};
  for (int k = 1; k < a->rank; k++) step[k] = step[k - 1] * a->dim[k - 1];
  for (int64_t i = 0; i < a->count; i++) {
    int64_t rest = i, at = 0;
    for (int k = a->rank - 1; k >= 0; rest /= a->dim[k--]) at += rest % a->dim[k] * step[k];
    memcpy(to + (size_t)i * a->size, a->at + (size_t)at * a->size, a->size);
  }
}

static const char *values_of(gr_pickle_calls *c, const gr_pickle *dtype, bool fortran,
                             const gr_pickle *values, gr_array *a) {
  const char *wrong = element_of(dtype, a);
  if (wrong) return wrong;
  if (values->kind != GR_PICKLE_BYTES || values->len % a->size ||
      (int64_t)(values->len / a->size) != a->count)
    return "an array has not as many values as its shape says";
  a->at = (const unsigned char *)values->text;
  if (dtype->i == '>' && a->size > 1) {
    unsigned char *swapped = room(c, values->len);
    if (!swapped) return "the same values are used again and again";
    copy_swapped(a, swapped);
    a->at = swapped;
  }
  if (!fortran || a->rank < 2) return NULL;
  unsigned char *rows = room(c, values->len);
  if (!rows) return "the same values are used again and again";
  copy_rows_first(a, rows);
  a->at = rows;
  return NULL;
}

// (version, shape, dtype, whether values are in Fortran order, values)
static const char *build_array(gr_pickle_calls *c, gr_pickle *v, const gr_pickle *state) {
  gr_array a = {.name = "array"};
  if (state->n != 5 || state->items[2]->kind != GR_PICKLE_DTYPE) return "an array has no dtype";
  const gr_pickle *dtype = state->items[2], *values = state->items[4];
  const char *wrong = shape_of(state->items[1], &a);
  if (wrong) return wrong;
  if (dtype->text[0] != 'O') {
    wrong = values_of(c, dtype, state->items[3]->i, values, &a);
  } else {
    if (values->kind != GR_PICKLE_LIST || (int64_t)values->n != a.count)
      return "an array of objects has not as many as its shape says";
    v->items = values->items, v->n = values->n;
  }
  a.file = c->file, v->array = a;
  return wrong;
}

const char *gr_pickle_build(gr_pickle_calls *c, gr_pickle *v, const gr_pickle *state) {
  if (v->kind == GR_PICKLE_ARRAY) return build_array(c, v, state);
  if (v->kind != GR_PICKLE_DTYPE || state->n < 2 || state->items[1]->kind != GR_PICKLE_TEXT)
    return "a state of something other than an array";
  v->i = state->items[1]->text[0];
  return NULL;
}
