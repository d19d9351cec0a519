// fuzz_archive.c - any bytes are an archive of images and texts, or an error.
#include "fuzz_source.h"
#include "runtime/data/image/image.h"
#include "runtime/data/texts/texts.h"

const fuzz_budget fuzz_memory = {16 << 20, 1 << 16};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_image_spec images = {.path = fuzz_put("a.tar", data, size), .height = 4, .width = 4, .channels = 1};
  fuzz_source(&gr_source_image, &images);
  images.unlabelled = true;
  fuzz_source(&gr_source_image, &images);
  return 0;
}
