// npy.c - see npy.h.
#include "runtime/data/npy.h"
#include <string.h>

// The header is a Python dictionary literal: {'descr': '<f8', 'fortran_order': False,
// 'shape': (3, 4), }. The reader never reads past `end`.
typedef struct reader {
  const char *file, *name;
  const unsigned char *start, *cursor, *end;
  char descr[32];
  bool fortran, has_descr, has_order, has_shape;
  int rank;
  int64_t dim[GR_ARRAY_RANK];
} reader;

static gr_status broken(const reader *r, const char *what) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' is no array of NumPy: at byte %zu, %s",
              r->name, r->file, (size_t)(r->cursor - r->start), what),
      "write it again with numpy.save or numpy.savez");
}

static void skip_blanks(reader *r) {
  while (r->cursor < r->end && strchr(" \t\n", *r->cursor) && *r->cursor) r->cursor++;
}

static bool take_char(reader *r, char c) {
  skip_blanks(r);
  if (r->cursor == r->end || *r->cursor != (unsigned char)c) return false;
  r->cursor++;
  return true;
}

static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  skip_blanks(r);
  if ((size_t)(r->end - r->cursor) < n || memcmp(r->cursor, word, n)) return false;
  r->cursor += n;
  return true;
}

static bool take_text(reader *r, char *out, size_t size) {
  size_t n = 0;
  skip_blanks(r);
  if (r->cursor == r->end || (*r->cursor != '\'' && *r->cursor != '"')) return false;
  unsigned char quote = *r->cursor++;
  while (r->cursor < r->end && *r->cursor != quote && n + 1 < size) out[n++] = (char)*r->cursor++;
  out[n] = 0;
  return take_char(r, (char)quote);
}

static bool take_int(reader *r, int64_t *out) {
  const unsigned char *start;
  skip_blanks(r);
  start = r->cursor, *out = 0;
  for (; r->cursor < r->end && *r->cursor >= '0' && *r->cursor <= '9'; r->cursor++)
    if (__builtin_mul_overflow(*out, 10, out) ||
        __builtin_add_overflow(*out, *r->cursor - '0', out))
      return false;
  return r->cursor > start;
}

static gr_status read_shape(reader *r) {
  if (!take_char(r, '(')) return broken(r, "a '(' should begin the shape");
  for (r->rank = 0; !take_char(r, ')');) {
    if (r->rank == GR_ARRAY_RANK)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' has more than %d dimensions", r->name,
                     r->file, GR_ARRAY_RANK);
    if (!take_int(r, &r->dim[r->rank++])) return broken(r, "a size of the shape should follow");
    if (take_char(r, ',')) continue;
    if (!take_char(r, ')')) return broken(r, "a ')' should end the shape");
    break;
  }
  return GR_OK;
}

static gr_status read_member(reader *r) {
  char key[32];
  if (!take_text(r, key, sizeof key) || !take_char(r, ':')) return broken(r, "a key should follow");
  if (!strcmp(key, "descr")) {
    r->has_descr = true;
    if (take_text(r, r->descr, sizeof r->descr)) return GR_OK;
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' is an array of records, which are not read",
                r->name, r->file),
        "save each of its fields as an array of its own, with numpy.savez");
  }
  if (!strcmp(key, "fortran_order")) {
    r->has_order = true, r->fortran = take_word(r, "True");
    return r->fortran || take_word(r, "False") ? GR_OK : broken(r, "True or False should follow");
  }
  r->has_shape = true;
  return strcmp(key, "shape") ? broken(r, "a key that is unknown") : read_shape(r);
}

static gr_status read_members(reader *r) {
  if (!take_char(r, '{')) return broken(r, "a '{' should begin the header");
  while (!take_char(r, '}')) {
    GR_TRY(read_member(r));
    if (take_char(r, ',')) continue;
    if (!take_char(r, '}')) return broken(r, "a '}' should end the header");
    break;
  }
  skip_blanks(r);
  if (r->cursor < r->end) return broken(r, "nothing should follow the header's '}'");
  if (r->has_descr && r->has_order && r->has_shape) return GR_OK;
  return broken(r, "the header lacks descr, fortran_order or shape");
}

// Locates the header from the preamble: a magic string, a version, and the header's length.
static gr_status find_header(reader *r, const unsigned char *bytes, size_t n) {
  static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  r->start = r->cursor = bytes, r->end = bytes + n;
  if (n < 10 || memcmp(bytes, magic, sizeof magic)) return broken(r, "it does not begin as one");
  int major = bytes[6];
  r->cursor = bytes + 6;
  if (major < 1 || major > 3) return broken(r, "the version is not 1, 2 or 3");
  size_t head = major == 1 ? 10 : 12, length = 0;
  if (n < head) return broken(r, "the file ends in the header");
  for (size_t i = 8; i < head; i++) length |= (size_t)bytes[i] << 8 * (i - 8);
  r->cursor = bytes + 8;
  if (length > n - head) return broken(r, "the file ends in the header");
  r->cursor = bytes + head, r->end = r->cursor + length;
  return GR_OK;
}

