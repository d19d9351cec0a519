// make_mp4.c - writes a small MP4 for the end-to-end tests:
//
//   make_mp4 OUT.mp4 FRAMES SIZE DX DY SEED    a bright square on noise, that moves by DX, DY a
//   frame make_mp4 OUT.mp4                           sound alone
//
// Exit codes: 77 where FFmpeg's libraries or their encoder are missing, 1 when writing fails.
#include <stdio.h>
#include <stdlib.h>
#include "tests/mp4.h"

typedef struct square {
  int size, x, y, dx, dy;
  unsigned seed;
} square;

static unsigned draw(unsigned *state) { return (*state = *state * 1664525U + 1013904223U) >> 8; }

static void paint(const void *scene, int t, unsigned char *luma, int stride) {
  const square *s = scene;
  unsigned state = s->seed * 7919U + (unsigned)t;
  int side = s->size / 4, x = s->x + s->dx * t, y = s->y + s->dy * t;
  for (int i = 0; i < s->size; i++)
    for (int k = 0; k < s->size; k++) {
      bool bright = k >= x && k < x + side && i >= y && i < y + side;
      luma[i * stride + k] = (unsigned char)((bright ? 180 : 40) + (int)(draw(&state) % 24));
    }
}

static bool write_square(char **argv) {
  square s = {.size = atoi(argv[3]), .dx = atoi(argv[4]), .dy = atoi(argv[5])};
  unsigned state = s.seed = (unsigned)atoi(argv[6]) + 1;
  s.x = s.size / 4 + (int)(draw(&state) % (unsigned)(s.size / 4));
  s.y = s.size / 4 + (int)(draw(&state) % (unsigned)(s.size / 4));
  return mp4_write(
      argv[1],
      &(mp4_scene){
          .height = s.size, .width = s.size, .frames = atoi(argv[2]), .paint = paint, .scene = &s});
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 7) return 2;
  if (!mp4_has_encoder()) {
    fprintf(stderr, "there is no FFmpeg, or none that encodes MPEG-4\n");
    return 77;
  }
  return (argc == 2 ? mp4_write_sound(argv[1]) : write_square(argv)) ? 0 : 1;
}
