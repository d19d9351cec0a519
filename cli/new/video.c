// video.c - generated clips: a bright square that moves left, right, up or down, in noise.
#include "base/output.h"
#include "cli/new/new.h"

enum {
  FRAMES = 8,
  SIDE = 16,
  KINDS = 4,
  COUNT = 30,
  TEST_COUNT = 6,
  SQUARE = 4,
  BYTES = FRAMES * SIDE * SIDE
};

static const char *const kinds[KINDS] = {"left", "right", "up", "down"};

static void draw(const gr_rng *rng, int kind, char pixels[BYTES]) {
  static const int steps[KINDS][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  int x = (int)gr_rng_below(rng, 0, SIDE), y = (int)gr_rng_below(rng, 1, SIDE);
  int bright = 120 + (int)gr_rng_below(rng, 2, 100);
  for (int i = 0; i < BYTES; i++) {
    int frame = i / (SIDE * SIDE), row = i / SIDE % SIDE, column = i % SIDE;
    int from_x = (column - x - steps[kind][0] * frame + 8 * SIDE) % SIDE;
    int from_y = (row - y - steps[kind][1] * frame + 8 * SIDE) % SIDE;
    int noise = (int)gr_rng_below(rng, 10 + (uint64_t)i, 30);
    pixels[i] = (char)(unsigned char)((from_x < SQUARE && from_y < SQUARE ? bright : 20) + noise);
  }
}

// An array of bytes as NumPy writes it (numpy.lib.format, version 1.0): 128 bytes of head.
static gr_status write_clip(gr_arena *a, const char *dir, int kind, uint32_t number) {
  char pixels[BYTES];
  gr_rng rng = gr_rng_make(number * KINDS + (uint32_t)kind, "clip", 0);
  gr_text t = gr_text_make(a);
  gr_text_putn(&t, "\x93NUMPY\1\0v\0", 10);
  gr_text_printf(
      &t, "%-117s\n",
      gr_arena_printf(a, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d), }",
                      FRAMES, SIDE, SIDE));
  draw(&rng, kind, pixels);
  gr_text_putn(&t, pixels, sizeof pixels);
  return gr_output_write(dir, gr_arena_printf(a, "%s%02u.npy", kinds[kind], number), t.chars,
                         t.len);
}

// n clips of each kind, and the list of them.
static gr_status write_clips(gr_arena *a, const char *folder, const char *name, uint32_t first,
                             uint32_t n) {
  gr_text list = gr_text_make(a);
  gr_text_put(&list, "path,label\n");
  for (uint32_t i = first; i < first + n; i++)
    for (int kind = 0; kind < KINDS; kind++) {
      gr_text_printf(&list, "%s%02u.npy,%s\n", kinds[kind], i, kinds[kind]);
      GR_TRY(write_clip(a, folder, kind, i));
    }
  return gr_output_write(folder, name, list.chars, list.len);
}

gr_status gr_new_video(gr_arena *a, const char *dir) {
  const char *folder = gr_arena_printf(a, "%s/clips", dir);
  GR_TRY(gr_make_dirs(folder));
  GR_TRY(write_clips(a, folder, "list.csv", 0, COUNT));
  return write_clips(a, folder, "test.csv", COUNT, TEST_COUNT);
}