static bool read_size(const char *digits, size_t *out) {
  *out = 0;
  for (const char *c = digits; *c; c++) {
    if (*c < '0' || *c > '9' || *out > 1 << 20) return false;
    *out = *out * 10 + (size_t)(*c - '0');
  }
  return *digits != 0;
}

// "<f4", "|u1", "=i8", "<U12": byte order, type letter and number of bytes (of code points for U).
static gr_status read_descr(const reader *r, gr_array *out) {
  static const char letters[] = "buifSU";
  const char *d = r->descr, *kind = d[0] && d[1] ? strchr(letters, d[1]) : NULL;
  bool ok = kind && strchr("<>|=", *d) && read_size(d + 2, &out->size);
  out->element = kind ? (gr_element)(kind - letters) : GR_ELEMENT_BOOL;
  size_t s = out->size;
  if (ok && out->element == GR_ELEMENT_BOOL) ok = s == 1;
  if (ok && out->element == GR_ELEMENT_FLOAT) ok = s == 2 || s == 4 || s == 8;
  if (ok && gr_array_is_whole(out)) ok = s == 1 || s == 2 || s == 4 || s == 8;
  if (ok && out->element == GR_ELEMENT_CODES) out->size = 4 * s;
  if (ok) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' is of type '%s', which is not read",
                         r->name, r->file, d),
                 "integers, floats of up to 8 bytes, booleans and texts are: save x.astype('f4')");
}

// Copies values that are big-endian or in Fortran order: rows first, little-endian.
static void rearrange(gr_arena *arena, const reader *r, gr_array *a) {
  int64_t index[GR_ARRAY_RANK] = {0}, stride[GR_ARRAY_RANK], step = 1;
  size_t size = a->size, unit = a->element == GR_ELEMENT_CODES ? 4 : size;
  bool swap = *r->descr == '>' && a->element != GR_ELEMENT_BYTES && unit > 1;
  if (!swap && !r->fortran) return;
  for (int k = 0; k < a->rank; k++) stride[k] = step, step *= a->dim[k];
  for (int k = a->rank - 1; k >= 0 && !r->fortran; k--)
    stride[k] = k == a->rank - 1 ? 1 : stride[k + 1] * a->dim[k + 1];
  unsigned char *copy = gr_arena_alloc(arena, (size_t)a->count * size), *target = copy;
  for (int64_t i = 0; i < a->count; i++, target += size) {
    const unsigned char *source = a->data;
    for (int k = 0; k < a->rank; k++) source += (size_t)(index[k] * stride[k]) * size;
    for (size_t b = 0; b < size; b++)
      target[b] = source[swap ? b / unit * unit + unit - 1 - b % unit : b];
    for (int k = a->rank - 1; k >= 0 && ++index[k] == a->dim[k]; k--) index[k] = 0;
  }
  a->data = copy;
}

static gr_status read_head(reader *r, const unsigned char *bytes, size_t n, gr_array *out) {
  const char *file = r->file, *name = r->name;
  *out = (gr_array){.file = file, .name = name, .count = 1};
  GR_TRY(find_header(r, bytes, n));
  GR_TRY(read_members(r));
  GR_TRY(read_descr(r, out));
  out->data = r->end, out->rank = r->rank;
  bool possible = true;
  for (int i = 0; i < r->rank; i++) {
    out->dim[i] = r->dim[i];
    possible = possible && !__builtin_mul_overflow(out->count, r->dim[i], &out->count);
  }
  size_t there = n - (size_t)(r->end - bytes), need = 0;
  if (!out->size) possible = possible && out->count <= (int64_t)there;  // texts of no length
  possible = possible && !__builtin_mul_overflow((size_t)out->count, out->size, &need);
  if (possible && need == there) return GR_OK;
  if (possible && need < there)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' has %zu bytes after its last value", name,
                   file, there - need);
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "'%s' in '%s' is cut short: its header promises more than the %zu bytes of "
              "values that are there",
              name, file, there),
      "copy or write the file again");
}

gr_status gr_npy_head(const char *file, const char *name, const unsigned char *bytes, size_t n,
                      gr_array *out) {
  reader r = {.file = file, .name = name};
  GR_TRY(read_head(&r, bytes, n, out));
  out->data = NULL;
  return GR_OK;
}

gr_status gr_npy_parse(gr_arena *arena, const char *file, const char *name,
                       const unsigned char *bytes, size_t n, gr_array *out) {
  reader r = {.file = file, .name = name};
  GR_TRY(read_head(&r, bytes, n, out));
  rearrange(arena, &r, out);
  return GR_OK;
}
