// idx.c - see idx.h.
#include "runtime/data/table/idx.h"
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "runtime/data/table/npz.h"

typedef struct type {
  int code;
  gr_element element;
  size_t size;
} type;

static const type types[] = {{0x08, GR_ELEMENT_UINT, 1},
                             {0x09, GR_ELEMENT_INT, 1},
                             {0x0b, GR_ELEMENT_INT, 2},
                             {0x0c, GR_ELEMENT_INT, 4},
                             {0x0d, GR_ELEMENT_FLOAT, 4},
                             {0x0e, GR_ELEMENT_FLOAT, 8},
                             {0}};

static gr_status broken(const char *path, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no IDX file: %s", path, what),
                 "copy or write it again: two zero bytes, a type, the number of dimensions, their "
                 "sizes, and the values, as MNIST's files have them");
}

// "data/train-images.idx3-ubyte.gz": "train-images".
const char *gr_idx_name(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t n = strlen(name) - strlen("-ubyte") - (gr_ends_in(path, ".gz") ? strlen(".gz") : 0);
  size_t stem = n;
  while (stem && strchr("0123456789", name[stem - 1])) stem--;
  bool says = stem > 4 && !strncasecmp(name + stem - 3, "idx", 3) && strchr("-._", name[stem - 4]);
  return gr_arena_strndup(a, name, says ? stem - 4 : n);
}

static uint32_t read_size(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void swap(gr_arena *a, gr_array *out) {
  size_t size = out->size, n = (size_t)out->count * size;
  unsigned char *copy = gr_arena_alloc(a, n + 1);
  for (size_t i = 0; i < n; i++) copy[i] = out->data[i / size * size + size - 1 - i % size];
  out->data = copy;
}

static gr_status parse(const char *path, const unsigned char *bytes, size_t n, gr_array *out) {
  if (n < 4 || bytes[0] || bytes[1]) return broken(path, "it does not begin with two zero bytes");
  const type *t = types;
  while (t->code && t->code != bytes[2]) t++;
  if (!t->code) return broken(path, "its third byte is no type");
  out->element = t->element, out->size = t->size, out->rank = bytes[3], out->count = 1;
  if (out->rank < 1 || out->rank > GR_ARRAY_RANK)
    return broken(path, "its fourth byte is no number of dimensions from 1 to 6");
  size_t head = 4 + 4 * (size_t)out->rank, need = 0;
  if (n < head) return broken(path, "it ends within the sizes of its dimensions");
  bool possible = true;
  for (int k = 0; k < out->rank; k++) {
    out->dim[k] = read_size(bytes + 4 + 4 * k);
    possible = possible && !__builtin_mul_overflow(out->count, out->dim[k], &out->count);
  }
  possible = possible && !__builtin_mul_overflow((size_t)out->count, out->size, &need);
  out->data = bytes + head;
  if (possible && need == n - head) return GR_OK;
  return broken(path, possible && need < n - head ? "it has bytes after its last value"
                                                  : "it is cut short, of the values that its sizes "
                                                    "promise");
}

gr_status gr_idx_parse(gr_arena *a, const char *file, const char *name, const unsigned char *bytes,
                       size_t n, gr_array *out) {
  static const unsigned char packed[] = {0x1f, 0x8b};  // RFC 1952
  *out = (gr_array){.file = file, .name = name};
  if (n > sizeof packed && !memcmp(bytes, packed, sizeof packed))
    GR_TRY(gr_npz_unpack_gzip(a, file, bytes, n, &bytes, &n));
  GR_TRY(parse(file, bytes, n, out));
  if (out->size > 1) swap(a, out);
  return GR_OK;
}
