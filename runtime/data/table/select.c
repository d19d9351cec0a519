// select.c - selects the columns of features, labels, split and series; see table.h.
#include <string.h>
#include "base/file.h"
#include "base/port.h"
#include "runtime/data/file_list.h"
#include "runtime/data/files.h"
#include "runtime/data/table/table.h"

// A file for validation, or for the weights of a run, lacks a column of the file that was trained
// on; else the configuration names a column that is not there.
static gr_status fail_column(const gr_table *t, const gr_table_part *p, const char *name,
                             const char *about) {
  const gr_columns *c = &p->columns;
  if (!t->kept && p == t->part)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' has no column '%s'", c->path, name);
  const char *what = !strcmp(about, "features") ? "a feature"
                     : !strcmp(about, "inputs") ? "an input"
                                                : NULL;
  return gr_fail(GR_ERR_DATA, gr_columns_names(c), "'%s' has no column '%s', %s%s of %s%s%s",
                 c->path, name, what ? what : "the ", what ? "" : about, t->kept ? "" : "'",
                 t->kept ? "the run" : t->part[0].columns.path, t->kept ? "" : "'");
}

static gr_status no_column(const gr_table *t, const gr_table_part *p, const char *name,
                           const char *about) {
  gr_arena *a = gr_arena_create();
  const char **names = GR_NEW(a, const char *, p->columns.n + 1);
  for (int i = 0; i < p->columns.n; i++) names[i] = p->columns.items[i].name;
  const char *near = gr_text_nearest(name, names, p->columns.n);
  gr_status s = gr_about(fail_column(t, p, name, about), about);
  const char *list = gr_columns_list(a, &p->columns);
  s = near ? gr_hint(s, "did you mean '%s'? it has: %s", near, list)
           : gr_hint(s, "it has: %s", list);
  const gr_csv *csv = p->columns.n ? p->columns.items[0].csv : NULL;
  if (strchr(name, ',')) s = gr_hint(s, "several are a list: %s.%s=[%s]", t->section, about, name);
  if (csv && (gr_csv_named_by_numbers(csv) || (t->kept && !csv->format.header)))
    s = gr_hint(s, t->kept || p != t->part
                       ? "if its first line is a row, put the line of names before it"
                       : "if its first line is a row, data.table.header=false names the columns "
                         "c0, c1, ...");
  return gr_arena_end(a, s);
}

// Finds a column that the configuration names in the key `about`, or that the run has read.
static gr_status find_column(const gr_table *t, const gr_table_part *p, const char *name,
                             const char *about, int *out) {
  *out = name ? gr_columns_find(&p->columns, name) : -1;
  return name && *out < 0 ? no_column(t, p, name, about) : GR_OK;
}

static gr_status no_features(const gr_table *t, const gr_table_part *p, int found) {
  gr_arena *a = gr_arena_create();
  gr_status s =
      gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                               found ? "'%s' has several arrays, and "
                                       "data.table.features does not say which are the features"
                                     : "'%s' has no column of numbers for the features",
                               p->columns.path),
                       "features"),
              "it has: %s", gr_columns_list(a, &p->columns));
  if (t->spec.inputs.n)
    s = gr_hint(s, "one of data.table.inputs may be x instead: data.table.features=[%s]",
                t->spec.inputs.items[0]);
  return gr_arena_end(a, s);
}

static bool has_role(const gr_table *t, const gr_table_part *p, int column) {
  return gr_table_is_label(t, p, column) || column == p->split || column == p->series ||
         gr_table_is_input(t, p, column);
}

