// select.c - selects the columns of features, labels, split and series; see table.h.
#include <string.h>
#include "runtime/data/table/table.h"

// Finds a column that the configuration names in the key `about`.
static gr_status find_column(const gr_table_part *p, const char *name, const char *about,
                             int *out) {
  *out = name ? gr_columns_find(&p->columns, name) : -1;
  if (!name || *out >= 0) return GR_OK;
  gr_arena *a = gr_arena_create();
  const char **names = GR_NEW(a, const char *, p->columns.n + 1);
  for (int i = 0; i < p->columns.n; i++) names[i] = p->columns.at[i].name;
  const char *near = gr_text_nearest(name, names, p->columns.n);
  gr_status s = gr_about(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' has no column '%s'", p->columns.path, name), about);
  const char *list = gr_columns_list(a, &p->columns);
  s = near ? gr_hint(s, "did you mean '%s'? it has: %s", near, list)
           : gr_hint(s, "it has: %s", list);
  gr_arena_destroy(a);
  return s;
}

static gr_status no_features(const gr_table_part *p, int found) {
  gr_arena *a = gr_arena_create();
  gr_status s =
      gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                               found ? "'%s' has several arrays, and "
                                       "data.table.features does not say which are the features"
                                     : "'%s' has no column of numbers for the features",
                               p->columns.path),
                       "features"),
              "it has: %s", gr_columns_list(a, &p->columns));
  gr_arena_destroy(a);
  return s;
}

// A column of text whose cells are mostly numbers, or that the configuration names as a feature.
static gr_status bad_cell(const gr_table_column *c) {
  const gr_column *column = &c->csv->columns[c->csv_column];
  const char *found = column->texts[column->first_text];
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, gr_csv_first_text(c->csv, c->csv_column),
                                  "'%.40s' in the column '%s' is no number, as %u other cell%s of "
                                  "it %s",
                                  found, c->name, column->numbers, gr_text_s(column->numbers),
                                  column->numbers == 1 ? "is" : "are"),
                          "features"),
                 "correct the cell; data.table.on_bad_cell=missing takes it for an empty one; "
                 "data.table.features=[...] names the columns to use");
}

static gr_status not_numbers(const gr_array *a, const char *about) {
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the column '%s' of '%s' is %s, not numbers",
                       a->name, a->file, gr_array_type(a)),
               about),
      "leave it out of the features; a column is text where any cell of it is no number");
}

// Of a column that is to be a feature: text with numbers among it becomes numbers, if that is what
// is to be done with bad cells.
static gr_status need_numbers(const gr_table *t, gr_table_column *c) {
  bool text = gr_array_is_text(&c->values);
  uint32_t numbers = text && c->csv ? c->csv->columns[c->csv_column].numbers : 0;
  if (!text) return GR_OK;
  if (!numbers) return not_numbers(&c->values, "features");
  if (!t->spec.bad_is_missing) return bad_cell(c);
  gr_csv_make_numbers(t->arena, c->csv, c->csv_column);
  c->values = gr_csv_array(c->csv, c->csv_column);
  return GR_OK;
}

enum { MIN_COUNTED = 16 };  // rows: a column that counts fewer may be anything

// Whether each row of a column of whole numbers has one more than the row before: it names the
// rows.
static bool counts_rows(const gr_table_column *c) {
  const gr_array *a = &c->values;
  if (!c->csv || c->csv->columns[c->csv_column].type != GR_COLUMN_INT || a->count < MIN_COUNTED)
    return false;
  const int64_t *v = c->csv->columns[c->csv_column].ints;
  for (int64_t i = 1; i < a->count; i++)
    if (v[i] != v[i - 1] + 1) return false;
  return !c->csv->columns[c->csv_column].missing;
}

static bool has_role(const gr_table_part *p, int column) {
  return column == p->label || column == p->split || column == p->series;
}

// Without data.table.features: all columns of numbers of a CSV file that have no other role and do
// not count the rows; of arrays `x`, or the only array that has no other role.
static gr_status choose_features(gr_table *t, gr_table_part *p) {
  gr_names *names = &t->spec.features;
  names->at = GR_NEW(t->arena, const char *, p->columns.n + 1);
  int x = gr_columns_find(&p->columns, "x");
  bool csv = false;
  p->chosen = true;
  // A column that counts the rows is a feature only where there is no other.
  for (int counted = 0; counted < 2 && !names->n; counted++)
    for (int i = 0; i < p->columns.n; i++) {
      gr_table_column *c = &p->columns.at[i];
      if (has_role(p, i) || counts_rows(c) != (counted == 1)) continue;
      if (c->csv && gr_csv_mostly_numbers(c->csv, c->csv_column)) GR_TRY(need_numbers(t, c));
      if (c->csv && gr_array_is_text(&c->values)) continue;
      csv |= c->csv != NULL;
      names->at[names->n++] = c->name;
    }
  if (!csv && x >= 0) names->at[0] = "x", names->n = 1;
  return names->n == 1 || (names->n && csv) ? GR_OK : no_features(p, names->n);
}

