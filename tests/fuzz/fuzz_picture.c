// fuzz_picture.c - any bytes are an image or an error; an image can be converted and scaled.
#include "fuzz.h"
#include "runtime/data/image/picture.h"

// Deflate packs a byte of 1-bit pixels 1032 times, and each pixel may become 4 values.
const fuzz_budget fuzz_memory = {24 << 20, 64 << 10};

// A head is not to blame for an image that can be read.
static void try_head(const uint8_t *data, size_t size, const gr_picture_use *use, gr_status whole) {
  gr_status head = gr_picture_decode("input", data, size, use, NULL);
  HOLDS(!head || whole);
  gr_status_drop(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int channels[] = {1, 3, 4};
  static unsigned char out[9 * 7 * 4];
  static const gr_picture_use use = {3, 2};
  gr_picture p;
  gr_status s = gr_picture_decode("input", data, size, size % 2 ? &use : NULL, &p);
  try_head(data, size, size % 2 ? &use : NULL, s);
  HOLDS(s ? !p.pixels
          : p.pixels && p.height > 0 && p.width > 0 && p.channels > 0 && p.channels < 5);
  if (!s && p.height * p.width < 1 << 20) {  // larger ones take long
    s = gr_picture_convert("input", &p, channels[size % 3]);
    for (int how = 0; how < 3 && !s; how++)
      s = gr_picture_fit(&p, (gr_picture_resize)how, 9, 7, out);
    HOLDS(!s);
  }
  fuzz_print(s);
  free(p.pixels);
  return 0;
}
