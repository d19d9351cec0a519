// test_series_transforms.c - what transforms make of series: plots against NumPy's and Pillow's
// (tests/golden/make_lineplot.py), and noise, scales and warps by what they keep.
#include <math.h>
#include <stdlib.h>
#include "runtime/data/transforms.h"
#include "tests/runtime/data/fixture.h"

// ---- One transform of one sample ----------------------------------------------------------------

static gr_arena *arena;

typedef struct one {
  gr_type source, result;
  const gr_transforms *list;
} one;

static gr_status open_one(const char *list, gr_dtype dtype, int64_t moments, int64_t channels,
                          one *out) {
  gr_conf *conf;
  gr_transforms *t;
  if (!arena) arena = gr_arena_create();
  gr_field_spec x = {.name = "x", .dtype = dtype, .rank = 2, .dim = {moments, channels}};
  MUST(gr_conf_parse(arena, "list.yaml", gr_arena_printf(arena, "%s", list), &conf));
  GR_TRY(gr_transforms_open(arena, conf, 1, &x, 1, &t));
  *out = (one){.source = t->source, .result = t->items[t->n - 1].output, .list = t};
  return GR_OK;
}

// The x that the list makes of a training sample, or of another one.
static void *apply(const one *o, const float *x, uint32_t number, bool training) {
  gr_transform_row r;
  gr_row row = {.field = {GR_NEW(arena, char, gr_type_bytes(&o->result))}};
  void *out = row.field[0];
  MUST(gr_transforms_begin(o->list, &row, &r));
  memcpy(row.field[0], x, gr_type_bytes(&o->source));
  gr_transforms_end(o->list, &(gr_draw){.seed = 7, .number = number, .augment = training}, &r);
  return out;
}

// ---- Plots --------------------------------------------------------------------------------------

static void check_plot(const char *line, FILE *f) {
  int height, width, offset = 0, used, n = 0, wrong = 0;
  float x[512];
  CHECK(sscanf(line, "plot %d %d%n", &height, &width, &offset) == 2, "%s", line);
  while (n < 512 && sscanf(line + offset, "%f%n", &x[n], &used) == 1) offset += used, n++;
  one o;
  MUST(open_one(gr_arena_printf(arena, "[{lineplot: {size: [%d, %d]}}]", height, width), GR_F32, n,
                1, &o));
  CHECK(o.result.dtype == GR_U8 && o.result.rank == 3 && o.result.dim[0] == height &&
            o.result.dim[1] == width && o.result.dim[2] == 3,
        "bytes of an image");
  const unsigned char *image = apply(&o, x, 0, false);
  char row[1024];
  for (int i = 0; i < height && fgets(row, sizeof row, f); i++)
    for (int k = 0; k < width; k++) {
      const unsigned char *p = image + 3 * (i * width + k);
      bool blue = !p[0] && !p[1] && p[2] == 255, white = p[0] == 255 && p[1] == 255 && p[2] == 255;
      CHECK(blue || white, "a pixel of [%d, %d, %d]", p[0], p[1], p[2]);
      wrong += blue != (row[k] == '#');
    }
  CHECK(!wrong, "%d pixels of the plot of %d values on %d x %d differ", wrong, n, height, width);
}

static void plots_as_pillow(void) {
  FILE *f = fopen(GR_GOLDEN "/lineplot.txt", "r");
  char *line = NULL;
  size_t room = 0;
  int cases = 0;
  CHECK(f, "no " GR_GOLDEN "/lineplot.txt");
  if (!arena) arena = gr_arena_create();
  while (f && getline(&line, &room, f) > 0) check_plot(line, f), cases++;
  CHECK(cases == 7, "%d cases", cases);
  free(line);
  if (f) fclose(f);
}

enum { H = 20, W = 30, PLOT = H * W * 3, MOMENTS = 50, CHANNELS = 3 };

// The plot of one channel, of numbers that are `stride` apart.
static const unsigned char *plot_of(const char *list, const float *x, int stride) {
  float *alone = GR_NEW(arena, float, MOMENTS);
  one o;
  for (int i = 0; i < MOMENTS; i++) alone[i] = x[i * stride];
  MUST(open_one(list, GR_F32, MOMENTS, 1, &o));
  return apply(&o, alone, 0, false);
}

static void plots_channels(void) {
  float x[MOMENTS * CHANNELS];
  one o;
  for (int i = 0; i < MOMENTS; i++)
    x[3 * i] = sinf(0.3f * (float)i), x[3 * i + 1] = (float)(i % 7) - 9, x[3 * i + 2] = 5;
  MUST(open_one("[{lineplot: {size: [20, 30]}}]", GR_F32, MOMENTS, CHANNELS, &o));
  CHECK(o.result.dim[0] == CHANNELS * H && o.result.dim[1] == W && o.result.dim[2] == 3,
        "one plot below another");
  const unsigned char *image = apply(&o, x, 0, false);
  for (int c = 0; c < CHANNELS; c++)
    CHECK(
        !memcmp(image + c * PLOT, plot_of("[{lineplot: {size: [20, 30]}}]", x + c, CHANNELS), PLOT),
        "the plot of channel %d is that of the channel alone", c);
}

