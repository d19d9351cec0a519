// test_sampler.c - data.sampler: how often an epoch has each sample, on any number of ranks and
// after a resume; and what is wrong with weights.
#include <math.h>
#include <stdlib.h>
#include "base/rng.h"
#include "tests/runtime/data/tally.h"

// ---- A source of three classes ------------------------------------------------------------------

enum { COUNT = 103, TRAIN = 100, CLASSES = 3 };

static bool has_weights, has_labels = true;

// 60 samples of a, 30 of b, 10 of c; the rest is for validation.
static int class_of(uint32_t sample) { return sample < 60 ? 0 : sample < 90 ? 1 : 2; }

static gr_status open_source(gr_source_request *r, void **out) {
  *out = r->arena;
  return GR_OK;
}
static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = (gr_field_spec){.name = "x", .dtype = GR_F32};
  return 1;
}
static uint32_t count(const void *self) { return self ? COUNT : 0; }
static gr_sample_info info(const void *self, uint32_t sample) {
  (void)self;
  return (gr_sample_info){.key = sample,
                          .length = 1,
                          .split = sample < TRAIN ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION,
                          .label = has_labels ? class_of(sample) + 1 : 0,
                          .has_weight = has_weights,
                          .weight = (float)(sample % 4)};
}
// A number of the sample's own, another one each time that it is drawn.
static void fill(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *draw,
                 gr_row *out) {
  (void)self, (void)loaded, (void)sample;
  gr_rng r = gr_rng_make(draw->seed, "test", draw->epoch);
  *(float *)out->field[0] = (float)gr_rng_uniform(&r, draw->number);
}
static int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  (void)self;
  out[0] = (gr_metadata){"classes", CLASSES};
  return has_labels;
}
static void decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  (void)self;
  for (int64_t i = 0; i < n; i++) gr_text_put(out, (const char *[]){"ant", "bee", "cow"}[ids[i]]);
}
static const gr_source_ops source = {.name = "letters",
                                     .sample = "letter",
                                     .open = open_source,
                                     .fields = fields,
                                     .count = count,
                                     .info = info,
                                     .fill = fill,
                                     .metadata = metadata,
                                     .decode = decode};

static gr_arena *arena;

static gr_status open_set(gr_sampler_kind kind, const char *weights, gr_dataset **out) {
  gr_dataset_options o = {.n_buckets = 1, .prefetch = 2, .sampler = kind};
  if (!arena) arena = gr_arena_create();
  if (weights) MUST(gr_conf_parse(arena, "weights.yaml", weights, &o.sampler_weights));
  return gr_dataset_create(&source, NULL, &o, out);
}

// ---- Epochs -------------------------------------------------------------------------------------

typedef struct epoch {
  int of[COUNT], of_class[CLASSES], n;
  float x[COUNT][COUNT];  // the numbers of each time
} epoch;

