// test_table.c - tables to samples: columns, classes, windows, splits, and what normalizes them.
#include <math.h>
#include "ops/kernels/cpu.h"
#include "runtime/data/loader.h"
#include "runtime/data/table/table.h"
#include "tests/runtime/data/fixture.h"

typedef struct table {
  gr_table_spec spec;
  gr_dataset_options options;
  const char *paths[2], *eval[1], *features[4];
} table;

// A table of one file of CSV.
static table *table_of(const char *text) {
  static table t;
  t = (table){.spec = {.csv = {',', true, "data.table"}}, .options = {.n_buckets = 1}};
  t.paths[0] = fixture_path("table.csv");
  fixture_text(t.paths[0], text);
  t.spec.paths = (gr_names){t.paths, 1};
  return &t;
}

static gr_status open_table(const table *t, gr_dataset **out) {
  return gr_dataset_create(&gr_source_table, &t->spec, &t->options, out);
}

// All samples of a split in one batch, in their order.
static gr_loader *whole(gr_dataset *d, gr_split split, const gr_batch **b) {
  gr_loader_spec spec = {.split = split, .batch = 64, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, b));
  return l;
}

static void check_floats(const gr_batch *b, const char *name, const float *want, int n) {
  gr_type t;
  const float *x = fixture_field(b, name, &t);
  for (int i = 0; i < n; i++)
    CHECK(fabsf(x[i] - want[i]) < 1e-6f, "%s[%d] is %g, not %g", name, i, x[i], want[i]);
}

static void check_ints(const gr_batch *b, const char *name, const int32_t *want, int n) {
  gr_type t;
  const int32_t *x = fixture_field(b, name, &t);
  for (int i = 0; i < n; i++)
    CHECK(x[i] == want[i], "%s[%d] is %d, not %d", name, i, x[i], want[i]);
}

static int64_t metadata_of(const gr_dataset *d, const char *name) {
  gr_metadata m[GR_MAX_METADATA];
  int n = gr_dataset_metadata(d, m);
  for (int i = 0; i < n; i++)
    if (!strcmp(m[i].name, name)) return m[i].value;
  return -1;
}

static const char kinds[] = "a,name,b,kind\n1,x,10,red\n2,y,20,blue\n3,z,30,red\n4,z,40,green\n";

static void reads_columns_and_classes(void) {
  table *t = table_of(kinds);
  gr_dataset *d;
  const gr_batch *b;
  t->spec.label = "kind";
  MUST(open_table(t, &d));
  gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
  check_floats(b, "x", (const float[]){1, 10, 2, 20, 3, 30, 4, 40, 1, 10}, 10);
  check_ints(b, "y", (const int32_t[]){2, 0, 2, 1, 2}, 5);
  check_floats(b, "weight", (const float[]){1, 1, 1, 1, 0}, 5);
  const float rare = 4.0f / 3, frequent = 4.0f / 6;  // n / (k n_c)
  check_floats(b, "class_weight", (const float[]){frequent, rare, frequent, rare, frequent}, 5);
  CHECK(metadata_of(d, "classes") == 3 && metadata_of(d, "features") == 2, "metadata");
  gr_arena *a = gr_arena_create();
  gr_text text = gr_text_make(a), json = gr_text_make(a);
  gr_dataset_inspect(d, 4, &text);
  CHECK(strstr(text.chars, "not used") && strstr(text.chars, "label: classes"), "%s", text.chars);
  gr_dataset_json(d, &json);
  CHECK(strstr(json.chars, "\"class_names\": [\"blue\", \"green\", \"red\"]"), "%s", json.chars);
  CHECK(!strcmp(gr_dataset_reference(a, d, 3), "green"), "a reference");
  CHECK(strstr(gr_dataset_sample_name(a, d, 3), "table.csv:5"), "the line");
  gr_arena_destroy(a);
  gr_loader_close(l);
  gr_dataset_close(d);
}

// Whole numbers are classes in the order of their values, and fractions are values.
static void labels_are_classes_or_values(void) {
  gr_dataset *d;
  const gr_batch *b;
  for (int value = 0; value < 2; value++) {
    table *t = table_of("a,l\n1,30\n2,-4\n3,5\n4,30\n");
    t->spec.label = "l", t->spec.label_is = value ? GR_LABEL_VALUE : GR_LABEL_AUTO;
    MUST(open_table(t, &d));
    gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
    if (value)
      check_floats(b, "y", (const float[]){30, -4, 5, 30}, 4);
    else
      check_ints(b, "y", (const int32_t[]){2, 0, 1, 2}, 4);
    gr_loader_close(l);
    gr_dataset_close(d);
  }
  table *t = table_of("a,l\n1,0.5\n2,1\n");
  t->spec.label = "l";
  MUST(open_table(t, &d));
  CHECK(metadata_of(d, "classes") == -1, "values");
  gr_dataset_close(d);
  t->spec.label_is = GR_LABEL_CLASS;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 2, "is 0.5, which is no class");
}

