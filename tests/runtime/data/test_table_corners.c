// test_table_corners.c - tables at their limits: columns that count, arrays side by side,
// statistics of windows, and files that do not fit each other.
#include <math.h>
#include <sys/stat.h>
#include "runtime/data/loader.h"
#include "runtime/data/table/table.h"
#include "tests/runtime/data/fixture.h"

typedef struct table {
  gr_table_spec spec;
  gr_dataset_options options;
  const char *paths[2], *eval[1], *features[4];
} table;

// A table of these files, the second of which may be NULL.
static table *table_of(const char *first, const char *second) {
  static table t;
  t = (table){.spec = {.csv = {',', true, "data.table"}},
              .options = {.n_buckets = 1},
              .paths = {first, second}};
  t.spec.paths = (gr_names){t.paths, second ? 2 : 1};
  return &t;
}

static const char *csv(const char *name, const char *text) {
  const char *path = fixture_path("%s.csv", name);
  fixture_text(path, text);
  return path;
}

// An array of n bytes, of NumPy's type "<f4" and this shape, "(3, 2)".
static const char *npy_of(const char *name, const char *type, const char *shape, const void *values,
                          size_t n) {
  gr_arena *a = gr_arena_create();
  const char *path = fixture_path("%s.npy", name);
  char *all = GR_NEW(a, char, n + 256);
  int head = snprintf(all + 10, 240, "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n", type,
                      shape);
  memcpy(all, "\x93NUMPY\1\0", 8);
  all[8] = (char)head, all[9] = 0;
  memcpy(all + 10 + head, values, n);
  fixture_bytes(path, all, 10 + (size_t)head + n);
  gr_arena_destroy(a);
  return path;
}

// u8.
static const char *npy(const char *name, const char *shape, const void *values, size_t n) {
  return npy_of(name, "|u1", shape, values, n);
}

static gr_status open_table(const table *t, gr_dataset **out) {
  return gr_dataset_create(&gr_source_table, &t->spec, &t->options, out);
}

static const gr_table *source_of(const gr_dataset *d) { return gr_dataset_source(d); }

// The features of all training samples, in their order, and those of a row.
static const float *rows_of(gr_dataset *d, gr_loader **l, int64_t *width) {
  gr_loader_spec spec = {.batch = 64, .ranks = 1, .epochs = 1, .prefetch = 1};
  const gr_batch *b;
  gr_type t;
  MUST(gr_loader_open(d, &spec, l));
  MUST(gr_loader_next(*l, &b));
  const float *x = fixture_field(b, "x", &t);
  *width = gr_type_count(&t) / t.dim[0];
  return x;
}

static void check_rows(const table *t, const float *want, int n, int width) {
  gr_dataset *d;
  gr_loader *l;
  int64_t each;
  MUST(open_table(t, &d));
  const float *x = rows_of(d, &l, &each);
  CHECK(each == width, "rows of %lld values, not %d", (long long)each, width);
  for (int i = 0; i < n * width && each == width; i++)
    CHECK(fabsf(x[i] - want[i]) < 1e-6f, "value %d is %g, not %g", i, (double)x[i],
          (double)want[i]);
  gr_loader_close(l);
  gr_dataset_close(d);
}

// ---- Columns ------------------------------------------------------------------------------------

static const char *counting(gr_arena *a, int rows, int by) {
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "t,v\n");
  for (int i = 0; i < rows; i++) gr_text_printf(&t, "%d,%d\n", 7 + i * by, i % 3);
  return csv("counting", t.chars);
}

// A column whose rows are one more each, in 16 rows or more, names them and is no feature.
static void columns_that_count(void) {
  static const struct {
    int rows, by, features;
  } cases[] = {{16, 1, 1}, {17, 1, 1}, {15, 1, 2}, {20, 2, 2}, {20, -1, 2}, {20, 0, 2}};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_dataset *d;
    table *t = table_of(counting(a, cases[i].rows, cases[i].by), NULL);
    MUST(open_table(t, &d));
    CHECK(source_of(d)->width == cases[i].features, "%d rows by %d: %lld features", cases[i].rows,
          cases[i].by, (long long)source_of(d)->width);
    gr_dataset_close(d);
  }
  gr_arena_destroy(a);
}

static void columns_with_a_role(void) {
  table *t = table_of(csv("roles", "run,part,v,l\n1,0,5,0\n1,0,6,1\n2,0,7,0\n"), NULL);
  t->spec.series = "run", t->spec.split = "part", t->spec.label = "l";
  check_rows(t, (const float[]){5, 6, 7}, 3, 1);
}

