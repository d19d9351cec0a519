// image.c - generated images: circles, squares and triangles of any colour, size and place.
#include <math.h>
#include "base/output.h"
#include "cli/new/new.h"

enum { SIDE = GR_NEW_SIDE, KINDS = GR_NEW_SHAPES, COUNT = 60, TEST_COUNT = 10 };

const char *const gr_new_shapes[KINDS] = {"circle", "square", "triangle"};

static double between(const gr_rng *r, uint64_t i, double low, double high) {
  return low + (high - low) * gr_rng_uniform(r, i);
}

static bool is_inside(const gr_new_shape *s, double x, double y) {
  double dx = fabs(x - s->x), dy = y - s->y, r = s->radius;
  if (s->kind == 0) return dx * dx + dy * dy < r * r;
  if (s->kind == 1) return dx < 0.9 * r && fabs(dy) < 0.9 * r;
  return dy < r && dy > -r && dx < (dy + r) / 2;
}

gr_new_shape gr_new_draw_shape(const gr_rng *r, int kind) {
  gr_new_shape s = {.kind = kind, .radius = between(r, 0, 5, 9)};
  s.x = between(r, 1, s.radius, SIDE - s.radius), s.y = between(r, 2, s.radius, SIDE - s.radius);
  for (uint64_t c = 0; c < 3; c++) {
    s.color[c] = between(r, 3 + c, 110, 250);
    s.behind[c] = between(r, 6 + c, 0, 90);
  }
  return s;
}

static bool has_pixel(const gr_new_shape *s, uint64_t i) {
  return is_inside(s, (double)(i % SIDE) + 0.5, (double)(i / SIDE) + 0.5);
}

int gr_new_count_pixels(const gr_new_shape *s) {
  int n = 0;
  for (uint64_t i = 0; i < SIDE * SIDE; i++) n += has_pixel(s, i);
  return n;
}

// PPM and PGM, which need no library: a line of text, then bytes.
gr_status gr_new_put_shape(gr_arena *a, const gr_new_shape *s, const gr_rng *rng, const char *dir,
                           const char *masks, const char *name) {
  gr_text t = gr_text_make(a), mask = gr_text_make(a);
  gr_text_printf(&t, "P6 %d %d 255\n", SIDE, SIDE);
  gr_text_printf(&mask, "P5 %d %d 255\n", SIDE, SIDE);
  for (uint64_t i = 0; i < SIDE * SIDE; i++) {
    bool inside = has_pixel(s, i);
    for (uint64_t c = 0; c < 3; c++) {
      double v = (inside ? s->color : s->behind)[c] + between(rng, 100 + 3 * i + c, -25, 25);
      gr_text_putn(&t, &(char){(char)(unsigned char)fmax(0, fmin(255, v))}, 1);
    }
    gr_text_putn(&mask, &(char){(char)(inside ? 1 + s->kind : 0)}, 1);
  }
  if (masks)
    GR_TRY(gr_output_write(masks, gr_arena_printf(a, "%s.pgm", name), mask.chars, mask.len));
  return gr_output_write(dir, gr_arena_printf(a, "%s.ppm", name), t.chars, t.len);
}

gr_status gr_new_write_shape(gr_arena *a, const char *dir, const char *masks, const char *name,
                             int kind, uint32_t number) {
  gr_rng rng = gr_rng_make(number * KINDS + (uint32_t)kind, "shape", 0);
  gr_new_shape s = gr_new_draw_shape(&rng, kind);
  return gr_new_put_shape(a, &s, &rng, dir, masks, name);
}

// A folder for each kind, with n images.
static gr_status write_images(gr_arena *a, const char *dir, uint32_t first, uint32_t n) {
  for (int kind = 0; kind < KINDS; kind++) {
    const char *folder = gr_arena_printf(a, "%s/%s", dir, gr_new_shapes[kind]);
    GR_TRY(gr_make_dirs(folder));
    for (uint32_t i = first; i < first + n; i++) {
      gr_arena *scratch = gr_arena_create();
      gr_status s =
          gr_new_write_shape(scratch, folder, NULL, gr_arena_printf(scratch, "%02u", i), kind, i);
      GR_TRY(gr_arena_end(scratch, s));
    }
  }
  return GR_OK;
}

gr_status gr_new_image(gr_arena *a, const char *dir) {
  GR_TRY(write_images(a, gr_arena_printf(a, "%s/images", dir), 0, COUNT));
  return write_images(a, gr_arena_printf(a, "%s/test", dir), COUNT, TEST_COUNT);
}
