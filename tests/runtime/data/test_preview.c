// test_preview.c - what the inputs of samples look like as JSON: rows, texts, series, images,
// videos; what is reduced, and the bound of its size.
#include <math.h>
#include "base/json.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

// A source of two samples with the field `shape`; value i of x is i % 100.
static gr_field_spec shape;
static int32_t length = 1;

static gr_status open_source(gr_source_request *r, void **out) {
  *out = r->arena;
  return GR_OK;
}
static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = shape;
  return 1;
}
static uint32_t count(const void *self) { return self ? 2 : 0; }
static gr_sample_info info(const void *self, uint32_t sample) {
  (void)self;
  return (gr_sample_info){
      .key = sample, .length = sample ? 2 * length : length, .split = (gr_split)sample};
}
static void fill(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *draw,
                 gr_row *out) {
  (void)self, (void)loaded, (void)draw, (void)sample;
  int64_t n = 1;
  for (int k = 0; k < shape.rank; k++) n *= shape.dim[k] > 0 ? shape.dim[k] : out->length;
  for (int64_t i = 0; i < n; i++)
    if (shape.dtype == GR_U8)
      ((uint8_t *)out->field[0])[i] = (uint8_t)(i % 100);
    else if (shape.dtype == GR_I32)
      ((int32_t *)out->field[0])[i] = (int32_t)(i % 100);
    else
      ((float *)out->field[0])[i] = i == 3 ? INFINITY : (float)(i % 100);
}
static int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  (void)self;
  out[0] = (gr_metadata){"vocab", 100};
  return 1;
}
static const gr_source_ops source = {.name = "shapes",
                                     .sample = "sample",
                                     .unit = "step",
                                     .open = open_source,
                                     .fields = fields,
                                     .count = count,
                                     .info = info,
                                     .fill = fill,
                                     .metadata = metadata};

static gr_arena *arena;

// The preview of the first sample, which is parsed to check it.
static const char *preview(gr_field_spec s, int32_t first_length) {
  gr_dataset_options o = {.n_buckets = 1, .workers = 1, .prefetch = 2};
  gr_dataset *d;
  gr_text t = gr_text_make(arena);
  const gr_json *v;
  gr_json_error why = {0};
  shape = s, length = first_length;
  MUST(gr_dataset_create(&source, NULL, &o, &d));
  MUST(gr_dataset_preview(d, 0, &t));
  gr_dataset_close(d);
  if (!t.len) return "";
  CHECK(gr_json_read(arena, t.chars, t.len, &v, &why), "%s in %.80s", why.why, t.chars);
  CHECK(t.len <= 24000, "%zu bytes", t.len);
  return t.chars;
}

static void starts(const char *json, const char *want) {
  CHECK(!strncmp(json, want, strlen(want)), "'%.100s' instead of '%s'", json, want);
}

static void small(void) {
  arena = gr_arena_create();
  starts(preview((gr_field_spec){.name = "x", .rank = 1, .dim = {3}}, 1),
         "{\"shape\": [3], \"values\": [0, 1, 2]}");
  starts(preview((gr_field_spec){.name = "x", .rank = 0}, 1), "{\"shape\": [1], \"values\": [0]}");
  starts(preview((gr_field_spec){.name = "y", .rank = 1, .dim = {3}}, 1), "");
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_I32, .rank = 1, .dim = {3}}, 1),
         "{\"text\": \"0 1 2\"}");
  // Bytes 0, 85, 170, 255.
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_U8, .rank = 2, .dim = {2, 2}}, 1),
         "{\"shape\": [2, 2], \"low\": 0.0, \"high\": 3.0, \"values\": \"AFWq/w==\"}");
  // An infinite value is the lowest.
  starts(preview((gr_field_spec){.name = "x", .rank = 2, .dim = {2, 2}}, 1),
         "{\"shape\": [2, 2], \"low\": 0.0, \"high\": 2.0, \"values\": \"AID/AA==\"}");
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_U8, .rank = 3, .dim = {1, 2, 2}}, 1),
         "{\"shape\": [2, 2], ");
  gr_arena_destroy(arena);
}

// Of a sample that is shorter than its bucket, its own steps.
static void padded(void) {
  arena = gr_arena_create();
  starts(preview((gr_field_spec){.name = "x", .rank = 2, .dim = {GR_DIM_LENGTH, 2}}, 5),
         "{\"shape\": [5, 2], ");
  gr_arena_destroy(arena);
}

static void large(void) {
  arena = gr_arena_create();
  starts(preview((gr_field_spec){.name = "x", .rank = 1, .dim = {1000}}, 1), "{\"shape\": [256], ");
  // 100 x 50 blocks of 3 x 6 pixels would be more: the longer side is reduced first.
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_U8, .rank = 3, .dim = {300, 100, 3}}, 1),
         "{\"shape\": [75, 50, 3], ");
  starts(preview((gr_field_spec){.name = "x", .rank = 2, .dim = {100000, 2}}, 1),
         "{\"shape\": [7693, 2], ");
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_U8, .rank = 4, .dim = {9, 8, 8, 3}}, 1),
         "{\"shape\": [4, 8, 8, 3], ");
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_U8, .rank = 3, .dim = {8, 8, 7}}, 1),
         "{\"shape\": [8, 8, 1], ");
  starts(preview((gr_field_spec){.name = "x", .dtype = GR_I32, .rank = 1, .dim = {100000}}, 1),
         "{\"text\": ");
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"small", small}, {"padded", padded}, {"large", large});
}
