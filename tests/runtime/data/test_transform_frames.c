// test_transform_frames.c - transforms of videos, whose frames are all changed alike; warps of time
// by their definition; and statistics of x as the transforms before leave it.
#include <math.h>
#include "runtime/data/transforms.h"
#include "tests/runtime/data/fixture.h"

enum { SEED = 7, NUMBER = 3 };

static gr_arena *arena;

static gr_transforms *open_list(const char *list, gr_dtype dtype, int rank, const int64_t *dim) {
  gr_conf *conf;
  gr_transforms *t;
  gr_field_spec x = {.name = "x", .dtype = dtype, .rank = rank};
  memcpy(x.dim, dim, (size_t)rank * sizeof *dim);
  MUST(gr_conf_parse(arena, "list.yaml", gr_arena_printf(arena, "%s", list), &conf));
  MUST(gr_transforms_open(arena, conf, 1, &x, 1, &t));
  return t;
}

// What the list makes of x.
static void *apply(const gr_transforms *t, const void *x, bool training) {
  gr_transform_row r;
  gr_row row = {.field = {GR_NEW(arena, char, gr_type_bytes(&t->items[t->n - 1].output))}};
  void *out = row.field[0];
  MUST(gr_transforms_begin(t, &row, &r));
  memcpy(row.field[0], x, gr_type_bytes(&t->source));
  gr_transforms_end(t, &(gr_draw){.seed = SEED, .number = NUMBER, .augment = training}, &r);
  return out;
}

// ---- Videos -------------------------------------------------------------------------------------

enum { FRAMES = 3, HEIGHT = 5, WIDTH = 4, CHANNELS = 2, FRAME = HEIGHT * WIDTH * CHANNELS };

static void fill_video(float *x) {
  for (int i = 0; i < FRAMES * FRAME; i++) x[i] = (float)((i * 37 + i / FRAME * 11) % 101);
}

// A frame of a video becomes what the same random numbers make of it as an image.
static void changes_frames_alike(const char *list, bool training) {
  float x[FRAMES * FRAME];
  fill_video(x);
  gr_transforms *video = open_list(list, GR_F32, 4, (int64_t[]){FRAMES, HEIGHT, WIDTH, CHANNELS});
  gr_transforms *image = open_list(list, GR_F32, 3, (int64_t[]){HEIGHT, WIDTH, CHANNELS});
  size_t bytes = gr_type_bytes(&image->items[image->n - 1].output);
  const char *all = apply(video, x, training), *first = NULL;
  CHECK(gr_type_bytes(&video->items[video->n - 1].output) == FRAMES * bytes, "%s: the size", list);
  for (int f = 0; f < FRAMES; f++) {
    const char *one = apply(image, x + f * FRAME, training);
    CHECK(!memcmp(all + (size_t)f * bytes, one, bytes), "%s: frame %d of a video is not its image",
          list, f);
    CHECK(!first || memcmp(first, one, bytes), "%s: frames differ", list);
    first = one;
  }
}

static void videos(void) {
  static const char *const lists[] = {"[{crop: 2}]",
                                      "[{crop: {size: [3, 4]}}]",
                                      "[{crop: {pad: 2, fill: 9}}]",
                                      "[{rotate: {degrees: 70, fill: 3}}]",
                                      "[{flip: {p: 1}}]",
                                      "[{flip: {p: 1, axis: height}}]",
                                      "[{brightness: 0.5}]",
                                      "[{normalize: {mean: [3, 4], std: [5, 6]}}]"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (int training = 0; training < 2; training++) changes_frames_alike(lists[i], training);
}

// A transform that gets no random numbers leaves x as it is, unless it says otherwise.
static void without_numbers(void) {
  static const char *const lists[] = {"[flip]", "[crop]", "[{rotate: 40}]", "[contrast]",
                                      "[brightness]"};
  float x[FRAMES * FRAME], y[FRAMES * FRAME];
  fill_video(x);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    gr_transforms *t = open_list(lists[i], GR_F32, 4, (int64_t[]){FRAMES, HEIGHT, WIDTH, CHANNELS});
    t->items[0].ops->apply(t->items[0].self, &t->source, x, y, NULL);
    CHECK(!memcmp(x, y, sizeof x), "%s changes samples that are not trained on", lists[i]);
  }
}

// ---- Warps of time ------------------------------------------------------------------------------

enum { MOMENTS = 40, KNOTS = 4 };

// The speed at a place from 0 to 1 of the series, on straight lines between the knots.
static double speed_at(const double *knot, double place) {
  double sum = 0;
  for (int k = 0; k < KNOTS; k++) sum += knot[k] * fmax(0, 1 - fabs(place * (KNOTS - 1) - k));
  return sum;
}

