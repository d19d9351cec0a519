// small_images.h - a source of small images with known values, and what data.transforms make of
// them.
#pragma once
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

// ---- A source of small images -------------------------------------------------------------------

enum { H = 4, W = 3, C = 2, SIZE = H * W * C, COUNT = 57, FIRST_VALIDATION = 40 };

// Value i of a sample: bytes that repeat after many.
static inline int value_of(uint32_t sample, int i) {
  return (int)((sample * 37 + (uint32_t)i * 11) % 251);
}

static bool floats;  // x is f32, else u8
static int views;    // data.views; 0: 1

// gr_source_ops.open: there is nothing to open.
static inline gr_status open_source(gr_source_request *r, void **out) {
  *out = r->arena;
  return GR_OK;
}
// gr_source_ops.fields: a number and a picture.
static inline int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = (gr_field_spec){.name = "id", .dtype = GR_I32};
  out[1] =
      (gr_field_spec){.name = "x", .dtype = floats ? GR_F32 : GR_U8, .rank = 3, .dim = {H, W, C}};
  return 2;
}
// gr_source_ops.count.
static inline uint32_t count(const void *self) { return self ? COUNT : 0; }
// gr_source_ops.info: the first FIRST_VALIDATION samples train.
static inline gr_sample_info info(const void *self, uint32_t sample) {
  (void)self;
  return (gr_sample_info){
      .key = sample,
      .length = 1,
      .split = sample < FIRST_VALIDATION ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION};
}
// gr_source_ops.fill: the values of value_of.
static inline void fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                        const gr_draw *draw, gr_row *out) {
  (void)self, (void)loaded, (void)draw;
  *(int32_t *)out->field[0] = (int32_t)sample;
  for (int i = 0; i < SIZE; i++) {
    if (floats)
      ((float *)out->field[1])[i] = (float)value_of(sample, i) - 100;
    else
      ((uint8_t *)out->field[1])[i] = (uint8_t)value_of(sample, i);
  }
}
// gr_source_ops.metadata.
static inline int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  (void)self;
  out[0] = (gr_metadata){"classes", 5};
  out[1] = (gr_metadata){"height", H};
  return 2;
}
static const gr_source_ops source = {.name = "images",
                                     .sample = "image",
                                     .open = open_source,
                                     .fields = fields,
                                     .count = count,
                                     .info = info,
                                     .fill = fill,
                                     .metadata = metadata};

// ---- Opening ------------------------------------------------------------------------------------

static gr_arena *arena;

// Frees what open_list has read, after the data sets.
static inline void close_lists(void) { gr_arena_destroy(arena); }

// Opens the source with data.transforms, as YAML; fails as gr_dataset_create.
static inline gr_status open_list(const char *list, gr_dataset **out) {
  gr_conf *conf = NULL;
  if (!arena) arena = gr_arena_create();
  MUST(gr_conf_parse(arena, "list.yaml", gr_arena_printf(arena, "%s", list), &conf));
  gr_dataset_options o = {
      .n_buckets = 1, .workers = 1, .prefetch = 2, .transforms = conf, .views = views};
  return gr_dataset_create(&source, NULL, &o, out);
}

// What every row of an epoch holds: [sample][bytes of x]. x has at most MOST bytes.
enum { MOST = 1024 };
typedef struct epoch {
  unsigned char x[COUNT][MOST];
  gr_type type;
  int n;
} epoch;

// Reads an epoch of a split; the test fails where it cannot.
static inline void read_epoch(gr_dataset *d, gr_split split, bool augment, uint32_t number,
                              epoch *out) {
  gr_loader_spec spec = {.split = split,
                         .batch = 7,
                         .ranks = 1,
                         .seed = 3,
                         .shuffle = augment,
                         .augment = augment,
                         .epoch = number,
                         .epochs = 1,
                         .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  MUST(gr_loader_open(d, &spec, &l));
  for (out->n = 0;;) {
    MUST(gr_loader_next(l, &b));
    if (!b) break;
    const unsigned char *x = fixture_field(b, "x", &out->type);
    size_t bytes = gr_type_bytes(&out->type) / (size_t)b->rows;
    CHECK(bytes <= MOST, "%zu bytes", bytes);
    for (int i = 0; i < b->rows; i++) {
      if (b->sample[i] == GR_NO_SAMPLE) continue;
      memcpy(out->x[b->sample[i]], x + (size_t)i * bytes, bytes);
      out->n++;
    }
  }
  gr_loader_close(l);
}

// The index of an element [h, w, c] of a picture.
static inline int pixel_index(int h, int w, int c) { return (h * W + w) * C + c; }

// Whether x is the sample with one axis reversed: 'w', 'h', or ' ' for none.
static inline bool is_flipped(const unsigned char *x, uint32_t sample, char axis) {
  for (int h = 0; h < H; h++)
    for (int w = 0; w < W; w++)
      for (int c = 0; c < C; c++) {
        int mirrored = pixel_index(axis == 'h' ? H - 1 - h : h, axis == 'w' ? W - 1 - w : w, c);
        if (x[pixel_index(h, w, c)] != value_of(sample, mirrored)) return false;
      }
  return true;
}
