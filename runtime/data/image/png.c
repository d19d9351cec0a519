// png.c - reads PNG with libpng. Module "png".
#include <png.h>
#include <setjmp.h>
#include <string.h>
#include "runtime/data/image/module.h"

// libpng reports errors by a jump back to `decode`, so everything that changes is in here.
typedef struct job {
  const char *path;
  const unsigned char *cursor;
  size_t left, bytes;  // of the file: not read yet, and all
  bool values;         // gr_picture_use
  gr_picture *out;     // NULL: the head alone
  png_structp png;
  png_infop info;
  gr_status status;
  char why[160];
  jmp_buf jump;
} job;

static void fail(png_structp png, const char *message) {
  job *j = png_get_error_ptr(png);
  snprintf(j->why, sizeof j->why, "%s", message);
  longjmp(j->jump, 1);
}

// What is wrong with a chunk that pixels do not depend on.
static void warn(png_structp png, const char *message) { (void)png, (void)message; }

static void read_bytes(png_structp png, png_bytep out, size_t n) {
  job *j = png_get_io_ptr(png);
  if (n > j->left) png_error(png, "the file is cut short");
  memcpy(out, j->cursor, n);
  j->cursor += n, j->left -= n;
}

// Pixels before they are expanded: bytes that the file has to hold, packed by deflate.
static void check_pixels(job *j) {
  int64_t row = (int64_t)png_get_rowbytes(j->png, j->info) + 1;
  j->status = gr_picture_check_bytes(
      j->path, png_get_image_height(j->png, j->info), png_get_image_width(j->png, j->info),
      row * png_get_image_height(j->png, j->info), GR_PICTURE_DEFLATE, j->bytes);
}

// Texts, profiles and what else pixels do not depend on is passed over, and no chunk may be larger
// than the file: libpng would allocate as much as a chunk declares.
static void limit_chunks(job *j) {
  png_set_user_limits(j->png, GR_PICTURE_SIDE, GR_PICTURE_SIDE);
  png_set_chunk_malloc_max(j->png, j->bytes);
  png_set_keep_unknown_chunks(j->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
}

// Values of 8 bits: palettes are looked up, the upper byte of 16 bits is taken, and transparent
// colours become alpha. PIL does the same, but for gray of 16 bits, of which its convert() makes
// 255 of all that is above: images of microscopes and X-rays would be white.
static void read_header(job *j) {
  png_set_read_fn(j->png, j, read_bytes);
  limit_chunks(j);
  png_read_info(j->png, j->info);
  check_pixels(j);
  if (j->values && png_get_bit_depth(j->png, j->info) > 8)
    png_error(j->png, "values of 16 bits are no classes");
  if (j->values)
    png_set_packing(j->png), png_set_strip_alpha(j->png);
  else
    png_set_expand(j->png), png_set_strip_16(j->png);
}

static void read_rows(job *j) {
  int passes = png_set_interlace_handling(j->png);
  png_read_update_info(j->png, j->info);
  j->status = gr_picture_alloc(j->path, png_get_image_height(j->png, j->info),
                               png_get_image_width(j->png, j->info),
                               png_get_channels(j->png, j->info), j->out);
  if (j->status || !j->out) return;
  size_t row = (size_t)j->out->width * (size_t)j->out->channels;
  for (int k = 0; k < passes; k++)
    for (int64_t i = 0; i < j->out->height; i++)
      png_read_row(j->png, j->out->pixels + (size_t)i * row, NULL);
}

static void run(job *j) {
  if (setjmp(j->jump)) {
    j->status = gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the PNG image '%s' cannot be read: %s", j->path, j->why),
        "copy or save it again");
    return;
  }
  j->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, j, fail, warn);
  j->info = j->png ? png_create_info_struct(j->png) : NULL;
  if (!j->info) {
    j->status = gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read '%s'", j->path);
    return;
  }
  read_header(j);
  if (!j->status) read_rows(j);
}

static gr_status decode(const char *path, const unsigned char *bytes, size_t n,
                        const gr_picture_use *use, gr_picture *out) {
  job j = {.path = path,
           .cursor = bytes,
           .left = n,
           .bytes = n,
           .values = use && use->values,
           .out = out};
  run(&j);
  png_destroy_read_struct(&j.png, &j.info, NULL);
  return j.status;
}

const gr_picture_module gr_module = {decode};