static void warps(void) {
  double knot[KNOTS], until[MOMENTS] = {0};
  float x[MOMENTS];
  gr_rng r = gr_rng_make(SEED, "transform:0:time_warp", 0);
  for (int k = 0; k < KNOTS; k++)
    knot[k] = fmax(0.1, 1 + 0.5 * gr_rng_normal(&r, ((uint64_t)NUMBER << 32) + (uint64_t)k));
  for (int i = 0; i < MOMENTS; i++) x[i] = (float)i;
  for (int i = 1; i < MOMENTS; i++)
    until[i] = until[i - 1] + speed_at(knot, (i - 0.5) / (MOMENTS - 1));
  const float *y =
      apply(open_list("[{time_warp: {std: 0.5, knots: 4}}]", GR_F32, 2, (int64_t[]){MOMENTS, 1}), x,
            true);
  for (int i = 0; i < MOMENTS; i++) {
    double want = until[i] / until[MOMENTS - 1] * (MOMENTS - 1);
    CHECK(fabs((double)y[i] - want) < 1e-4, "moment %d is at %g, not %g", i, (double)y[i], want);
  }
}

// ---- Statistics ---------------------------------------------------------------------------------

static void add(gr_transforms *t, int which, const void *x) {
  gr_transform_row r;
  gr_row row = {.field = {NULL}};
  MUST(gr_transforms_begin(t, &row, &r));
  memcpy(row.field[0], x, gr_type_bytes(&t->source));
  gr_transforms_add(t, which, &r);
  gr_transforms_drop(&r);
}

// Of [2, 1, 1] in the middle of [4, 1, 1], after a first normalization.
static gr_transforms *fitted(void) {
  static const float x[2][4] = {{100, 1, 3, 100}, {50, 5, 8, -50}};
  gr_transforms *t = open_list("[{crop: [2, 1]}, {normalize: {mean: 1, std: 3}}, normalize]",
                               GR_F32, 3, (int64_t[]){4, 1, 1});
  CHECK(gr_transforms_fitted(t, -1) == 2, "one has statistics");
  for (int i = 0; i < 2; i++) add(t, 2, x[i]);
  t->items[2].ops->finish(t->items[2].self);
  return t;
}

static void statistics_are_of_what_comes_in(void) {
  int n;
  gr_transforms *t = fitted();
  const double *data = t->items[2].ops->statistics(t->items[2].self, &n);
  double mean = 3.25 / 3,
         deviation = sqrt((3.25 * 3.25 + 1.25 * 1.25 + 0.75 * 0.75 + 3.75 * 3.75) / 4) / 3;
  CHECK(n == 2 && fabs(data[0] - mean) < 1e-6 && fabs(data[1] - deviation) < 1e-6,
        "%g and %g, not %g and %g", data[0], data[1], mean, deviation);
}

// A channel that has one value in all samples is divided by 1, however many values there are: a
// sum of them is off by more than their last bits.
static void statistics_of_constants(void) {
  enum { SIDE = 600 };
  int n;
  gr_transforms *t = open_list("[normalize]", GR_U8, 3, (int64_t[]){SIDE, SIDE, 1});
  unsigned char *x = GR_NEW(arena, unsigned char, SIDE *SIDE);
  memset(x, 226, SIDE * SIDE);
  for (int i = 0; i < 3; i++) add(t, 0, x);
  t->items[0].ops->finish(t->items[0].self);
  const double *data = t->items[0].ops->statistics(t->items[0].self, &n);
  CHECK(n == 2 && fabs(data[0] - 226 / 255.0) < 1e-15 && data[1] == 1, "%.17g and %.17g", data[0],
        data[1]);
}

static void statistics_are_saved_to_the_bit(void) {
  int n;
  gr_text saved = gr_text_make(arena);
  gr_transforms *t = fitted(),
                *other = open_list("[{crop: [2, 1]}, {normalize: {mean: 1, std: 3}}, normalize]",
                                   GR_F32, 3, (int64_t[]){4, 1, 1});
  gr_transforms_save(t, &saved);
  MUST(gr_transforms_restore(other, saved.chars));
  const double *data = t->items[2].ops->statistics(t->items[2].self, &n);
  CHECK(!memcmp(data, other->items[2].ops->statistics(other->items[2].self, &n), 2 * sizeof *data),
        "'%s' are other statistics", saved.chars);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed =
      RUN(argc, argv, {"videos", videos}, {"without_numbers", without_numbers}, {"warps", warps},
          {"statistics_are_of_what_comes_in", statistics_are_of_what_comes_in},
          {"statistics_of_constants", statistics_of_constants},
          {"statistics_are_saved_to_the_bit", statistics_are_saved_to_the_bit});
  gr_arena_destroy(arena);
  return failed;
}