// Without data.table.features: all columns of numbers, or of true and false, of a CSV file that
// have values, no other role, and do not count the rows; of arrays `x`, or the only array that has
// no other role.
static gr_status choose_features(gr_table *t, gr_table_part *p) {
  gr_names *names = &t->spec.features;
  names->items = GR_NEW(t->arena, const char *, p->columns.n + 1);
  int x = gr_columns_find(&p->columns, "x");
  if (x < 0) x = gr_columns_find(&p->columns, "X");
  bool csv = false;
  p->chosen = true;
  // A column that counts the rows is a feature only where there is no other.
  for (int counted = 0; counted < 2 && !names->n; counted++)
    for (int i = 0; i < p->columns.n; i++) {
      gr_table_column *c = &p->columns.items[i];
      if (c->refused || c->one_hot || has_role(t, p, i) || gr_table_is_empty(c) ||
          (!c->value && c->csv && !gr_table_is_id(t, c->name) &&
           gr_csv_counts_rows(c->csv, c->csv_column)) != (counted == 1))
        continue;
      if (c->csv &&
          (gr_csv_mostly_numbers(c->csv, c->csv_column) || gr_csv_is_flags(c->csv, c->csv_column)))
        GR_TRY(gr_table_need_numbers(t, "features", c));
      if (c->csv && gr_array_is_text(&c->values)) continue;
      csv |= c->csv != NULL;
      names->items[names->n++] = c->name;
    }
  if (!csv && x >= 0) names->items[0] = p->columns.items[x].name, names->n = 1;
  return names->n == 1 || (names->n && csv) ? GR_OK : no_features(t, p, names->n);
}

// ---- Shapes -------------------------------------------------------------------------------------

// The shape of a row: that of a single array; several arrays are concatenated to a vector.
static gr_status find_shape(const gr_table *t, gr_table_part *p, int *rank, int64_t *dim) {
  int n = t->spec.features.n;
  *rank = 1, dim[0] = 0;
  for (int i = 0; i < n; i++) {
    const gr_array *a;
    GR_TRY(gr_columns_read(&p->columns, p->features[i], &a));
    GR_TRY(gr_table_need_numbers(t, "features", &p->columns.items[p->features[i]]));
    if (n > 1 && a->rank > 2)
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "'%s' has %d dimensions, and is one of "
                                      "%d features",
                                      a->name, a->rank, n),
                              "features"),
                     "several features are columns, or arrays [rows, columns]");
    if (n == 1 && a->rank > 1) *rank = a->rank - 1;
    for (int k = 1; n == 1 && k < a->rank; k++) dim[k - 1] = a->dim[k];
    if (n > 1 || a->rank == 1) dim[0] += a->rank > 1 ? a->dim[1] : 1;
  }
  return GR_OK;
}

static gr_status check_shape(gr_table *t) {
  t->width = 1;
  for (int k = 0; k < t->rank; k++)
    if (t->dim[k] < 1 || __builtin_mul_overflow(t->width, t->dim[k], &t->width) ||
        t->width > 1 << 28)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "a row of '%s' has no values, or more than 2^28",
                     t->part[0].columns.path);
  if (t->rank + 1 + (t->spec.window > 0) <= GR_MAX_RANK) return GR_OK;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "batches of '%s' have more than %d dimensions",
                 t->part[0].columns.path, GR_MAX_RANK);
}

// Finds the rows of each series, which are contiguous.
static gr_status find_series(gr_table *t, gr_table_part *p) {
  const gr_array *a;
  if (p->series < 0) return GR_OK;
  GR_TRY(gr_columns_read(&p->columns, p->series, &a));
  if (a->rank > 1)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' of '%s' has %d dimensions",
                                    a->name, a->file, a->rank),
                            "series"),
                   "a column names the series of each row");
  gr_arena *scratch = gr_arena_create();
  p->series_end = GR_NEW(t->arena, uint32_t, a->count + 1);
  const char *next = NULL;
  for (int64_t row = a->count; row-- > 0;) {
    const char *text = gr_array_text(scratch, a, row);
    bool same = next && !strcmp(text, next);
    p->series_end[row] = same ? p->series_end[row + 1] : (uint32_t)row + 1;
    next = text;
  }
  gr_arena_destroy(scratch);
  return GR_OK;
}

// A file to predict has features, and may have a series. A single array is the features by
// whatever name.
static void select_input(const gr_table *t, gr_table_part *p) {
  p->label = p->split = -1;
  if (t->spec.features.n == 1 && p->columns.n == 1 && !p->columns.items[0].csv)
    p->columns.items[0].name = t->spec.features.items[0];
}