// In a range, a plot is that of the values between its ends, some of which are at them.
static void plots_a_range(void) {
  static const char in_range[] = "[{lineplot: {size: [20, 30], range: [-2, 1.5]}}]";
  float beyond[MOMENTS], cut[MOMENTS], within[MOMENTS];
  for (int i = 0; i < MOMENTS; i++) {
    beyond[i] = 3 * sinf(0.3f * (float)i);
    cut[i] = fminf(fmaxf(beyond[i], -2), 1.5f), within[i] = 0.2f * sinf(0.3f * (float)i);
  }
  const unsigned char *plain = plot_of("[{lineplot: {size: [20, 30]}}]", cut, 1);
  CHECK(!memcmp(plot_of(in_range, beyond, 1), plain, PLOT),
        "values beyond the range are at its end");
  CHECK(!memcmp(plot_of(in_range, cut, 1), plain, PLOT), "the range is from end to end");
  const unsigned char *low = plot_of(in_range, within, 1);
  int blue = 0, elsewhere = 0;
  for (int i = 0; i < H * W; i++)
    if (!low[3 * i]) blue++, elsewhere += i / W < 6 || i / W > 11;
  CHECK(blue >= W && !elsewhere, "%d pixels, %d beyond the middle", blue, elsewhere);
}

// ---- Augmentations ------------------------------------------------------------------------------

enum { T = 400, C = 2 };
static float wave[T * C];

static void make_wave(void) {
  for (int i = 0; i < T; i++)
    wave[C * i] = (float)sin(0.05 * i) + 2, wave[C * i + 1] = (float)i / T;
}

// In training it changes x, by other numbers for each sample; elsewhere it does not.
static const float *check_random(const one *o) {
  const float *a = apply(o, wave, 1, true), *b = apply(o, wave, 1, true),
              *c = apply(o, wave, 2, true), *d = apply(o, wave, 1, false);
  CHECK(!memcmp(a, b, sizeof wave), "a sample of a seed is always the same");
  CHECK(memcmp(a, c, sizeof wave), "samples are changed differently");
  CHECK(!memcmp(d, wave, sizeof wave), "evaluation sees x as it is");
  return a;
}

static void jitters(void) {
  one o;
  double mean = 0, squares = 0;
  make_wave();
  MUST(open_one("[{jitter: 0.3}]", GR_F32, T, C, &o));
  const float *x = check_random(&o);
  for (int i = 0; i < T * C; i++) {
    double d = (double)x[i] - (double)wave[i];
    mean += d / (T * C), squares += d * d / (T * C);
  }
  CHECK(fabs(mean) < 0.05 && fabs(sqrt(squares) - 0.3) < 0.03, "%g, %g", mean, sqrt(squares));
}

static void scales(void) {
  one o;
  make_wave();
  MUST(open_one("[{scaling: {std: 0.2}}]", GR_F32, T, C, &o));
  const float *x = check_random(&o);
  for (int c = 0; c < C; c++)
    for (int i = 1; i < T; i++)
      CHECK(fabsf(x[C * i + c] / wave[C * i + c] - x[C + c] / wave[C + c]) < 1e-4f,
            "one factor for a channel");
  CHECK(fabsf(x[C] / wave[C] - x[C + 1] / wave[C + 1]) > 1e-4f, "another for the other");
}

static void warps_time(void) {
  one o;
  double largest = 0;
  make_wave();
  MUST(open_one("[{time_warp: {std: 0.4, knots: 5}}]", GR_F32, T, C, &o));
  const float *x = check_random(&o);
  CHECK(!memcmp(x, wave, C * sizeof *x), "the start stays");
  CHECK(!memcmp(x + C * (T - 1), wave + C * (T - 1), C * sizeof *x), "the end stays");
  for (int i = 1; i < T; i++) {  // channel 1 is the time, channel 0 is a function of it
    double moment = (double)x[C * i + 1] * T;
    CHECK(x[C * i + 1] >= x[C * (i - 1) + 1], "time does not go back at %d", i);
    CHECK(fabs((double)x[C * i] - sin(0.05 * moment) - 2) < 1e-3, "channels are warped alike at %d",
          i);
    largest = check_worse(largest, fabs(moment - i));
  }
  CHECK(largest > 2 && isfinite(largest), "moments move by %g", largest);
}

// ---- Errors -------------------------------------------------------------------------------------

static void says_what_it_is_not_for(void) {
  one o;
  fixture_fails(open_one("[lineplot]", GR_U8, 9, 2, &o), GR_ERR_CONFIG, 1,
                "the transform 'lineplot' is for f32");
  fixture_fails(open_one("[{lineplot: {range: [3, 3]}}]", GR_F32, 9, 2, &o), GR_ERR_CONFIG, 1,
                "the range of lineplot is from 3 to 3");
  fixture_fails(open_one("[{lineplot: 4096}]", GR_F32, 9, 6, &o), GR_ERR_CONFIG, 1,
                "lineplot would make 6 plots");
  fixture_fails(open_one("[{jitter: 1}]", GR_U8, 9, 2, &o), GR_ERR_CONFIG, 1,
                "the transform 'jitter' is for f32");
  fixture_fails(open_one("[{lineplot: 1}]", GR_F32, 9, 1, &o), GR_ERR_CONFIG, 1, "'size'");
  fixture_fails(open_one("[lineplot, lineplot]", GR_F32, 9, 1, &o), GR_ERR_CONFIG, 1,
                "'lineplot' is not for an x");
}

int main(int argc, char **argv) {
  int failed =
      RUN(argc, argv, {"plots_as_pillow", plots_as_pillow}, {"plots_channels", plots_channels},
          {"plots_a_range", plots_a_range}, {"jitters", jitters}, {"scales", scales},
          {"warps_time", warps_time}, {"says_what_it_is_not_for", says_what_it_is_not_for});
  gr_arena_destroy(arena);
  return failed;
}
