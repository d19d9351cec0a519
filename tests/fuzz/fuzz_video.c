// fuzz_video.c - any bytes are a video or an error; every frame of a video can be taken, and a
// video is either open or holds nothing.
#include "fuzz_file.h"
#include "runtime/data/video/video.h"

const fuzz_budget fuzz_memory = {64 << 20, 1 << 16};

static unsigned sum(const gr_video *v, const gr_video_file *f) {
  unsigned all = 0;
  int64_t bytes = f->frames * v->height * v->width * v->channels;
  for (int64_t i = 0; i < bytes && i < 1 << 24; i++) all += f->pixels[i];
  return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file input = fuzz_file_make(data, size);
  gr_video v = {.list.arena = gr_arena_create(),
                .spec = {.frames = 2, .height = 16, .width = 12, .gray = size % 2}};
  gr_video_file f = {.name = "input", .path = input.path};
  gr_status s = gr_video_open_file(&v, &f);
  HOLDS(!s == (f.pixels != NULL));
  HOLDS(s || (f.frames >= v.spec.frames && sum(&v, &f) < UINT32_MAX));
  HOLDS(!s || (!f.decoded && !gr_status_loc(s).file));
  fuzz_print(s);
  gr_mapping_close(&f.map);
  free(f.decoded);
  fuzz_file_close(&input);
  gr_arena_destroy(v.list.arena);
  return 0;
}