// Those of the run, by name, where columns have names of their own, or are values: the file may
// have others, in another order.
static void recall_features(gr_table *t, const gr_table_part *p, const gr_json *record) {
  bool csv = false;
  for (int i = 0; i < p->columns.n; i++) csv |= p->columns.items[i].csv != NULL;
  gr_names recorded = gr_names_recorded(t->arena, record, "features");
  if (recorded.n && ((csv && !t->spec.features.n) || t->spec.one_hot.n))
    t->spec.features = recorded;
}

static gr_status add_one_hot(gr_table *t, gr_table_part *p) {
  for (int i = 0, column; i < t->spec.one_hot.n; i++) {
    GR_TRY(find_column(t, p, t->spec.one_hot.items[i], "one_hot", &column));
    GR_TRY(gr_table_one_hot(t, p, column));
  }
  return GR_OK;
}

gr_status gr_table_find_labels(const gr_table *t, gr_table_part *p) {
  const gr_table_spec *s = &t->spec;
  GR_TRY(find_column(t, p, s->label, "label", &p->label));
  p->labels = GR_NEW(t->arena, int, s->labels.n + 1);
  for (int i = 0; i < s->labels.n; i++)
    GR_TRY(find_column(t, p, s->labels.items[i], "label", &p->labels[i]));
  return GR_OK;
}

static gr_status find_roles(const gr_table *t, gr_table_part *p) {
  const gr_table_spec *s = &t->spec;
  GR_TRY(find_column(t, p, s->series, "series", &p->series));
  for (int i = 0; i < s->inputs.n; i++)
    GR_TRY(find_column(t, p, s->inputs.items[i], "inputs", &p->more[i]));
  if (t->inputs) return GR_OK;
  GR_TRY(gr_table_find_labels(t, p));
  GR_TRY(find_column(t, p, s->split, "split", &p->split));
  for (int i = 0; p->label >= 0 && i < gr_table_labels(t); i++)
    GR_TRY(gr_table_need_label(t, &p->columns.items[gr_table_label_column(p, i)]));
  return GR_OK;
}

// A model that reads its label has nothing to learn.
static gr_status check_roles(const gr_table *t, const gr_table_part *p) {
  for (int i = 0; i < t->spec.features.n; i++) {
    bool label = gr_table_is_label(t, p, p->features[i]);
    if (!label && p->features[i] != p->split) continue;
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "the column '%s' is the %s, and is among "
                                    "data.table.features",
                                    t->spec.features.items[i], label ? "label" : "split"),
                            "features"),
                   label
                       ? "leave it out of the features: the model would read what it is to predict"
                       : "leave it out of the features");
  }
  return GR_OK;
}

static gr_status check_some(const gr_table_part *p) {
  if (p->columns.rows) return GR_OK;
  gr_loc names = gr_columns_names(&p->columns);
  gr_status s =
      gr_fail(GR_ERR_DATA, names, "'%s' has no rows%s", p->columns.path,
              names.file && !p->columns.items[0].csv->typed ? ", only a line of names" : "");
  return gr_hint(s, "a row is a sample: write some, or name another file");
}

// The columns that have a role, where the features are known: the others of a Parquet file are not
// read.
static const gr_names *used_columns(const gr_table *t) {
  const gr_table_spec *s = &t->spec;
  const char *const others[] = {s->label, s->split, s->series};
  gr_names *used = GR_NEW(t->arena, gr_names, 1);
  if (!s->features.n) return NULL;
  used->items =
      GR_NEW(t->arena, const char *, s->features.n + s->one_hot.n + s->labels.n + s->inputs.n + 3);
  for (int i = 0; i < s->features.n; i++) used->items[used->n++] = s->features.items[i];
  for (int i = 0; i < s->one_hot.n; i++) used->items[used->n++] = s->one_hot.items[i];
  for (int i = 0; i < s->labels.n; i++) used->items[used->n++] = s->labels.items[i];
  for (int i = 0; i < s->inputs.n; i++) used->items[used->n++] = s->inputs.items[i];
  for (int i = 0; i < 3; i++)
    if (others[i]) used->items[used->n++] = others[i];
  return used;
}

