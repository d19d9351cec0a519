// read.c - reads image files of any kind; see picture.h.
#include <stdlib.h>
#include <string.h>
#include "base/module.h"
#include "runtime/data/image/module.h"
#include "runtime/data/image/picture.h"
#include "runtime/data/mapping.h"
#include "runtime/data/npy.h"

gr_status gr_picture_alloc(const char *path, int64_t height, int64_t width, int channels,
                           gr_picture *out) {
  bool sides = height >= 1 && width >= 1 && height <= GR_PICTURE_SIDE && width <= GR_PICTURE_SIDE;
  if (!sides || channels < 1 || channels > 4 || height * width * channels > GR_PICTURE_VALUES)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "the image '%s' declares %lld x %lld pixels of %d channel%s", path,
                (long long)width, (long long)height, channels, channels == 1 ? "" : "s"),
        "%d pixels a side and 2^28 values of 1 to 4 channels are the most: scale it down, "
        "or copy it again if its head is damaged",
        GR_PICTURE_SIDE);
  if (!out) return GR_OK;
  size_t bytes = (size_t)(height * width) * (size_t)channels;
  *out = (gr_picture){height, width, channels, calloc(bytes + GR_PICTURE_SPARE, 1)};
  if (out->pixels) return GR_OK;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the image '%s' (%zu bytes)", path, bytes);
}

gr_status gr_picture_check_bytes(const char *path, int64_t height, int64_t width, int64_t packed,
                                 int factor, size_t n) {
  if (packed / factor <= (int64_t)n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "the image '%s' declares %lld x %lld pixels, and its %zu bytes cannot "
                         "hold so many",
                         path, (long long)width, (long long)height, n),
                 "its head is damaged, or the file is cut short: copy or save it again");
}

// ---- Modules ------------------------------------------------------------------------------------

// A kind of file, by its first bytes: read here, or by the module of a library.
typedef struct kind {
  const char *start;
  gr_status (*read)(const char *path, const unsigned char *bytes, size_t n, const gr_picture_use *,
                    gr_picture *);
  const char *module;  // NULL: this build has none
  const char *name, *library;
} kind;

static gr_status by_module(const kind *k, const char *path, const unsigned char *bytes, size_t n,
                           const gr_picture_use *use, gr_picture *out) {
  const gr_picture_module *module;
  if (!k->module)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "'%s' is a %s image, which this build does not read", path, k->name),
                   "build with %s, or convert images to PPM", k->library);
  GR_TRY(gr_module_open(k->module, &module));
  return module->decode(path, bytes, n, use, out);
}

#ifdef GR_HAVE_PNG
#define PNG_MODULE "png"
#else
#define PNG_MODULE NULL
#endif
#ifdef GR_HAVE_JPEG
#define JPEG_MODULE "jpeg"
#else
#define JPEG_MODULE NULL
#endif

// ---- PPM and PGM --------------------------------------------------------------------------------

typedef struct text {
  const unsigned char *cursor, *end;
} text;

static bool is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A number of the header, after blanks and comments; -1: there is none.
static int64_t take_number(text *t) {
  for (; t->cursor < t->end && (is_blank(*t->cursor) || *t->cursor == '#'); t->cursor++)
    if (*t->cursor == '#')
      while (t->cursor + 1 < t->end && *t->cursor != '\n') t->cursor++;
  int64_t n = -1;
  for (; t->cursor < t->end && *t->cursor >= '0' && *t->cursor <= '9' && n < INT32_MAX; t->cursor++)
    n = (n < 0 ? 0 : n) * 10 + (*t->cursor - '0');
  return n;
}