// Two series of 5 and 4 rows, windows of 2 rows: none goes from one to the other.
static const char series[] =
    "s,v,l\np,1,a\np,2,b\np,3,b\np,4,a\np,5,a\nq,6,b\nq,7,b\nq,8,c\nq,9,a\n";

static void cuts_windows(void) {
  gr_dataset *d;
  const gr_batch *b;
  table *t = table_of(series);
  t->spec.label = "l", t->spec.series = "s", t->spec.window = 2;
  MUST(open_table(t, &d));
  gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
  gr_type type;
  (void)fixture_field(b, "x", &type);
  CHECK(type.rank == 3 && type.dim[1] == 2 && type.dim[2] == 1, "[n, window, columns]");
  CHECK(b->samples == 4 && metadata_of(d, "window") == 2, "%u windows", b->samples);
  check_floats(b, "x", (const float[]){1, 2, 3, 4, 6, 7, 8, 9}, 8);
  check_ints(b, "y", (const int32_t[]){1, 0, 1, 0}, 4);
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void windows_have_the_last_label_or_the_most_frequent(void) {
  static const int32_t last[] = {1, 0, 0, 2, 0}, most[] = {1, 1, 0, 1, 0};
  for (int majority = 0; majority < 2; majority++) {
    gr_dataset *d;
    const gr_batch *b;
    table *t = table_of(series);
    t->spec.label = "l", t->spec.series = "s", t->spec.window = 3, t->spec.stride = 1;
    t->spec.majority = majority;
    MUST(open_table(t, &d));
    gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
    CHECK(b->samples == 5, "%u windows", b->samples);
    check_floats(b, "x", (const float[]){1, 2, 3, 2, 3, 4, 3, 4, 5, 6, 7, 8, 7, 8, 9}, 15);
    check_ints(b, "y", majority ? most : last, 5);
    gr_loader_close(l);
    gr_dataset_close(d);
  }
}

// Overlapping windows of both splits have no row in common.
static void windows_of_two_splits_share_no_row(void) {
  static char text[65536];
  size_t n = (size_t)snprintf(text, sizeof text, "v\n");
  for (int i = 0; i < 2000; i++) n += (size_t)snprintf(text + n, sizeof text - n, "%d\n", i);
  table *t = table_of(text);
  gr_dataset *d;
  t->spec.window = 5, t->spec.stride = 2, t->options.validation_fraction = 0.3;
  MUST(open_table(t, &d));
  const gr_table *self = gr_dataset_source(d);
  static int of[2000];
  memset(of, -1, sizeof of);
  for (uint32_t i = 0; i < gr_dataset_samples(d); i++) {
    const gr_sample *s = gr_dataset_sample(d, i);
    for (int k = 0; k < 5; k++) {
      int *row = &of[self->samples[s->index].row + (uint32_t)k];
      CHECK(*row < 0 || *row == (int)s->split, "row %d is in both", (int)(row - of));
      *row = (int)s->split;
    }
  }
  uint32_t train = gr_dataset_count(d, GR_SPLIT_TRAIN), all = gr_dataset_samples(d);
  CHECK(train > all / 2 && train < all && d->skipped[0].n > 0, "%u of %u", train, all);
  gr_dataset_close(d);
}

// ---- The split ----------------------------------------------------------------------------------

static void splits_by_column_and_by_file(void) {
  gr_dataset *d;
  const gr_batch *b;
  table *t = table_of("v,part\n1,train\n2,Validation\n3,val\n4,train\n");
  t->spec.split = "part";
  MUST(open_table(t, &d));
  gr_loader *l = whole(d, GR_SPLIT_VALIDATION, &b);
  CHECK(b->samples == 2, "%u", b->samples);
  check_floats(b, "x", (const float[]){2, 3}, 2);
  gr_loader_close(l);
  gr_dataset_close(d);
  t = table_of("v,part\n1,train\n2,later\n");
  t->spec.split = "part";
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 3, "is 'later'");
  t = table_of("v\n1\n2\n");
  fixture_text(t->eval[0] = fixture_path("eval.csv"), "w,v\n9,7\n");
  t->spec.eval = (gr_names){t->eval, 1};
  MUST(open_table(t, &d));
  l = whole(d, GR_SPLIT_VALIDATION, &b);
  CHECK(b->samples == 1 && gr_dataset_count(d, GR_SPLIT_TRAIN) == 2, "%u", b->samples);
  check_floats(b, "x", (const float[]){7}, 1);
  gr_loader_close(l);
  gr_dataset_close(d);
}

