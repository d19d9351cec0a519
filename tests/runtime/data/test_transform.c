// test_transform.c - data.transforms: what each makes of x, on any number of ranks and workers; and
// what is wrong with a list of them.
#include <math.h>
#include <stdlib.h>
#include "tests/runtime/data/small_images.h"
#include "tests/runtime/data/tally.h"

// ---- Transforms ---------------------------------------------------------------------------------

static void flips(void) {
  static const struct {
    const char *list;
    char axis;
  } cases[] = {{"[flip]", 'w'}, {"[{flip: {axis: height}}]", 'h'}};
  static epoch e[2], v;
  gr_dataset *d;
  for (int k = 0; k < 2; k++) {
    int flipped[2] = {0}, same = 0;
    MUST(open_list(cases[k].list, &d));
    for (uint32_t n = 0; n < 2; n++) {
      read_epoch(d, GR_SPLIT_TRAIN, true, n, &e[n]);
      for (uint32_t i = 0; i < FIRST_VALIDATION; i++) {
        bool yes = is_flipped(e[n].x[i], i, cases[k].axis);
        CHECK(yes || is_flipped(e[n].x[i], i, ' '), "sample %u is neither", i);
        flipped[n] += yes;
        same += n && !memcmp(e[0].x[i], e[1].x[i], SIZE);
      }
      CHECK(flipped[n] > 10 && flipped[n] < 30, "%d of 40 are flipped", flipped[n]);
    }
    CHECK(same > 8 && same < 32, "%d of 40 are the same in both epochs", same);
    read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &v);
    CHECK(v.n == COUNT - FIRST_VALIDATION, "%d", v.n);
    for (uint32_t i = FIRST_VALIDATION; i < COUNT; i++)
      CHECK(is_flipped(v.x[i], i, ' '), "validation samples are left as they are");
    gr_dataset_close(d);
  }
}

// Two of the same name are drawn independently: each of the four results is seen.
static void draws_each(void) {
  static epoch e;
  gr_dataset *d;
  int of[4] = {0};
  MUST(open_list("[flip, {flip: {axis: height}}]", &d));
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &e);
  for (uint32_t i = 0; i < FIRST_VALIDATION; i++) {
    bool w = is_flipped(e.x[i], i, 'w'), h = is_flipped(e.x[i], i, 'h');
    of[w ? 1 : h ? 2 : is_flipped(e.x[i], i, ' ') ? 0 : 3]++;
  }
  for (int k = 0; k < 4; k++) CHECK(of[k] > 2, "%d of 40 of kind %d", of[k], k);
  gr_dataset_close(d);
}

// The first view is what there is without others; in evaluations all are alike.
static void draws_views(void) {
  static const char list[] = "[flip, {crop: {pad: 1}}, brightness]";
  static epoch one, two;
  gr_dataset *d;
  int other = 0, of_epoch = 0;
  MUST(open_list(list, &d));
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &one);
  gr_dataset_close(d);
  views = 2;
  MUST(open_list(list, &d));
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &two);
  CHECK(two.type.rank == 5 && two.type.dim[1] == 2 && two.type.dim[2] == H, "rank %d",
        two.type.rank);
  for (uint32_t i = 0; i < FIRST_VALIDATION; i++) {
    CHECK(!memcmp(one.x[i], two.x[i], SIZE), "the first view of %u", i);
    other += memcmp(two.x[i], two.x[i] + SIZE, SIZE) != 0;
  }
  CHECK(other > 30, "%d of 40 have another second view", other);
  read_epoch(d, GR_SPLIT_TRAIN, true, 1, &one);
  for (uint32_t i = 0; i < FIRST_VALIDATION; i++)
    of_epoch += memcmp(one.x[i] + SIZE, two.x[i] + SIZE, SIZE) != 0;
  CHECK(of_epoch > 30, "%d of 40 second views are others in another epoch", of_epoch);
  read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &two);
  for (uint32_t i = FIRST_VALIDATION; i < COUNT; i++)
    for (int view = 0; view < 2; view++)
      CHECK(is_flipped(two.x[i] + view * SIZE, i, ' '), "view %d of validation", view);
  gr_dataset_close(d);
  MUST(open_list("[{flip: {p: 1}}]", &d));  // each is made of the source's x
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &two);
  for (int view = 0; view < 2; view++)
    CHECK(is_flipped(two.x[0] + view * SIZE, 0, 'w'), "view %d is not flipped once", view);
  gr_dataset_close(d);
  fixture_fails(open_list("[]", &d), GR_ERR_CONFIG, 0, "data.views is 2, and data.transforms has");
  views = 0;
}

