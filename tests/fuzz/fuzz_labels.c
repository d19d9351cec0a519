// fuzz_labels.c - any bytes are a list of images and of videos with their labels, or an error; one
// image and one video of it are there.
#include "fuzz_source.h"
#include "runtime/data/image/image.h"
#include "runtime/data/video/video.h"

const fuzz_budget fuzz_memory = {8 << 20, 2000};

// NumPy's file of u8 [4, 2, 2].
static void put_video(void) {
  char file[128 + 16] = "\x93NUMPY\x01";
  char head[118];
  memset(head, ' ', sizeof head);
  memcpy(head, "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2, 2), }", 62);
  head[117] = '\n', file[8] = 118;
  memcpy(file + 10, head, sizeof head);
  for (int i = 0; i < 16; i++) file[128 + i] = (char)i;
  fuzz_put("a.npy", file, sizeof file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *list = fuzz_put("list.csv", data, size);
  fuzz_put_text("a.ppm", "P5 2 2 255\nabcd");
  put_video();
  gr_image_spec image = {.path = list, .height = 2, .width = 2, .channels = 1};
  gr_video_spec video = {.path = list, .frames = 2, .stride = 1};
  fuzz_source(&gr_source_image, &image);
  fuzz_source(&gr_source_video, &video);
  return 0;
}
