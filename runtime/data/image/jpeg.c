// jpeg.c - reads JPEG with libjpeg-turbo. Module "jpeg".
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>
#include "runtime/data/image/module.h"

// A progressive file may hold any number of scans of the whole image, each in a few bytes. Decoding
// takes time for each pixel of each scan: SCANNED of them for a byte of the file, beyond the first.
enum { MAX_SCANS = 200, SCANNED = 16 * GR_PICTURE_HUFFMAN, SCANNED_ANYWAY = 1 << 26 };

// libjpeg reports errors by a jump back to `run`, so everything that changes is in here.
typedef struct job {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  const char *path;
  size_t bytes;               // of the file
  const gr_picture_use *use;  // or NULL
  gr_picture *out;            // NULL: the head alone
  gr_status status;
  char why[JMSG_LENGTH_MAX];
  jmp_buf jump;
} job;

static void fail(j_common_ptr jpeg) {
  job *j = jpeg->client_data;
  jpeg->err->format_message(jpeg, j->why);
  longjmp(j->jump, 1);
}

// Damage that the library passes over: pixels would be invented. Other warnings are of what is
// unusual around the image.
static void warn(j_common_ptr jpeg, int level) {
  static const int harmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR,
                                 JWRN_TOO_MUCH_DATA};
  if (level >= 0) return;
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (jpeg->err->msg_code == harmless[i]) return;
  fail(jpeg);
}

static void note_progress(j_common_ptr jpeg) {
  job *j = jpeg->client_data;
  int64_t scans = j->jpeg.input_scan_number;
  int64_t pixels = (int64_t)j->jpeg.image_height * j->jpeg.image_width;
  bool many = scans * pixels > SCANNED_ANYWAY + SCANNED * (int64_t)j->bytes;
  if (scans <= MAX_SCANS && !many) return;
  if (many)
    snprintf(j->why, sizeof j->why, "%lld scans of so many pixels are too many for its size",
             (long long)scans);
  else
    snprintf(j->why, sizeof j->why, "it has more than %d scans", MAX_SCANS);
  longjmp(j->jump, 1);
}

static gr_status check_size(const job *j) {
  int64_t height = j->jpeg.image_height, width = j->jpeg.image_width;
  int factor = j->jpeg.arith_code ? GR_PICTURE_ARITHMETIC : GR_PICTURE_HUFFMAN;
  return gr_picture_check_bytes(j->path, height, width, height * width, factor, j->bytes);
}

// The inverse transform of a block can give 4 x 4, 2 x 2 or 1 pixel of its 8 x 8, each a mean of
// those it stands for, and in a fraction of the time.
static void choose_scale(job *j) {
  const gr_picture_use *u = j->use;
  struct jpeg_decompress_struct *d = &j->jpeg;
  unsigned by = 1;
  while (u && u->height > 0 && u->width > 0 && by < 8 && d->image_height >= 4 * by * u->height &&
         d->image_width >= 4 * by * u->width)
    by *= 2;
  d->scale_num = 1, d->scale_denom = by;
  jpeg_calc_output_dimensions(d);
}

static gr_status check_colours(job *j) {
  bool gray = j->jpeg.jpeg_color_space == JCS_GRAYSCALE;
  j->jpeg.out_color_space = gray ? JCS_GRAYSCALE : j->jpeg.num_components == 4 ? JCS_CMYK : JCS_RGB;
  choose_scale(j);
  return gr_picture_alloc(j->path, j->jpeg.output_height, j->jpeg.output_width, gray ? 1 : 3,
                          j->out);
}

// CMYK as nearly all files hold it, and as PIL reads all of them: 255 is no ink.
static void put_ink(const unsigned char *ink, int64_t n, unsigned char *rgb) {
  for (; n--; ink += 4, rgb += 3)
    for (int c = 0; c < 3; c++) rgb[c] = (unsigned char)((ink[c] * ink[3] + 127) / 255);
}

static void read_rows(job *j) {
  jpeg_read_header(&j->jpeg, TRUE);
  j->status = check_size(j);
  if (!j->status) j->status = check_colours(j);
  if (j->status || !j->out) return;
  jpeg_start_decompress(&j->jpeg);
  size_t row = (size_t)j->out->width * (size_t)j->out->channels;
  JSAMPARRAY ink =
      j->jpeg.mem->alloc_sarray((j_common_ptr)&j->jpeg, JPOOL_IMAGE, 4 * j->jpeg.output_width, 1);
  bool print = j->jpeg.out_color_space == JCS_CMYK;
  while (j->jpeg.output_scanline < j->jpeg.output_height) {
    JSAMPROW line = j->out->pixels + j->jpeg.output_scanline * row;
    jpeg_read_scanlines(&j->jpeg, print ? ink : &line, 1);
    if (print) put_ink(*ink, j->out->width, line);
  }
}

static void run(job *j, const unsigned char *bytes, size_t n) {
  if (setjmp(j->jump)) {
    j->status = gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the JPEG image '%s' cannot be read: %s", j->path, j->why),
        "copy or save it again");
    return;
  }
  jpeg_create_decompress(&j->jpeg);
  j->jpeg.client_data = j;  // which creating it has kept
  j->progress.progress_monitor = note_progress;
  j->jpeg.progress = &j->progress;
  jpeg_mem_src(&j->jpeg, bytes, (unsigned long)n);
  read_rows(j);
}

static gr_status decode(const char *path, const unsigned char *bytes, size_t n,
                        const gr_picture_use *use, gr_picture *out) {
  job *j = calloc(1, sizeof *j);
  if (!j) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read '%s'", path);
  j->path = path, j->bytes = n, j->use = use, j->out = out;
  j->jpeg.err = jpeg_std_error(&j->errors);
  j->jpeg.client_data = j;
  j->errors.error_exit = fail;
  j->errors.emit_message = warn;
  run(j, bytes, n);
  jpeg_destroy_decompress(&j->jpeg);
  gr_status s = j->status;
  free(j);
  return s;
}

const gr_picture_module gr_module = {decode};