// ---- Normalization ------------------------------------------------------------------------------

static double pixel(uint32_t sample, int i) {
  return floats ? value_of(sample, i) - 100 : value_of(sample, i) / 255.0;
}

// Mean and deviation of a channel of the training samples, in another order than the code's.
static void moments(int c, double *mean, double *deviation) {
  double sum = 0, squares = 0, n = 0;
  for (uint32_t s = FIRST_VALIDATION; s-- > 0;)
    for (int i = c; i < SIZE; i += C) sum += pixel(s, i), n++;
  *mean = sum / n;
  for (uint32_t s = FIRST_VALIDATION; s-- > 0;)
    for (int i = c; i < SIZE; i += C) squares += (pixel(s, i) - *mean) * (pixel(s, i) - *mean);
  *deviation = sqrt(squares / n);
}

static void check_normal(const epoch *e, const double *mean, const double *deviation) {
  CHECK(e->type.dtype == GR_F32, "x is %s", gr_dtypes[e->type.dtype].name);
  for (uint32_t s = FIRST_VALIDATION; s < COUNT; s++)
    for (int i = 0; i < SIZE; i++) {
      float x;
      memcpy(&x, e->x[s] + 4 * i, 4);
      double want = (pixel(s, i) - mean[i % C]) / deviation[i % C];
      CHECK(fabs(x - want) < 1e-5, "value %d of sample %u is %g, not %g", i, s, (double)x, want);
    }
}

static void normalizes(void) {
  static epoch e;
  gr_dataset *d;
  for (int k = 0; k < 2; k++) {
    double mean[C], deviation[C];
    floats = k;
    for (int c = 0; c < C; c++) moments(c, &mean[c], &deviation[c]);
    MUST(open_list("[normalize, {flip: 0}]", &d));
    read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &e);
    check_normal(&e, mean, deviation);
    gr_dataset_close(d);
    MUST(open_list("[{normalize: {mean: [0.5, 0.25], std: 2}}]", &d));
    read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &e);
    check_normal(&e, (double[]){0.5, 0.25}, (double[]){2, 2});
    gr_dataset_close(d);
  }
  floats = false;
}

// Statistics are kept in checkpoints, and a restored data set does not compute its own.
static void keeps_statistics(void) {
  static epoch e;
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  gr_text saved = gr_text_make(a), none = gr_text_make(a);
  MUST(open_list("[normalize]", &d));
  CHECK(!gr_dataset_save(d, &none), "nothing is read before rows are needed");
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &e);
  CHECK(gr_dataset_save(d, &saved), "there is something to save");
  gr_dataset_close(d);
  MUST(open_list("[normalize]", &d));
  MUST(gr_dataset_restore(d, "\n4 0.5 0.25 2 4"));
  read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &e);
  check_normal(&e, (double[]){0.5, 0.25}, (double[]){2, 4});
  MUST(gr_dataset_restore(d, saved.chars));
  fixture_fails(gr_dataset_restore(d, "\n2 0.5 2"), GR_ERR_CHECKPOINT, 0, "'normalize'");
  fixture_fails(gr_dataset_restore(d, "\n4 0.5 2 nan 1"), GR_ERR_CHECKPOINT, 0, "'normalize'");
  fixture_fails(gr_dataset_restore(d, ""), GR_ERR_CHECKPOINT, 0, "'normalize'");
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

