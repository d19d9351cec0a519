// captions.c - generated images of shapes, each with a sentence that says what is seen.
#include "cli/new/new.h"

enum { COUNT = 600, TEST_COUNT = 100, COLORS = 3 };
static const char *const colors[COLORS] = {"red", "green", "blue"};

// What is drawn of an image, and where it is.
typedef struct scene {
  uint32_t kind, color;
  bool large, right, low;
} scene;

static scene draw_scene(const gr_rng *r) {
  uint32_t bits = gr_rng_u32(r, 0);
  return (scene){(uint32_t)gr_rng_below(r, 1, GR_NEW_SHAPES), (uint32_t)gr_rng_below(r, 2, COLORS),
                 bits & 1, bits >> 1 & 1, bits >> 2 & 1};
}

static gr_new_shape shape_of(const scene *s, const gr_rng *r) {
  double side = GR_NEW_SIDE;
  gr_new_shape shape = {.kind = (int)s->kind, .radius = s->large ? 6 : 4};
  shape.x = (s->right ? 0.73 : 0.27) * side + 2 * gr_rng_uniform(r, 3) - 1;
  shape.y = (s->low ? 0.73 : 0.27) * side + 2 * gr_rng_uniform(r, 4) - 1;
  for (uint32_t c = 0; c < 3; c++) {
    shape.color[c] = (c == s->color ? 200 : 30) + 50 * gr_rng_uniform(r, 5 + c);
    shape.behind[c] = 30 + 60 * gr_rng_uniform(r, 8 + c);
  }
  return shape;
}

static gr_status write_row(gr_arena *a, const char *dir, uint64_t row, gr_text *list) {
  gr_rng rng = gr_rng_make(row, "captions", 0);
  scene s = draw_scene(&rng);
  gr_new_shape shape = shape_of(&s, &rng);
  const char *name = gr_arena_printf(a, "%03llu", (unsigned long long)row);
  gr_text_printf(list, "images/%s.ppm,a %s %s %s at the %s %s\n", name, s.large ? "large" : "small",
                 colors[s.color], gr_new_shapes[s.kind], s.low ? "bottom" : "top",
                 s.right ? "right" : "left");
  return gr_new_put_shape(a, &shape, &rng, dir, NULL, name);
}

gr_status gr_new_captions(gr_arena *a, const char *dir) {
  const gr_new_images images = {"path,caption\n", write_row, COUNT, TEST_COUNT};
  return gr_new_write_images(a, dir, &images);
}
