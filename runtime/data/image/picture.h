// picture.h - reads image files: PNG and JPEG by modules, PPM, PGM and NumPy's arrays here; and
// fits what they hold to one size and one number of channels.
//
// All arithmetic is in integers, so that an image gives the same bytes on every machine.
#pragma once
#include "base/status.h"

enum { GR_PICTURE_SIDE = 65535 };             // pixels, at most
#define GR_PICTURE_VALUES (INT64_C(1) << 28)  // of an image, at most

typedef struct gr_picture {
  int64_t height, width;
  int channels;  // 1: gray, 2: gray and alpha, 3: RGB, 4: RGB and alpha
  // malloc: [height, width, channels], then GR_PICTURE_SPARE bytes that may be read
  // (gr_picture_fit)
  unsigned char *pixels;
} gr_picture;
enum { GR_PICTURE_SPARE = 4 };

typedef enum gr_picture_resize {
  GR_PICTURE_STRETCH,  // the whole image, whatever its proportions
  GR_PICTURE_COVER,    // the largest part in the middle that has the proportions of the result
  GR_PICTURE_CROP,     // the middle, not scaled; zeros where the image is smaller
} gr_picture_resize;

// The size that an image is scaled to. A JPEG of at least 4 times as many pixels a side is decoded
// at 1/2, 1/4 or 1/8 of its size, but no smaller than twice this; NULL or zeros: as it is.
typedef struct gr_picture_use {
  int64_t height, width;
  bool values;  // of a mask: a PNG's values as they are, not those of its palette, nor of 8 bits
} gr_picture_use;

// Reads a file, whose first bytes say what it is. Fails with GR_ERR_DATA, which names the file and
// what is wrong; GR_ERR_LAUNCH if a module cannot be loaded. The caller frees out->at.
GR_MUST_USE gr_status gr_picture_read(const char *path, const gr_picture_use *, gr_picture *out);
// The same of a file's bytes; `path` is for messages. out NULL: only the head is read and checked.
GR_MUST_USE gr_status gr_picture_decode(const char *path, const unsigned char *bytes, size_t n,
                                        const gr_picture_use *, gr_picture *out);
// What is wrong with a file by its head, of which few bytes are read: the error of gr_picture_read
// for the same use.
GR_MUST_USE gr_status gr_picture_probe(const char *path, const gr_picture_use *);
// Checks a size that a file declares, and allocates out->at for it; NULL: only checks it.
GR_MUST_USE gr_status gr_picture_alloc(const char *path, int64_t height, int64_t width,
                                       int channels, gr_picture *out);

// What a byte of a file stands for at most, in values or pixels of the image.
enum {
  GR_PICTURE_DEFLATE = 1040,        // zlib's "Maximum Compression Factor" is 1032
  GR_PICTURE_HUFFMAN = 512,         // JPEG: pixels, of blocks of 64 that take a bit each
  GR_PICTURE_ARITHMETIC = 1 << 15,  // JPEG: the same, a limit of our own
};
// GR_ERR_DATA if `n` bytes of a file cannot hold `packed` bytes, with each of them standing for at
// most `factor`: checked before memory is allocated for an image of the size that a file declares.
GR_MUST_USE gr_status gr_picture_check_bytes(const char *path, int64_t height, int64_t width,
                                             int64_t packed, int factor, size_t n);

// Converts in place to `channels` (1, 3 or 4): gray is the luma of ITU-R BT.601; alpha that is not
// in the result is dropped, and one that is not in the file is 255.
GR_MUST_USE gr_status gr_picture_convert(const char *path, gr_picture *, int channels);
// Writes the image as [height, width, channels of the image]. Scaling is bilinear with
// antialiasing: each value is the mean, weighted by a triangle, of those that it covers. Of RGB and
// alpha, what is scaled are colours multiplied by alpha: those of the image are changed in place.
GR_MUST_USE gr_status gr_picture_fit(gr_picture *, gr_picture_resize, int64_t height, int64_t width,
                                     unsigned char *out);
// The other way: what an image of that size became, a picture of its proportions, becomes as large
// as the image was; `outside` is what the picture does not show. `classes`: values are not mixed,
// of one channel. Pixels are replaced, by malloc.
GR_MUST_USE gr_status gr_picture_back(gr_picture *, gr_picture_resize, bool classes, int64_t height,
                                      int64_t width, unsigned char outside);
// The same of values that are not mixed, of one channel: each is the nearest one, as Pillow's
// Image.NEAREST takes it; `outside` where the image is smaller.
void gr_picture_nearest(const gr_picture *, gr_picture_resize, int64_t height, int64_t width,
                        unsigned char outside, unsigned char *out);