static void names_that_two_columns_have(void) {
  static const char *const pairs[][2] = {
      {"a,b\n1,2\n", "b\n3\n"}, {"a,b\n1,2\n", "a,c\n3,4\n"}, {"a,b\n1,2\n", "c,a\n3,4\n"}};
  for (int i = 0; i < 3; i++) {
    gr_dataset *d;
    table *t = table_of(csv("left", pairs[i][0]), csv("right", pairs[i][1]));
    fixture_fails(open_table(t, &d), GR_ERR_DATA, 0,
                  i ? "both have a column 'a'" : "both have a column 'b'");
  }
}

// ---- Arrays -------------------------------------------------------------------------------------

static void arrays_with_columns(void) {
  table *t = table_of(npy("pairs", "(3, 2)", "\1\2\3\4\5\6", 6), npy("one", "(3,)", "\7\10\11", 3));
  t->features[0] = "pairs", t->features[1] = "one", t->spec.features = (gr_names){t->features, 2};
  check_rows(t, (const float[]){1, 2, 7, 3, 4, 8, 5, 6, 9}, 3, 3);
}

// A column of labels has one more dimension, or none.
static void labels_in_columns(void) {
  static const char *const shapes[] = {"(3,)", "(3, 1)"};
  for (int i = 0; i < 2; i++) {
    gr_dataset *d;
    table *t = table_of(npy("x", "(3, 2)", "\1\2\3\4\5\6", 6), npy("y", shapes[i], "\7\3\7", 3));
    t->spec.label = "y";
    MUST(open_table(t, &d));
    CHECK(source_of(d)->classes.n == 2, "%s: %d classes", shapes[i], source_of(d)->classes.n);
    gr_dataset_close(d);
  }
  gr_dataset *d;
  table *t = table_of(npy("x", "(3, 2)", "\1\2\3\4\5\6", 6), npy("y", "(3, 2)", "\7\3\7\3\7\3", 6));
  t->spec.label = "y";
  MUST(open_table(t, &d));
  CHECK(source_of(d)->n_targets == 2 && !source_of(d)->classes.n, "two values");
  CHECK(!strcmp(source_of(d)->targets.names[1], "y[1]"), "%s", source_of(d)->targets.names[1]);
  gr_dataset_close(d);
  t->spec.label_is = GR_LABEL_CLASS;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 0, "has several labels for each row");
}

// Labels that are values may lack some, where the configuration says what stands for them.
static void labels_without_values(void) {
  static const char *const names[] = {"p", "q"};
  static const char *const texts[] = {"a,p,q\n1,0.5,\n2,,7\n3,1,8\n", "a,p,q\n1,,8\n2,,9\n"};
  table *t = table_of(csv("lacks", texts[0]), NULL);
  t->spec.label = "p", t->spec.labels = (gr_names){(const char **)(uintptr_t)names, 2};
  t->features[0] = "a", t->spec.features = (gr_names){t->features, 1};
  gr_dataset *d;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 2, "the column 'q' has no value in this line");
  t->spec.may_miss = true, t->spec.missing = -1;
  MUST(open_table(t, &d));
  static const float want[3][2] = {{0.5f, -1}, {-1, 7}, {1, 8}};
  for (int row = 0; row < 3; row++) {
    float y[2];
    gr_table_targets(source_of(d), source_of(d)->part, row, y);
    CHECK(y[0] == want[row][0] && y[1] == want[row][1], "row %d: %g %g", row, (double)y[0],
          (double)y[1]);
  }
  gr_dataset_close(d);
  t->spec.label_is = GR_LABEL_LIST;  // what is there must still be 0 or 1
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 2, "the label 'p' in this line is 0.5");
  const float holes[4] = {1.5f, (float)NAN, (float)NAN, 2.5f};
  t = table_of(npy("x", "(2, 2)", "\1\2\3\4", 4), npy_of("y", "<f4", "(2, 2)", holes, 16));
  t->spec.label = "y";
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 0, "is not finite");
  t->spec.may_miss = true, t->spec.missing = -1;
  MUST(open_table(t, &d));
  float y[2];
  gr_table_targets(source_of(d), source_of(d)->part, 1, y);
  CHECK(y[0] == -1 && y[1] == 2.5f, "of an array: %g %g", (double)y[0], (double)y[1]);
  gr_dataset_close(d);
  t = table_of(csv("lacks", texts[1]), NULL);
  t->spec.label = "q", t->spec.may_miss = true;
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "label_missing is for labels that are values");
}