// Rows stay in their split when others are added, or when their order is reversed.
static void splits_by_content(void) {
  static bool validation[300];
  int n = 0, moved = 0;
  for (int turn = 0; turn < 2; turn++) {
    static char text[16384];
    size_t offset = (size_t)snprintf(text, sizeof text, "v\n%s", turn ? "5000\n" : "");
    for (int i = 0; i < 300; i++)
      offset += (size_t)snprintf(text + offset, sizeof text - offset, "%d\n", turn ? 299 - i : i);
    table *t = table_of(text);
    gr_dataset *d;
    t->options.validation_fraction = 0.3;
    MUST(open_table(t, &d));
    for (uint32_t i = (uint32_t)turn; i < gr_dataset_samples(d); i++) {
      int v = turn ? 300 - (int)i : (int)i;
      bool held_out = gr_dataset_sample(d, i)->split == GR_SPLIT_VALIDATION;
      if (turn)
        moved += validation[v] != held_out;
      else
        validation[v] = held_out, n += held_out;
    }
    gr_dataset_close(d);
  }
  CHECK(n > 60 && n < 120, "%d of 300 are 0.3", n);
  CHECK(!moved, "%d rows moved", moved);
}

// ---- Statistics ---------------------------------------------------------------------------------

static void normalizes_by_training_rows(void) {
  gr_dataset *d, *e;
  const gr_batch *b;
  table *t = table_of("a,b,part\n1,5,0\n3,5,0\n100,7,1\n");
  t->spec.split = "part", t->spec.normalize = true;
  MUST(open_table(t, &d));
  gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
  check_floats(b, "x", (const float[]){-1, 0, 1, 0, -1, 0}, 6);
  gr_loader_close(l);
  l = whole(d, GR_SPLIT_VALIDATION, &b);
  check_floats(b, "x", (const float[]){98, 2}, 2);
  gr_loader_close(l);
  gr_arena *a = gr_arena_create();
  gr_text saved = gr_text_make(a);
  CHECK(gr_dataset_save(d, &saved), "there is something to save");
  gr_dataset_close(d);
  t = table_of("a,b,part\n7,5,0\n8,6,0\n3,7,1\n");
  t->spec.split = "part", t->spec.normalize = true;
  MUST(open_table(t, &e));
  MUST(gr_dataset_restore(e, saved.chars));
  l = whole(e, GR_SPLIT_TRAIN, &b);
  check_floats(b, "x", (const float[]){5, 0, 6, 1}, 4);
  gr_loader_close(l);
  fixture_fails(gr_dataset_restore(e, "3 1 1 1 1 1 1"), GR_ERR_CHECKPOINT, 0, "of 3 values");
  fixture_fails(gr_dataset_restore(e, "2 1 1 1"), GR_ERR_CHECKPOINT, 0, "damaged");
  gr_dataset_close(e);
  gr_arena_destroy(a);
}

// ---- Arrays -------------------------------------------------------------------------------------

static const char *npy_file(const char *name, const char *descr, const char *shape,
                            const void *values, size_t n) {
  char all[512];
  int head = snprintf(all + 10, 256, "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n",
                      descr, shape);
  memcpy(all, "\x93NUMPY\1\0", 8);
  all[8] = (char)head, all[9] = 0;
  memcpy(all + 10 + head, values, n);
  fixture_bytes(fixture_path("%s.npy", name), all, 10 + (size_t)head + n);
  return fixture_path("%s.npy", name);
}

static void reads_arrays_side_by_side(void) {
  static const unsigned char pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  table *t = table_of("");
  gr_dataset *d;
  const gr_batch *b;
  gr_type type;
  t->paths[0] = npy_file("images", "|u1", "(3, 2, 2)", pixels, 12);
  t->paths[1] = npy_file("digit", "|i1", "(3,)", "\7\3\7", 3);
  t->spec.paths.n = 2, t->spec.label = "digit";
  static const gr_dtype dtypes[] = {GR_F32, GR_I32, GR_I64, GR_U8};
  for (int k = 0; k < 4; k++) {
    t->spec.features.n = 0, t->spec.dtype = dtypes[k];
    MUST(open_table(t, &d));
    gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
    const void *x = fixture_field(b, "x", &type);
    CHECK(type.rank == 3 && type.dim[1] == 2 && type.dim[2] == 2, "[n, 2, 2]");
    CHECK(type.dtype == dtypes[k] && gr_get(x, dtypes[k], 11) == 12 && gr_get(x, dtypes[k], 3) == 4,
          "%s", gr_dtypes[dtypes[k]].name);
    check_ints(b, "y", (const int32_t[]){1, 0, 1}, 3);
    gr_loader_close(l);
    gr_dataset_close(d);
  }
  t->paths[1] = npy_file("digit", "|i1", "(2,)", "\7\3", 2);
  t->spec.features.n = 0;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 0, "has 2 rows, others have 3");
}