static gr_status open_part(gr_table *t, int part, const gr_names *paths, gr_split split,
                           const gr_json *record) {
  gr_table_part *p = &t->part[part];
  const gr_table_spec *s = &t->spec;
  int rank;
  int64_t dim[GR_ARRAY_RANK] = {0};
  gr_status opened = gr_columns_open(t->arena, paths->items, paths->n, &s->csv, split,
                                     used_columns(t), &p->columns);
  GR_TRY(opened && !gr_status_about(opened) ? gr_about(opened, part ? "eval_path" : "path")
                                            : opened);
  t->n_parts = part + 1;
  if (t->inputs) select_input(t, p);
  GR_TRY(check_some(p));
  GR_TRY(find_roles(t, p));
  recall_features(t, p, record);
  GR_TRY(add_one_hot(t, p));
  if (!s->features.n) GR_TRY(choose_features(t, p));
  if (s->features.n > GR_TABLE_FEATURES)
    return gr_about(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there are more than %d features", GR_TABLE_FEATURES),
        "features");
  p->features = GR_NEW(t->arena, int, s->features.n);
  for (int i = 0; i < s->features.n; i++)
    GR_TRY(find_column(t, p, s->features.items[i], "features", &p->features[i]));
  GR_TRY(check_roles(t, p));
  for (int i = 0, column; i < s->ids.n; i++)
    GR_TRY(find_column(t, p, s->ids.items[i], "ids", &column));
  GR_TRY(gr_table_check_ids(t, p));
  GR_TRY(find_shape(t, p, &rank, dim));
  GR_TRY(gr_table_find_inputs(t, p));
  if (part && (rank != t->rank || memcmp(dim, t->dim, sizeof dim)))
    return gr_about(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "rows of '%s' are of another shape than those of '%s'",
                p->columns.path, t->part[0].columns.path),
        t->inputs ? "features" : "eval_path");
  t->rank = rank;
  memcpy(t->dim, dim, sizeof dim);
  return find_series(t, p);
}

static gr_status check_input(const char *path) {
  if (gr_is_file(path) || gr_file_kind(path)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no file '%s'", path),
                 "correct the path");
}

// The features are those of the run, in its order: this file may have more columns.
static gr_status open_inputs(gr_table *t, const gr_source_request *r) {
  if (!t->spec.features.n || t->spec.one_hot.n)
    t->spec.features = gr_names_recorded(t->arena, r->record, "features");
  for (int i = 0; i < r->n_inputs; i++) {
    GR_TRY(check_input(r->inputs[i]));
    gr_names one = {GR_NEW(t->arena, const char *, 1), 1};
    one.items[0] = r->inputs[i];
    GR_TRY(open_part(t, i, &one, GR_SPLIT_VALIDATION, r->record));
  }
  return GR_OK;
}

static gr_status find_each(gr_arena *a, const gr_names *paths) {
  for (int i = 0; i < paths->n; i++) {
    gr_names files;
    GR_TRY(gr_file_list_match(a, paths->items[i], &files));
    GR_TRY(gr_files_there(files.items, files.n));
  }
  return GR_OK;
}

// Before the first is read, which may take long.
static gr_status find_files(const gr_table *t) {
  if (t->inputs) return GR_OK;  // each says what is wrong with it (open_inputs)
  GR_TRY(gr_about(find_each(t->arena, &t->spec.paths), "path"));
  return gr_about(find_each(t->arena, &t->spec.eval), "eval_path");
}

// The files to train on, and those for validation, which may be arrays of the same files.
static gr_status open_parts(gr_table *t, const gr_source_request *r) {
  const gr_table_spec *s = &t->spec;
  GR_TRY(open_part(t, 0, &s->paths, GR_SPLIT_TRAIN, r->record));
  bool both = t->part[0].columns.has_other && !s->split;
  if (!s->eval.n && !both) return GR_OK;
  return open_part(t, 1, s->eval.n ? &s->eval : &s->paths, GR_SPLIT_VALIDATION, r->record);
}

gr_status gr_table_open_columns(gr_table *t, const gr_source_request *r) {
  GR_TRY(find_files(t));
  t->part = GR_NEW(t->arena, gr_table_part, r->n_inputs + 2);
  t->kept = r->record || t->inputs;
  GR_TRY(t->inputs ? open_inputs(t, r) : open_parts(t, r));
  GR_TRY(check_shape(t));
  return gr_table_find_channels(t);
}