static gr_status read_ppm(const char *path, const unsigned char *bytes, size_t n,
                          const gr_picture_use *use, gr_picture *out) {
  text t = {bytes + 2, bytes + n};
  (void)use;
  int channels = bytes[1] == '6' ? 3 : 1;
  int64_t width = take_number(&t), height = take_number(&t), most = take_number(&t);
  if (most != 255 || t.cursor == t.end || !is_blank(*t.cursor))
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "the image '%s' has no head of width, height and 255 as PPM and PGM do", path),
        "values of 8 bits are read, of the binary kinds P5 and P6");
  t.cursor++;
  bool sides = width >= 0 && height >= 0 && width <= GR_PICTURE_SIDE && height <= GR_PICTURE_SIDE;
  int64_t want = sides ? width * height * channels : 0;  // gr_picture_alloc refuses others
  int64_t there = (int64_t)(t.end - t.cursor);
  if (there < want && want <= GR_PICTURE_VALUES)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "the image '%s' is cut short: it declares %lld bytes of pixels and has %lld", path,
                (long long)want, (long long)there),
        "copy or save it again");
  GR_TRY(gr_picture_alloc(path, height, width, channels, out));
  if (out) memcpy(out->pixels, t.cursor, (size_t)want);
  return GR_OK;
}

// ---- NumPy --------------------------------------------------------------------------------------

static gr_status copy_array(const char *path, const gr_array *a, gr_picture *out) {
  if (a->element != GR_ELEMENT_UINT || a->size != 1 || a->rank < 2 || a->rank > 3)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the image '%s' is of %s with %d dimension%s",
                           path, gr_array_type(a), a->rank, a->rank == 1 ? "" : "s"),
                   "images are u8 of [height, width] or [height, width, channels]");
  int64_t channels = a->rank == 3 ? a->dim[2] : 1;
  GR_TRY(gr_picture_alloc(path, a->dim[0], a->dim[1], channels > 4 ? 5 : (int)channels, out));
  if (out) memcpy(out->pixels, a->data, (size_t)a->count);
  return GR_OK;
}

static gr_status read_npy(const char *path, const unsigned char *bytes, size_t n,
                          const gr_picture_use *use, gr_picture *out) {
  (void)use;
  gr_arena *a = gr_arena_create();
  gr_array array;
  gr_status s = out ? gr_npy_parse(a, path, "image", bytes, n, &array)
                    : gr_npy_head(path, "image", bytes, n, &array);
  s = s ? s : copy_array(path, &array, out);
  return gr_arena_end(a, s);
}

// ---- Any ----------------------------------------------------------------------------------------

static gr_status read_any(const char *path, const unsigned char *bytes, size_t n,
                          const gr_picture_use *use, gr_picture *out) {
  static const kind kinds[] = {
      {"\x89PNG", NULL, PNG_MODULE, "PNG", "libpng (libpng-dev)"},
      {"\xff\xd8\xff", NULL, JPEG_MODULE, "JPEG", "libjpeg-turbo (libjpeg62-turbo-dev)"},
      {"P5", read_ppm},
      {"P6", read_ppm},
      {"\x93NUMPY", read_npy}};
  if (!n) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the image '%s' is an empty file", path);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const kind *k = &kinds[i];
    size_t head = strlen(k->start);
    if (n < head || memcmp(bytes, k->start, head) != 0) continue;
    return k->read ? k->read(path, bytes, n, use, out) : by_module(k, path, bytes, n, use, out);
  }
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no image that is read", path),
                 "PNG, JPEG, PPM, PGM and .npy are, whatever a file's name");
}

gr_status gr_picture_decode(const char *path, const unsigned char *bytes, size_t n,
                            const gr_picture_use *use, gr_picture *out) {
  if (!out) return read_any(path, bytes, n, use, NULL);
  *out = (gr_picture){0};
  gr_status s = read_any(path, bytes, n, use, out);
  if (!s) return GR_OK;
  free(out->pixels);
  *out = (gr_picture){0};
  return s;
}

gr_status gr_picture_probe(const char *path, const gr_picture_use *use) {
  gr_mapping map;
  GR_TRY(gr_mapping_open(path, &map));
  gr_mapping_expect_few(&map);
  return gr_mapping_end(&map, gr_picture_decode(path, map.data, map.bytes, use, NULL));
}

gr_status gr_picture_read(const char *path, const gr_picture_use *use, gr_picture *out) {
  gr_mapping map;
  *out = (gr_picture){0};
  GR_TRY(gr_mapping_open(path, &map));
  gr_status s = gr_mapping_end(&map, gr_picture_decode(path, map.data, map.bytes, use, out));
  if (!s) return GR_OK;
  free(out->pixels);
  *out = (gr_picture){0};
  return s;
}