// ---- Ranks and workers --------------------------------------------------------------------------

static void same_on_ranks(void) {
  static const char list[] =
      "[flip, {crop: {pad: 1}}, {rotate: 20}, brightness, contrast, {crop: 3}, normalize]";
  static tally one, three;
  gr_dataset *d;
  gr_loader_spec spec = plain();
  views = 2;
  MUST(open_list(list, &d));
  views = 0;
  read_all(d, spec, 1, &one);
  spec.workers = 3;
  read_all(d, spec, 3, &three);
  // 5 rows over 3 ranks are 2 each: the last rank's second one is padding.
  int k = 0;
  for (int i = 0; i < three.n; i++) {
    if (i % 6 == 5) continue;
    CHECK(k < one.n && !memcmp(&one.rows[k].hash, &three.rows[i].hash, sizeof(uint64_t)),
          "row %d differs", k);
    k++;
  }
  CHECK(k == one.n && k > 2 * FIRST_VALIDATION - 1, "%d rows, not %d", k, one.n);
  gr_dataset_close(d);
}

static void changes_metadata(void) {
  gr_dataset *d;
  gr_metadata m[GR_MAX_METADATA];
  MUST(open_list("[flip]", &d));
  static const gr_metadata want[] = {{"classes", 5}, {"height", H}, {"width", W}, {"channels", C}};
  CHECK(gr_dataset_metadata(d, m) == 4, "metadata");
  for (int i = 0; i < 4; i++)
    CHECK(!strcmp(m[i].name, want[i].name) && m[i].value == want[i].value, "%s is %lld", m[i].name,
          (long long)m[i].value);
  gr_dataset_close(d);
}

// ---- Errors -------------------------------------------------------------------------------------

static void refuses(const char *list, const char *part, const char *hint) {
  gr_dataset *d = NULL;
  gr_status s = open_list(list, &d);
  CHECK(s, "%s is accepted", list);
  CHECK(strstr(gr_status_hint(s), hint), "'%s' is not in the hint '%s'", hint, gr_status_hint(s));
  fixture_fails(s, GR_ERR_CONFIG, 1, part);
}

static void bad_lists(void) {
  refuses("[flop]", "there is no transform 'flop'", "did you mean 'flip'");
  refuses("[{flip: {q: 1}}]", "'flip' has no parameter 'q'", "p, axis");
  refuses("[{flip: {p: 1.5}}]", "'p' of the transform 'flip' must be a number", "probability");
  refuses("[{flip: yes}]", "'p' of the transform 'flip' must be", "probability");
  refuses("[{flip: {axis: widht}}]", "'axis' of the transform", "reversed");
  refuses("[{flip: {axis: time}}]", "this x has no time", "an image has no time");
  refuses("[{flip: 1, normalize: {}}]", "must be a transform with its parameters", "as in");
  refuses("[{crop: 5}]", "a crop of [5, 5] is larger than x of [4, 3]", "more pad");
  refuses("[{crop: [1]}]", "'size' of the transform 'crop' must be", "height and width");
  refuses("[{rotate: 181}]", "'degrees' of the transform 'rotate'", "largest angle");
  refuses("[3]", "must be a transform with its parameters", "as in");
  refuses("[{normalize: {mean: 1}}]", "normalize has only 'mean'", "give mean and std");
  refuses("[{normalize: {mean: [1, 2, 3], std: 1}}]", "has 3 numbers, x has 2 channels",
          "for each channel");
}

int main(int argc, char **argv) {
  int failed = RUN(argc, argv, {"flips", flips}, {"draws_each", draws_each},
                   {"draws_views", draws_views}, {"normalizes", normalizes},
                   {"keeps_statistics", keeps_statistics}, {"same_on_ranks", same_on_ranks},
                   {"changes_metadata", changes_metadata}, {"bad_lists", bad_lists});
  close_lists();
  return failed;
}