static void files_of_other_shapes(void) {
  static const unsigned char values[12] = {0};
  static const char *const shapes[] = {"(1, 2, 6)", "(1, 3, 4)", "(1, 12)", "(2, 2, 3)"};
  (void)mkdir(fixture_path("later"), 0777);
  for (int i = 0; i < 4; i++) {
    gr_dataset *d;
    table *t = table_of(npy("frames", "(2, 2, 3)", values, 12), NULL);
    t->eval[0] = npy("later/frames", shapes[i], values, 12), t->spec.eval = (gr_names){t->eval, 1};
    gr_status s = open_table(t, &d);
    if (i < 3) {
      fixture_fails(s, GR_ERR_DATA, 0, "are of another shape than those of");
      continue;
    }
    MUST(s);
    gr_dataset_close(d);
  }
}

// ---- Splits -------------------------------------------------------------------------------------

// The splits of the windows of series q, which comes after `before` rows of another.
static int splits_of_q(int before, gr_split out[64]) {
  gr_arena *a = gr_arena_create();
  gr_text text = gr_text_make(a);
  gr_dataset *d;
  int n = 0;
  gr_text_put(&text, "s,v\n");
  for (int i = 0; i < before; i++) gr_text_printf(&text, "p,%d\n", -i);
  for (int i = 0; i < 640; i++) gr_text_printf(&text, "q,%d\n", i);
  table *t = table_of(csv("series", text.chars), NULL);
  t->spec.series = "s", t->spec.window = 10, t->options.validation_fraction = 0.5;
  MUST(open_table(t, &d));
  for (uint32_t i = 0; i < gr_dataset_samples(d); i++) {
    const gr_sample *s = gr_dataset_sample(d, i);
    if (source_of(d)->samples[s->index].row >= (uint32_t)before && n < 64) out[n++] = s->split;
  }
  gr_dataset_close(d);
  gr_arena_destroy(a);
  return n;
}

// Each row is for validation in one of the folds, and they are of about one size.
static void folds_divide(void) {
  enum { ROWS = 1000, FOLDS = 5 };
  static char text[16 * ROWS];
  static int times[ROWS];
  size_t offset = (size_t)snprintf(text, sizeof text, "v,s\n");
  for (int i = 0; i < ROWS; i++)
    offset += (size_t)snprintf(text + offset, sizeof text - offset, "%d,%d\n", i * i, i % 2);
  table *t = table_of(csv("folds", text), NULL);
  gr_dataset *d;
  t->options.validation_fraction = 1.0 / FOLDS;
  for (t->options.validation_fold = 0; t->options.validation_fold < FOLDS;
       t->options.validation_fold++) {
    uint32_t n = 0;
    MUST(open_table(t, &d));
    for (uint32_t i = 0; i < ROWS; i++) {
      bool held_out = gr_dataset_sample(d, i)->split == GR_SPLIT_VALIDATION;
      times[i] += held_out, n += held_out;
    }
    CHECK(n > 150 && n < 250, "fold %d has %u rows", t->options.validation_fold, n);
    gr_dataset_close(d);
  }
  for (int i = 0; i < ROWS; i++) CHECK(times[i] == 1, "row %d is in %d folds", i, times[i]);
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "there is no fold 5");
  t->options.validation_fold = 1, t->spec.split = "s";
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "chosen otherwise than by a hash");
}

// Windows of a series are in the splits that they are in where it is alone.
static void splits_of_series(void) {
  gr_split alone[64], behind[64];
  int n = splits_of_q(0, alone), validation = 0;
  for (int i = 0; i < n; i++) validation += alone[i] == GR_SPLIT_VALIDATION;
  CHECK(n == 64 && validation > 0 && validation < n, "%d of %d windows", validation, n);
  static const int before[] = {10, 30, 90};
  for (int k = 0; k < 3; k++) {
    CHECK(splits_of_q(before[k], behind) == n, "behind %d rows: other windows", before[k]);
    CHECK(!memcmp(alone, behind, sizeof *alone * (size_t)n), "behind %d rows", before[k]);
  }
}

