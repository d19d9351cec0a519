// test_loader_stop.c - a batch that is not made yet is given up when the process is asked to stop;
// and a batch for trial is the first one, and nothing but it. No test measures time: the source
// itself asks to stop, at a sample of the test's choice.
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "base/stop.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

enum { COUNT = 40, TRAIN = 32, BATCH = 8, WIDTH = 2 };

// What the source does, and what was asked of it.
static struct {
  int stop_at;  // the load, from 1 on, that asks to stop; 0: none
  bool stands;  // ... and does not return before `released`
  bool broken;  // loads fail, for a reason that is not the sample's
  _Atomic int loads, ended;
  atomic_bool released;
} test;

static gr_status open_source(gr_source_request *r, void **out) {
  *out = r;
  return GR_OK;
}
static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = (gr_field_spec){.name = "x", .dtype = GR_F32, .rank = 1, .dim = {WIDTH}};
  return 1;
}
static uint32_t count(const void *self) {
  (void)self;
  return COUNT;
}
static gr_sample_info info(const void *self, uint32_t sample) {
  (void)self;
  return (gr_sample_info){
      .key = sample, .length = 1, .split = sample < TRAIN ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION};
}

// One that stands returns after a while all the same, so that a test that fails ends.
static void stand(void) {
  const struct timespec moment = {.tv_nsec = 10000000};
  for (int i = 0; i < 60000 && !test.released; i++) nanosleep(&moment, NULL);
}

static gr_status load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  (void)self, (void)most;
  if (test.broken) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "there is no library");
  if (++test.loads == test.stop_at) {
    gr_stop_request();
    if (test.stands) stand();
  }
  *out = (gr_loaded){calloc(WIDTH, sizeof(float)), WIDTH * sizeof(float), 1};
  if (out->data) ((float *)out->data)[0] = (float)sample;
  test.ended++;
  return GR_OK;
}
static void fill(const void *self, uint32_t sample, const gr_loaded *x, const gr_draw *draw,
                 gr_row *out) {
  (void)self, (void)sample, (void)draw;
  memcpy(out->field[0], x->data, x->bytes);
}
static const gr_source_ops source = {.name = "slow",
                                     .sample = "number",
                                     .open = open_source,
                                     .fields = fields,
                                     .count = count,
                                     .info = info,
                                     .load = load,
                                     .fill = fill};

static gr_dataset *open_set(const char *transforms, bool skip) {
  static gr_arena *arena;
  gr_dataset_options o = {.n_buckets = 1, .prefetch = 2, .skip_unreadable = skip};
  gr_dataset *d;
  if (!arena) arena = gr_arena_create();
  if (transforms) MUST(gr_conf_parse(arena, "list.yaml", transforms, &o.transforms));
  MUST(gr_dataset_create(&source, NULL, &o, &d));
  memset(&test, 0, sizeof test);
  return d;
}

static gr_loader_spec of(int workers) {
  return (gr_loader_spec){.batch = BATCH, .ranks = 1, .workers = workers, .prefetch = 2};
}

// Asks for the first batch, in which a load asks to stop.
static gr_status first(gr_dataset *d, int workers, const gr_batch **out) {
  gr_loader *l;
  gr_loader_spec spec = of(workers);
  MUST(gr_loader_open(d, &spec, &l));
  gr_status s = gr_loader_next(l, out);
  CHECK(!test.stands || !test.ended || test.ended < test.loads, "it has not waited for the load");
  test.released = true;
  gr_loader_close(l);
  gr_stop_clear();
  return s;
}

static void while_it_waits(void) {
  const gr_batch *b;
  for (int deferred = 0; deferred < 2; deferred++) {
    gr_dataset *d = open_set(NULL, false);
    gr_stop_defer(deferred);
    test.stop_at = 3, test.stands = true;
    fixture_fails(first(d, 1, &b), GR_ERR_STOPPED, 0, "stopped by a signal while");
    CHECK(!b, "no batch");
    gr_dataset_close(d);
  }
  gr_stop_defer(false);
}

static void between_rows(void) {
  const gr_batch *b;
  gr_dataset *d = open_set(NULL, false);
  gr_stop_defer(true);
  test.stop_at = 3;
  fixture_fails(first(d, 0, &b), GR_ERR_STOPPED, 0, "stopped by a signal while");
  CHECK(test.loads == 3, "%d loads", (int)test.loads);
  test.loads = 0;
  test.stop_at = BATCH;  // the last row: the batch is made
  MUST(first(d, 0, &b));
  CHECK(test.loads == BATCH, "%d loads", (int)test.loads);
  gr_stop_defer(false);
  gr_dataset_close(d);
}

// The samples that were not read are not to blame.
static void none_is_unreadable(void) {
  const gr_batch *b;
  for (int workers = 0; workers < 3; workers += 2) {
    gr_dataset *d = open_set(NULL, true);
    test.stop_at = 3;
    fixture_fails(first(d, workers, &b), GR_ERR_STOPPED, 0, "stopped by a signal");
    CHECK(!gr_dataset_unreadable(d), "%llu are counted",
          (unsigned long long)gr_dataset_unreadable(d));
    MUST(first(d, workers, &b));
    test.broken = true;
    fixture_fails(first(d, workers, &b), GR_ERR_LAUNCH, 0, "there is no library");
    CHECK(!gr_dataset_unreadable(d), "none");
    gr_dataset_close(d);
  }
}

static void trial(void) {
  gr_loader_spec spec = of(2);
  gr_dataset *d = open_set(NULL, false);
  MUST(gr_loader_try(d, &spec, false));
  CHECK(test.loads == BATCH, "%d loads for one batch", (int)test.loads);
  spec.split = GR_SPLIT_VALIDATION, spec.epochs = 1, spec.workers = 0;
  MUST(gr_loader_try(d, &spec, false));
  CHECK(test.loads == 2 * BATCH, "%d loads for two", (int)test.loads);
  gr_dataset_close(d);
}

// A run that resumes does not compute what its checkpoint holds.
static void trial_of_statistics(void) {
  gr_loader_spec spec = of(0);
  gr_dataset *d = open_set("[normalize]", false);
  MUST(gr_loader_try(d, &spec, false));
  CHECK(test.loads == BATCH && !gr_dataset_fitted(d), "%d loads, no statistics", (int)test.loads);
  MUST(gr_loader_try(d, &spec, true));
  CHECK(test.loads == BATCH + TRAIN + BATCH && gr_dataset_fitted(d), "%d loads", (int)test.loads);
  MUST(gr_loader_try(d, &spec, false));
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"while_it_waits", while_it_waits}, {"between_rows", between_rows},
             {"none_is_unreadable", none_is_unreadable}, {"trial", trial},
             {"trial_of_statistics", trial_of_statistics});
}