static void read_epoch(gr_dataset *d, uint32_t number, epoch *out) {
  gr_loader_spec spec = {.batch = 7,
                         .ranks = 1,
                         .seed = 9,
                         .shuffle = true,
                         .augment = true,
                         .epoch = number,
                         .epochs = 1,
                         .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  memset(out, 0, sizeof *out);
  MUST(gr_loader_open(d, &spec, &l));
  for (;;) {
    MUST(gr_loader_next(l, &b));
    if (!b) break;
    for (int i = 0; i < b->rows; i++) {
      uint32_t s = b->sample[i];
      if (s == GR_NO_SAMPLE) continue;
      CHECK(s < TRAIN, "sample %u is for validation", s);
      out->x[s][out->of[s]++] = ((const float *)fixture_field(b, "x", &t))[i];
      out->of_class[class_of(s)]++;
      out->n++;
    }
  }
  gr_loader_close(l);
}

static void balances(void) {
  static epoch e[3];
  gr_dataset *d;
  int more[CLASSES] = {0}, others = 0;
  MUST(open_set(GR_SAMPLER_BALANCED, NULL, &d));
  for (uint32_t k = 0; k < 3; k++) {
    read_epoch(d, k, &e[k]);
    CHECK(e[k].n == TRAIN, "%d samples", e[k].n);
    for (int c = 0; c < CLASSES; c++) {
      CHECK(e[k].of_class[c] == 33 || e[k].of_class[c] == 34, "%d", e[k].of_class[c]);
      more[c] += e[k].of_class[c] == 34;
    }
    for (int s = 0; s < TRAIN; s++) {
      int least = s < 60 ? 0 : s < 90 ? 1 : 3;
      CHECK(e[k].of[s] >= least && e[k].of[s] <= least + 1, "sample %d is there %d times", s,
            e[k].of[s]);
      others += k && e[k].of[s] != e[0].of[s];
    }
  }
  for (int c = 0; c < CLASSES; c++)
    CHECK(more[c] == 1, "class %d has one more %d times", c, more[c]);
  CHECK(others > 40, "other samples in each epoch: %d", others);
  gr_dataset_close(d);
}

// What is random about a sample differs each time that an epoch has it.
static void draws_repeats(void) {
  static epoch e;
  gr_dataset *d;
  MUST(open_set(GR_SAMPLER_BALANCED, NULL, &d));
  read_epoch(d, 0, &e);
  for (int s = 90; s < TRAIN; s++)
    CHECK(e.x[s][0] != e.x[s][1] && e.x[s][1] != e.x[s][2] && e.x[s][0] != e.x[s][2],
          "sample %d is the same again", s);
  gr_dataset_close(d);
}

static void weighs_classes(void) {
  static epoch e;
  gr_dataset *d;
  int of[CLASSES] = {0};
  MUST(open_set(GR_SAMPLER_WEIGHTED, "{bee: 0, cow: 12}", &d));
  for (uint32_t k = 0; k < 50; k++) {
    read_epoch(d, k, &e);
    CHECK(e.n == TRAIN, "%d samples", e.n);
    for (int c = 0; c < CLASSES; c++) of[c] += e.of_class[c];
  }
  // 60 of weight 1, 30 of 0 and 10 of 12: a third is of the first class; deviation 33
  CHECK(abs(of[0] - 1667) < 150 && of[1] == 0, "%d and %d of 5000", of[0], of[1]);
  gr_dataset_close(d);
}

static void weighs_samples(void) {
  static epoch e;
  gr_dataset *d;
  int of[4] = {0};
  has_weights = true;
  MUST(open_set(GR_SAMPLER_WEIGHTED, NULL, &d));
  for (uint32_t k = 0; k < 60; k++) {
    read_epoch(d, k, &e);
    for (int s = 0; s < TRAIN; s++) of[s % 4] += e.of[s];
  }
  for (int w = 0; w < 4; w++)  // in proportion to 0, 1, 2 and 3
    CHECK(abs(of[w] - 1000 * w) < (w ? 160 : 1), "%d of 6000 have weight %d", of[w], w);
  gr_dataset_close(d);
  has_weights = false;
}

// A class that is repeated has its samples in another order each time.
static void shuffles_repeats(void) {
  gr_dataset *d;
  uint32_t drawn[TRAIN];
  int same = 0;
  MUST(open_set(GR_SAMPLER_BALANCED, NULL, &d));
  gr_sampler_draw(d->sampler, 9, 0, TRAIN, drawn);
  const uint32_t *rare = drawn + TRAIN - 33;  // of the 10 of class c, three times and three more
  for (int i = 0; i < 33; i++) CHECK(rare[i] >= 90, "sample %u is not of class c", rare[i]);
  for (int i = 0; i < 20; i++) same += rare[i] == rare[i + 10];
  CHECK(same < 15, "%d of 20 are at the place that they had before", same);
  gr_dataset_close(d);
}

// Both kinds of weights are multiplied, and each epoch has other samples.
static void weighs_both(void) {
  static epoch e[2];
  gr_dataset *d;
  int of[CLASSES][4] = {{0}}, differ = 0, all = 0;
  has_weights = true;
  MUST(open_set(GR_SAMPLER_WEIGHTED, "{ant: 1, bee: 0, cow: 6}", &d));
  for (uint32_t k = 0; k < 60; k++) {
    read_epoch(d, k, &e[k % 2]);
    for (int s = 0; s < TRAIN; s++) {
      of[class_of((uint32_t)s)][s % 4] += e[k % 2].of[s];
      differ += k && e[0].of[s] != e[1].of[s];
    }
  }
  has_weights = false;
  gr_dataset_close(d);
  // 15 samples of a of each weight weigh 90, those of c (3 of weight 2 and 3, 2 of 0 and 1) 6 x 17.
  for (int c = 0; c < CLASSES; c++)
    for (int w = 0; w < 4; w++) {
      double want = 6000.0 / 192 * w * (c == 0 ? 15 : c == 1 ? 0 : w > 1 ? 18 : 12);
      all += of[c][w];
      CHECK(fabs(of[c][w] - want) <= 5 * sqrt(want), "%d of class %d and weight %d, not %g",
            of[c][w], c, w, want);
    }
  CHECK(all == 6000 && differ > 59 * 20, "%d samples, %d differ between epochs", all, differ);
}

static void same_on_ranks(void) {
  static tally one, three, rest;
  gr_dataset *d;
  for (int kind = GR_SAMPLER_BALANCED; kind <= GR_SAMPLER_WEIGHTED; kind++) {
    gr_loader_spec spec = plain();
    one.n = three.n = rest.n = 0;
    MUST(open_set(kind, kind == GR_SAMPLER_WEIGHTED ? "{cow: 3}" : NULL, &d));
    read_all(d, spec, 1, &one);
    spec.workers = 3;
    read_all(d, spec, 3, &three);
    int k = 0;
    for (int i = 0; i < three.n; i++)
      if (i % 6 != 5 && k < one.n) {
        CHECK(one.rows[k].hash == three.rows[i].hash, "row %d differs", k);
        k++;
      }
    CHECK(k == one.n && k == EPOCHS * TRAIN, "%d rows of %d", k, one.n);
    spec.epoch = 1, spec.first = 7, spec.epochs = 1;
    read_all(d, spec, 1, &rest);
    CHECK(rest.n == TRAIN - 7 * BATCH, "%d rows", rest.n);
    for (int i = 0; i < rest.n; i++)
      CHECK(rest.rows[i].hash == one.rows[TRAIN + 7 * BATCH + i].hash, "row %d differs", i);
    gr_dataset_close(d);
  }
}

// ---- Errors -------------------------------------------------------------------------------------

static void refuses(gr_sampler_kind kind, const char *weights, const char *part) {
  gr_dataset *d = NULL;
  fixture_fails(open_set(kind, weights, &d), GR_ERR_CONFIG, 0, part);
}

static void errors(void) {
  refuses(GR_SAMPLER_WEIGHTED, NULL, "there are no weights");
  refuses(GR_SAMPLER_BALANCED, "{ant: 1}", "data.sampler is not weighted");
  refuses(GR_SAMPLER_WEIGHTED, "{ant: -1}", "the weight of the class 'ant' is no number");
  refuses(GR_SAMPLER_WEIGHTED, "{ant: x}", "the weight of the class 'ant' is no number");
  refuses(GR_SAMPLER_WEIGHTED, "[1, 2]", "must be a mapping of classes to weights");
  gr_dataset *d = NULL;
  gr_status s = open_set(GR_SAMPLER_WEIGHTED, "{\n  bea: 1}", &d);
  CHECK(s && strstr(gr_status_hint(s), "did you mean 'bee'"), "%s", gr_status_hint(s));
  fixture_fails(s, GR_ERR_CONFIG, 2, "the data has no class 'bea'");
  fixture_fails(open_set(GR_SAMPLER_WEIGHTED, "{ant: 0, bee: 0, cow: 0}", &d), GR_ERR_DATA, 0,
                "all weights of training samples are 0");
  has_labels = false;
  refuses(GR_SAMPLER_BALANCED, NULL, "samples of this data have none");
  has_labels = true;
}

int main(int argc, char **argv) {
  int failed = RUN(argc, argv, {"balances", balances}, {"draws_repeats", draws_repeats},
                   {"shuffles_repeats", shuffles_repeats}, {"weighs_classes", weighs_classes},
                   {"weighs_samples", weighs_samples}, {"weighs_both", weighs_both},
                   {"same_on_ranks", same_on_ranks}, {"errors", errors});
  gr_arena_destroy(arena);
  return failed;
}