// Of each file as many samples as the limit says.
static void limits_of_files(void) {
  for (uint32_t limit = 0; limit <= 4; limit++) {
    gr_dataset *d;
    table *t = table_of(csv("before", "v\n1\n2\n3\n"), NULL);
    t->eval[0] = csv("after", "v\n4\n5\n6\n7\n"), t->spec.eval = (gr_names){t->eval, 1};
    t->options.limit = limit;
    MUST(open_table(t, &d));
    CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == (limit && limit < 3 ? limit : 3) &&
              gr_dataset_count(d, GR_SPLIT_VALIDATION) == (limit ? limit : 4),
          "a limit of %u", limit);
    gr_dataset_close(d);
  }
}

// A window whose rows a column puts into two splits is in neither, wherever the row of the other
// is.
static void windows_across_splits(void) {
  table *t = table_of(csv("across", "v,part\n1,0\n2,1\n3,0\n4,0\n5,0\n6,0\n7,0\n8,0\n9,1\n"), NULL);
  t->spec.split = "part", t->spec.window = 3;
  check_rows(t, (const float[]){4, 5, 6}, 1, 3);
}

// ---- Statistics ---------------------------------------------------------------------------------

// Of all rows of the windows, each once.
static void statistics_of_windows(void) {
  table *t = table_of(csv("steps", "v\n0\n2\n4\n6\n"), NULL);
  t->spec.window = 2, t->spec.normalize = true;
  const float d = sqrtf(5);
  check_rows(t, (const float[]){-3 / d, -1 / d, 1 / d, 3 / d}, 2, 2);
  t->spec.stride = 1;
  check_rows(t, (const float[]){-3 / d, -1 / d, -1 / d, 1 / d, 1 / d, 3 / d}, 3, 2);
}

// Numbers that f32 does not tell apart, and numbers as small as they like, are normalized as
// others.
static void statistics_of_large_and_small(void) {
  table *t =
      table_of(csv("times", "time,small,same\n1700000000,1e-30,0.1\n1700000002,3e-30,0.1\n"), NULL);
  t->spec.normalize = true;
  check_rows(t, (const float[]){-1, -1, 0, 1, 1, 0}, 2, 3);
}

// A constant is only centred, however many rows it has: a sum of them is off by more than its last
// bits.
static void statistics_of_constants(void) {
  enum { ROWS = 200000 };
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  gr_text rows = gr_text_make(a);
  gr_text_put(&rows, "v,w\n");
  for (int i = 0; i < ROWS; i++) gr_text_printf(&rows, "0.1,%d\n", i % 2);
  table *t = table_of(csv("constant", rows.chars), NULL);
  t->spec.normalize = true;
  MUST(open_table(t, &d));
  const gr_table *s = source_of(d);
  CHECK(s->mean[0] == 0.1 && s->scale[0] == 1, "%.17g and %.17g", s->mean[0], s->scale[0]);
  CHECK(fabs(s->mean[1] - 0.5) < 1e-12 && fabs(s->scale[1] - 2) < 1e-12, "of 0 and 1");
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

// A mean for each of up to 4096 values of a row; one for all of more.
static void statistics_of_wide_rows(void) {
  static unsigned char values[2 * 4097];
  for (size_t i = 0; i < sizeof values; i++) values[i] = (unsigned char)(i % 127);
  for (int n = 4096; n <= 4097; n++) {
    gr_dataset *d;
    table *t =
        table_of(npy("wide", n == 4096 ? "(2, 4096)" : "(2, 4097)", values, 2 * (size_t)n), NULL);
    t->spec.normalize = true;
    MUST(open_table(t, &d));
    CHECK(source_of(d)->n_statistics == (n == 4096 ? n : 1), "%d values: %lld means", n,
          (long long)source_of(d)->n_statistics);
    gr_dataset_close(d);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"columns_that_count", columns_that_count},
             {"columns_with_a_role", columns_with_a_role},
             {"names_that_two_columns_have", names_that_two_columns_have},
             {"arrays_with_columns", arrays_with_columns}, {"labels_in_columns", labels_in_columns},
             {"labels_without_values", labels_without_values},
             {"files_of_other_shapes", files_of_other_shapes},
             {"splits_of_series", splits_of_series}, {"folds_divide", folds_divide},
             {"limits_of_files", limits_of_files}, {"windows_across_splits", windows_across_splits},
             {"statistics_of_windows", statistics_of_windows},
             {"statistics_of_large_and_small", statistics_of_large_and_small},
             {"statistics_of_constants", statistics_of_constants},
             {"statistics_of_wide_rows", statistics_of_wide_rows});
}
