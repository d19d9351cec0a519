// test_series.c - samples of tables that are series: their channels as samples, averaged or one of
// them, of windows of rows and of arrays.
#include <math.h>
#include "runtime/data/loader.h"
#include "runtime/data/table/table.h"
#include "tests/runtime/data/fixture.h"

enum { ROWS = 4, CHANNELS = 2, MOMENTS = 3 };
static const char *paths[2], *features[2];

static float value(int row, int c, int i) { return (float)(100 * row + 10 * c + i * i); }

static gr_table_spec spec_of(int files, gr_table_channels channels) {
  return (gr_table_spec){
      .paths = {paths, files}, .label = "kind", .csv = gr_csv_fixed, .channels = channels};
}

// An array [rows, channels, moments], or [rows, moments] of channel 0, and its labels as CSV.
static gr_table_spec array(int rank, gr_table_channels channels) {
  char head[128 + 1];
  float values[ROWS * CHANNELS * MOMENTS];
  int n = 0;
  memcpy(head, "\x93NUMPY\x01\x00v\x00", 10);
  snprintf(head + 10, sizeof head - 10, "%-117s\n",
           rank == 3 ? "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2, 3), }"
                     : "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }");
  for (int row = 0; row < ROWS; row++)
    for (int c = 0; c < (rank == 3 ? CHANNELS : 1); c++)
      for (int i = 0; i < MOMENTS; i++) values[n++] = value(row, c, i);
  char bytes[128 + sizeof values];
  memcpy(bytes, head, 128), memcpy(bytes + 128, values, sizeof values);
  paths[0] = fixture_path("windows%d.npy", rank), paths[1] = fixture_path("kinds.csv");
  fixture_bytes(paths[0], bytes, 128 + (size_t)n * sizeof *values);
  fixture_text(paths[1], "kind\nb\na\nb\na\n");
  features[0] = rank == 3 ? "windows3" : "windows2";
  gr_table_spec s = spec_of(2, channels);
  s.features = (gr_names){features, 1};
  return s;
}

// The same as rows of moments, whose windows are the series.
static gr_table_spec rows(gr_table_channels channels) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "p,q,kind\n");
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < MOMENTS; i++)
      gr_text_printf(&t, "%g,%g,%s\n", (double)value(row, 0, i), (double)value(row, 1, i),
                     row % 2 ? "a" : "b");
  paths[0] = fixture_path("moments.csv");
  fixture_text(paths[0], t.chars);
  gr_arena_destroy(a);
  gr_table_spec s = spec_of(1, channels);
  s.window = MOMENTS;
  return s;
}

static gr_status open_series(const gr_table_spec *s, gr_dataset **out) {
  gr_dataset_options o = {.n_buckets = 1};
  return gr_dataset_create(&gr_source_table, s, &o, out);
}

static float expected(gr_table_channels mode, int sample, int i, int c) {
  if (mode == GR_CHANNELS_FLATTEN) return value(sample / CHANNELS, sample % CHANNELS, i);
  if (mode == GR_CHANNELS_AVERAGE) return (value(sample, 0, i) + value(sample, 1, i)) / 2;
  return value(sample, c, i);
}