static void reads_inputs_of_their_own(void) {
  static const float edges[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5f, 10, 11};
  static const char *names[] = {"edges", "k"};
  table *t = table_of("k,a,l\n7,10,1.5\n-8,20,2.5\n9,30,3.5\n");
  gr_dataset *d;
  const gr_batch *b;
  gr_type type;
  t->paths[1] = npy_file("edges", "<f4", "(3, 2, 2)", edges, sizeof edges);
  t->spec.paths.n = 2, t->spec.label = "l", t->spec.normalize = true;
  t->spec.inputs = (gr_names){names, 2};
  MUST(open_table(t, &d));
  gr_loader *l = whole(d, GR_SPLIT_TRAIN, &b);
  CHECK(metadata_of(d, "features") == 1, "a alone is a feature");
  check_ints(b, "k", (const int32_t[]){7, -8, 9, 7}, 4);
  check_floats(b, "y", (const float[]){1.5f, 2.5f, 3.5f}, 3);
  check_floats(b, "edges", edges, 12);
  (void)fixture_field(b, "edges", &type);
  CHECK(type.rank == 3 && type.dim[1] == 2 && type.dim[2] == 2, "[n, 2, 2]");
  gr_loader_close(l);
  gr_dataset_close(d);
  names[1] = "edges", t->spec.features.n = 0;
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "is there twice");
  names[1] = "weight";
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "is the name of another input");
  names[1] = "k", t->spec.window = 2;
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "samples are windows or series");
  t = table_of("a,k\n1,2\n3,3000000000\n");
  t->spec.inputs = (gr_names){names + 1, 1};
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 3, "that i32 does not hold");
  t = table_of("a,k\n1,u\n3,v\n");
  t->spec.inputs = (gr_names){names + 1, 1};
  gr_status s = open_table(t, &d);
  CHECK(s && strstr(gr_status_hint(s), "leave it out of data.table.inputs"), "the key is named");
  fixture_fails(s, GR_ERR_DATA, 0, "the column 'k' of");
}

// ---- What cannot be -----------------------------------------------------------------------------

static void missing_values_are_named_or_left_out(void) {
  gr_dataset *d;
  table *t = table_of("a,b,l\n1,2,x\n\n3,,y\n4,inf,y\n5,6,\n7,8,x\n");
  t->spec.label = "l";
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 4, "the column 'b' has no value in this line");
  t->options.skip_unreadable = true, t->spec.features.n = 0;
  MUST(open_table(t, &d));
  CHECK(gr_dataset_samples(d) == 2 && gr_dataset_unreadable(d) == 3, "two are left");
  static const char *const said[] = {"table.csv:4:1: the column 'b'",
                                     "table.csv:5:1: 'b' has a value",
                                     "table.csv:6:1: the column 'l'"};
  for (uint64_t i = 0; i < 3; i++) {
    const char *line = gr_dataset_unreadable_line(d, i);
    CHECK(line && strstr(line, said[i]), "%s", line);
  }
  gr_dataset_close(d);
}

static void refuses_what_cannot_be(void) {
  gr_dataset *d;
  table *t = table_of(kinds);
  t->spec.label = "kinds";
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "has no column 'kinds'");
  t = table_of(kinds);
  t->features[0] = "name", t->spec.features = (gr_names){t->features, 1};
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 0, "is text, not numbers");
  t = table_of("k\nx\n");
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "no column of numbers");
  t = table_of("a\n");
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 0, "has no rows, only a line of names");
  t = table_of(kinds);
  t->spec.stride = 2;
  fixture_fails(open_table(t, &d), GR_ERR_CONFIG, 0, "there are no windows");
  t = table_of(kinds);
  t->spec.window = 9;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 1, "which has 4 rows, has the 9 rows of a window");
  t = table_of("a\n1\n2.5\n");
  t->spec.dtype = GR_I32;
  fixture_fails(open_table(t, &d), GR_ERR_DATA, 3, "that i32 does not hold");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_columns_and_classes", reads_columns_and_classes},
             {"labels_are_classes_or_values", labels_are_classes_or_values},
             {"cuts_windows", cuts_windows},
             {"windows_have_the_last_label_or_the_most_frequent",
              windows_have_the_last_label_or_the_most_frequent},
             {"windows_of_two_splits_share_no_row", windows_of_two_splits_share_no_row},
             {"splits_by_column_and_by_file", splits_by_column_and_by_file},
             {"splits_by_content", splits_by_content},
             {"normalizes_by_training_rows", normalizes_by_training_rows},
             {"reads_arrays_side_by_side", reads_arrays_side_by_side},
             {"reads_inputs_of_their_own", reads_inputs_of_their_own},
             {"missing_values_are_named_or_left_out", missing_values_are_named_or_left_out},
             {"refuses_what_cannot_be", refuses_what_cannot_be});
}
