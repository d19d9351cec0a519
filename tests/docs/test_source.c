// test_source.c - the source of add-a-data-source.md, opened and read as a run does it.
#include "compose/schema/schema.h"
#include "runtime/data/loader.h"
#include "tests/check.h"

static gr_arena *arena;

static gr_status open_data(const char *yaml, gr_dataset **out) {
  gr_conf *conf;
  *out = NULL;
  GR_TRY(gr_conf_parse(arena, "waves.yaml", yaml, &conf));
  GR_TRY(gr_schema_check(arena, conf, true));
  return gr_dataset_open(gr_conf_find(conf, "data"), gr_schema_doc, out);
}

static const char yaml[] =
    "model: {graph: m.yaml}\n"
    "data: {source: waves, buckets: 3, waves: {count: 200, notes: 4}}\n";

// Rows of one loader, and of two that share each batch.
static uint64_t hash_rows(gr_dataset *d, int ranks, int workers, uint32_t *samples) {
  gr_loader *l[2];
  const gr_batch *b = NULL;
  uint64_t h = GR_HASH_START;
  *samples = 0;
  for (int r = 0; r < ranks; r++) {
    gr_loader_spec spec = {.batch = 16,
                           .rank = r,
                           .ranks = ranks,
                           .seed = 7,
                           .shuffle = true,
                           .augment = true,
                           .epochs = 2,
                           .workers = workers,
                           .prefetch = 2};
    MUST(gr_loader_open(d, &spec, &l[r]));
  }
  do
    for (int r = 0; r < ranks; r++) {
      MUST(gr_loader_next(l[r], &b));
      for (int row = 0; b && row < b->rows; row++) {
        size_t bytes = gr_type_bytes(&b->field[0].type) / (size_t)b->rows;
        h = gr_hash_bytes(h, (const char *)b->field[0].data + (size_t)row * bytes, bytes);
        *samples += b->sample[row] != GR_NO_SAMPLE;
      }
    }
  while (b);
  for (int r = 0; r < ranks; r++) gr_loader_close(l[r]);
  return h;
}

static void gives_batches(void) {
  gr_dataset *d;
  gr_metadata m[GR_MAX_METADATA];
  uint32_t one, two;
  MUST(open_data(yaml, &d));
  CHECK(gr_dataset_samples(d) == 200 && gr_dataset_buckets(d) == 3, "200 waves, 3 buckets");
  CHECK(gr_dataset_metadata(d, m) == 1 && m[0].value == 4, "4 classes");
  uint32_t train = gr_dataset_count(d, GR_SPLIT_TRAIN);
  CHECK(train > 150 && train < 200, "%u for training", train);
  uint64_t h = hash_rows(d, 1, 0, &one);
  CHECK(h == hash_rows(d, 2, 2, &two), "the same rows on any number of ranks and threads");
  CHECK(one == 2 * train && two == one, "%u and %u rows of %u", one, two, 2 * train);
  gr_text t = gr_text_make(arena);
  gr_dataset_inspect(d, 16, &t);
  CHECK(strstr(t.chars, "lengths (moments)") && strstr(t.chars, "classes (4)"), "%s", t.chars);
  gr_dataset_close(d);
}

// What the data set adds for a source with classes.
static void names_and_weighs_classes(void) {
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  MUST(open_data(yaml, &d));
  CHECK(!strcmp(gr_dataset_reference(arena, d, 6), "note 2"), "the class of a sample");
  gr_text t = gr_text_make(arena);
  gr_dataset_decode(d, (const int32_t[]){3, 0, 4}, 3, &t);
  CHECK(!strcmp(t.chars, "note 3 note 0 4"), "predictions: %s", t.chars);
  gr_dataset_json(d, &t);
  CHECK(strstr(t.chars, "\"class_names\": [\"note 0\", ") && strstr(t.chars, "{\"classes\": 4}"),
        "%s", t.chars);
  MUST(
      gr_loader_open(d, &(gr_loader_spec){.batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1}, &l));
  MUST(gr_loader_next(l, &b));
  CHECK(b->n_fields == 5 && !strcmp(b->field[2].name, "y") && b->field[2].type.dtype == GR_I32,
        "y");
  CHECK(!strcmp(b->field[3].name, "class_weight"), "weights");
  for (int row = 0; row < b->rows && b->sample[row] != GR_NO_SAMPLE; row++) {
    CHECK(((const int32_t *)b->field[2].data)[row] == (int32_t)(b->sample[row] % 4), "row %d", row);
    CHECK(((const float *)b->field[3].data)[row] > 0.5f, "the weight of row %d", row);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void checks_its_keys(void) {
  gr_dataset *d;
  gr_status s = open_data("model: {graph: m.yaml}\ndata: {source: waves, waves: {count: 0}}\n", &d);
  CHECK(gr_status_code(s) == GR_ERR_CONFIG && gr_status_loc(s).line == 2, "the schema refuses 0");
  gr_status_drop(s);
  s = open_data(
      "model: {graph: m.yaml}\ndata:\n  source: waves\n  waves:\n    notes: 9\n    count: 5\n", &d);
  CHECK(s && strstr(gr_status_text(s), "5 waves cannot have 9 notes"), "the source refuses it");
  CHECK(gr_status_loc(s).line == 5 && strstr(gr_status_hint(s), "different ones"), "at its place");
  gr_status_drop(s);
}

static void refuses_other_sources(void) {
  gr_dataset *d;
  gr_status s = open_data(
      "model: {graph: m.yaml}\ndata: {source: waves, waves: {notes: 4}, speech: {blank: 0}}\n", &d);
  CHECK(s && strstr(gr_status_text(s), "'data.speech.blank' is a key of the source 'speech'"),
        "a key of another source is refused");
  CHECK(gr_status_loc(s).line == 2 && strstr(gr_status_hint(s), "data.source=speech"),
        "at its place, with what to do");
  gr_status_drop(s);
  s = open_data("model: {graph: m.yaml}\ndata: {source: wave}\n", &d);
  CHECK(s && strstr(gr_status_hint(s), "did you mean 'waves'"), "the schema knows its name");
  gr_status_drop(s);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad =
      RUN(argc, argv, {"gives_batches", gives_batches},
          {"names_and_weighs_classes", names_and_weighs_classes},
          {"checks_its_keys", checks_its_keys}, {"refuses_other_sources", refuses_other_sources});
  gr_arena_destroy(arena);
  return bad;
}