static void check_mode(const gr_table_spec *s) {
  int samples = s->channels == GR_CHANNELS_FLATTEN ? ROWS * CHANNELS : ROWS;
  int channels = s->channels == GR_CHANNELS_ALL ? CHANNELS : 1;
  gr_dataset *d;
  const gr_batch *b;
  gr_loader *l;
  MUST(open_series(s, &d));
  MUST(
      gr_loader_open(d, &(gr_loader_spec){.batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1}, &l));
  MUST(gr_loader_next(l, &b));
  gr_type type, of_y;
  const float *x = fixture_field(b, "x", &type);
  const int32_t *y = fixture_field(b, "y", &of_y);
  CHECK(type.rank == 3 && type.dim[1] == MOMENTS && type.dim[2] == channels, "[n, t, c]");
  CHECK((int)b->samples == samples, "%u samples", b->samples);
  for (int k = 0; k < samples; k++) {
    int row = s->channels == GR_CHANNELS_FLATTEN ? k / CHANNELS : k;
    CHECK(y[k] == (row % 2 ? 0 : 1), "sample %d has the label of its window", k);
    for (int i = 0; i < MOMENTS * channels; i++)
      CHECK(fabsf(x[k * MOMENTS * channels + i] -
                  expected(s->channels, k, i / channels, i % channels)) < 1e-4f,
            "mode %d: sample %d has %g at %d", (int)s->channels, k,
            (double)x[k * MOMENTS * channels + i], i);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void modes(void) {
  for (gr_table_channels m = GR_CHANNELS_ALL; m <= GR_CHANNELS_FIRST; m++) {
    gr_table_spec of_array = array(3, m);
    check_mode(&of_array);
    gr_table_spec of_rows = rows(m);
    check_mode(&of_rows);
  }
}

static void names_of_channels(void) {
  gr_table_spec s = array(3, GR_CHANNELS_FLATTEN);
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  MUST(open_series(&s, &d));
  const char *name = gr_dataset_sample_name(a, d, 3);
  CHECK(strstr(name, "windows3.npy[1] channel 1"), "%s", name);
  gr_dataset_close(d);
  s = rows(GR_CHANNELS_FLATTEN);
  MUST(open_series(&s, &d));
  name = gr_dataset_sample_name(a, d, 3);
  CHECK(strstr(name, "moments.csv:5 q"), "%s", name);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

// A row [t] has one channel.
static void one_channel(void) {
  gr_table_spec s = array(2, GR_CHANNELS_FLATTEN);
  gr_dataset *d;
  MUST(open_series(&s, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == ROWS, "a sample for each row");
  gr_dataset_close(d);
}

// All channels of a window are in one split.
static void splits_are_of_windows(void) {
  gr_table_spec s = array(3, GR_CHANNELS_FLATTEN);
  gr_dataset_options o = {.n_buckets = 1, .validation_fraction = 0.5};
  gr_dataset *d;
  MUST(gr_dataset_create(&gr_source_table, &s, &o, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) % CHANNELS == 0, "%u samples",
        gr_dataset_count(d, GR_SPLIT_TRAIN));
  for (uint32_t i = 0; i < ROWS * CHANNELS; i++)
    CHECK(d->samples[i].split == d->samples[i / CHANNELS * CHANNELS].split, "sample %u", i);
  gr_dataset_close(d);
}

// A channel's mean and deviation are over all moments.
static void normalizes_channels(void) {
  gr_table_spec s = array(3, GR_CHANNELS_ALL);
  gr_dataset *d;
  const gr_batch *b;
  gr_loader *l;
  s.normalize = true;
  MUST(open_series(&s, &d));
  MUST(
      gr_loader_open(d, &(gr_loader_spec){.batch = 4, .ranks = 1, .epochs = 1, .prefetch = 1}, &l));
  MUST(gr_loader_next(l, &b));
  gr_type type;
  const float *x = fixture_field(b, "x", &type);
  for (int c = 0; c < CHANNELS; c++) {
    double mean = 0, squares = 0;
    for (int i = 0; i < ROWS * MOMENTS; i++) mean += (double)x[i * CHANNELS + c] / (ROWS * MOMENTS);
    for (int i = 0; i < ROWS * MOMENTS; i++)
      squares += pow((double)x[i * CHANNELS + c] - mean, 2) / (ROWS * MOMENTS);
    CHECK(fabs(mean) < 1e-5 && fabs(squares - 1) < 1e-4, "channel %d: %g, %g", c, mean, squares);
    CHECK(x[c] < x[CHANNELS + c], "moments keep their shape");
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void says_what_is_no_series(void) {
  gr_dataset *d;
  gr_table_spec s = array(3, GR_CHANNELS_FLATTEN);
  s.dtype = GR_I32;
  fixture_fails(open_series(&s, &d), GR_ERR_CONFIG, 0, "a series is f32, not i32");
  s = array(3, GR_CHANNELS_FLATTEN);
  s.window = 2;
  fixture_fails(open_series(&s, &d), GR_ERR_DATA, 0, "windows3.npy' have 2 dimensions");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"modes", modes}, {"names_of_channels", names_of_channels},
             {"one_channel", one_channel}, {"splits_are_of_windows", splits_are_of_windows},
             {"normalizes_channels", normalizes_channels},
             {"says_what_is_no_series", says_what_is_no_series});
}