// ---- What is printed of it ----------------------------------------------------------------------

enum { MAX_LISTED = 20 };

static void list_name(gr_text *out, int *n, const char *name, const char *why) {
  if (*n < MAX_LISTED)
    gr_text_printf(out, "%s%s%s", *n ? ", " : "", name, why);
  else if (*n == MAX_LISTED)
    gr_text_put(out, ", ...");
  ++*n;
}

void gr_table_notes(const void *self, gr_text *out) {
  const gr_table *t = self;
  const gr_table_part *p = &t->part[0];
  gr_text left = gr_text_make(out->arena);
  int used = 0, unused = 0;
  if (t->inputs || !p->columns.n || !p->columns.at[0].csv) return;
  gr_text_printf(out, "%d feature%s: ", t->spec.features.n, gr_text_s(t->spec.features.n));
  for (int i = 0; i < t->spec.features.n; i++) list_name(out, &used, t->spec.features.at[i], "");
  for (int i = 0; i < p->columns.n; i++) {
    const gr_table_column *c = &p->columns.at[i];
    bool feature = has_role(p, i);
    for (int k = 0; k < t->spec.features.n; k++) feature |= p->features[k] == i;
    if (feature) continue;
    list_name(&left, &unused, c->name,
              !p->chosen                     ? ""
              : gr_array_is_text(&c->values) ? " (text)"
                                             : " (counts the rows)");
  }
  if (unused) gr_text_printf(out, "; %d left out: %s", unused, left.at);
}

// ---- Shapes -------------------------------------------------------------------------------------

// The shape of a row: that of a single array; several arrays are concatenated to a vector.
static gr_status find_shape(const gr_table *t, gr_table_part *p, int *rank, int64_t *dim) {
  int n = t->spec.features.n;
  *rank = 1, dim[0] = 0;
  for (int i = 0; i < n; i++) {
    const gr_array *a;
    GR_TRY(gr_columns_read(&p->columns, p->features[i], &a));
    GR_TRY(need_numbers(t, &p->columns.at[p->features[i]]));
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
  if (a->rank > 1) return not_numbers(a, "series");
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
  if (t->spec.features.n == 1 && p->columns.n == 1 && !p->columns.at[0].csv)
    p->columns.at[0].name = t->spec.features.at[0];
}

static gr_status open_part(gr_table *t, int part, const gr_names *paths) {
  gr_table_part *p = &t->part[part];
  const gr_table_spec *s = &t->spec;
  int rank;
  int64_t dim[GR_ARRAY_RANK] = {0};
  GR_TRY(gr_columns_open(t->arena, paths->at, paths->n, s->delimiter, s->header, &p->columns));
  t->n_parts = part + 1;
  if (t->inputs) select_input(t, p);
  if (!t->inputs) GR_TRY(find_column(p, s->label, "label", &p->label));
  if (!t->inputs) GR_TRY(find_column(p, s->split, "split", &p->split));
  GR_TRY(find_column(p, s->series, "series", &p->series));
  if (!s->features.n) GR_TRY(choose_features(t, p));
  if (s->features.n > GR_TABLE_FEATURES)
    return gr_about(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there are more than %d features", GR_TABLE_FEATURES),
        "features");
  p->features = GR_NEW(t->arena, int, s->features.n);
  for (int i = 0; i < s->features.n; i++)
    GR_TRY(find_column(p, s->features.at[i], "features", &p->features[i]));
  GR_TRY(find_shape(t, p, &rank, dim));
  if (part && (rank != t->rank || memcmp(dim, t->dim, sizeof dim)))
    return gr_about(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "rows of '%s' are of another shape than those of '%s'",
                p->columns.path, t->part[0].columns.path),
        t->inputs ? "features" : "eval_path");
  t->rank = rank;
  memcpy(t->dim, dim, sizeof dim);
  return find_series(t, p);
}

// The features are those of the run, in its order: this file may have more columns.
static gr_status open_inputs(gr_table *t, const gr_source_request *r) {
  if (!t->spec.features.n) t->spec.features = gr_names_recorded(t->arena, r->record, "features");
  for (int i = 0; i < r->n_inputs; i++) {
    gr_names one = {GR_NEW(t->arena, const char *, 1), 1};
    one.at[0] = r->inputs[i];
    GR_TRY(open_part(t, i, &one));
  }
  return GR_OK;
}

gr_status gr_table_open_columns(gr_table *t, const gr_source_request *r) {
  t->part = GR_NEW(t->arena, gr_table_part, r->n_inputs + 2);
  if (!t->inputs) GR_TRY(open_part(t, 0, &t->spec.paths));
  if (!t->inputs && t->spec.eval.n) GR_TRY(open_part(t, 1, &t->spec.eval));
  if (t->inputs) GR_TRY(open_inputs(t, r));
  GR_TRY(check_shape(t));
  return gr_table_find_channels(t);
}
