// notes.c - the lines that are printed of a table's columns when it is used. See table.h.
#include <math.h>
#include <string.h>
#include "runtime/data/table/table.h"

enum { MAX_LISTED = 20 };

static void list_name(gr_text *out, int *n, const char *name, const char *why) {
  const char *quote = strchr(name, ',') ? "'" : "";
  if (*n < MAX_LISTED)
    gr_text_printf(out, "%s%s%s%s%s", *n ? ", " : "", quote, name, quote, why);
  else if (*n == MAX_LISTED)
    gr_text_put(out, ", ...");
  ++*n;
}

static bool has_role(const gr_table *t, const gr_table_part *p, int column) {
  bool any = gr_table_is_label(t, p, column) || column == p->split || column == p->series ||
             gr_table_is_input(t, p, column);
  for (int i = 0; i < t->spec.features.n && !any; i++) any = p->features[i] == column;
  return any || p->columns.items[column].one_hot;
}

// Why a column is not among the features that were chosen.
static const char *why_left_out(gr_arena *a, const gr_table_column *c) {
  const gr_column *column = c->csv ? &c->csv->columns[c->csv_column] : NULL;
  if (c->refused) return gr_arena_printf(a, " (%s)", c->refused);
  if (!column) return "";
  if (gr_table_is_empty(c)) return " (no values)";
  if (column->type != GR_COLUMN_TEXT) return " (counts the rows)";
  uint32_t rows, different = gr_csv_distinct(c->csv, c->csv_column, &rows);
  if (column->numbers)
    return gr_arena_printf(a, " (text, %u of %u cells are numbers)", column->numbers,
                           c->csv->rows - column->missing);
  if (gr_csv_names_rows(different, rows)) return " (text, names the rows)";
  return gr_arena_printf(a, " (text, %u value%s)", different, gr_text_s(different));
}

// A column of few texts, which could be features.
static bool has_few_texts(const gr_table_column *c) {
  enum { FEW = 64 };
  uint32_t rows;
  const gr_column *column = c->csv ? &c->csv->columns[c->csv_column] : NULL;
  if (!column || column->type != GR_COLUMN_TEXT || column->numbers) return false;
  uint32_t different = gr_csv_distinct(c->csv, c->csv_column, &rows);
  return different > 1 && different <= FEW && !gr_csv_names_rows(different, rows);
}

static void put_features(const gr_table *t, const gr_table_part *p, gr_text *out) {
  gr_text texts = gr_text_make(out->arena);
  int n_texts = 0;
  gr_text left = gr_text_make(out->arena);
  int used = 0, unused = 0;
  gr_text_printf(out, "%s%d feature%s: ", out->len ? "\n" : "", t->spec.features.n,
                 gr_text_s(t->spec.features.n));
  for (int i = 0; i < t->spec.features.n; i++) list_name(out, &used, t->spec.features.items[i], "");
  for (int i = 0; i < p->columns.n; i++)
    if (!has_role(t, p, i)) {
      const gr_table_column *c = &p->columns.items[i];
      list_name(&left, &unused, c->name, p->chosen ? why_left_out(out->arena, c) : "");
      if (p->chosen && has_few_texts(c)) list_name(&texts, &n_texts, c->name, "");
    }
  if (unused) gr_text_printf(out, "; %d left out: %s", unused, left.chars);
  if (n_texts) gr_text_printf(out, "; data.table.one_hot=[%s] takes texts, too", texts.chars);
}

// Values that no feature stands for.
static void put_unknown(const gr_table_part *p, gr_text *out) {
  char where[GR_COLUMNS_WHERE];
  gr_loc loc = gr_columns_place(&p->columns, p->unknown_row);
  if (!p->unknown) return;
  gr_text_printf(out, "%s%u value%s of '%s' %s none that training has, first in ",
                 out->len ? "\n" : "", p->unknown, gr_text_s(p->unknown), p->columns.path,
                 p->unknown == 1 ? "is" : "are");
  if (loc.file)
    gr_text_printf(out, "%s %d", gr_csv_unit(p->columns.items[0].csv), loc.line);
  else
    gr_text_put(out, gr_columns_where(&p->columns, p->unknown_row, p->columns.path, where));
  gr_text_printf(out, ", of '%s': all features of such a column are 0 there", p->unknown_column);
}

// Files to predict may have the columns that training needs besides the features.
static bool is_trained_on(const gr_table *t, const char *name) {
  const char *const others[] = {t->spec.label, t->spec.split, t->spec.series};
  for (int i = 0; i < 3; i++)
    if (others[i] && !strcmp(others[i], name)) return true;
  for (int i = 0; i < t->spec.labels.n; i++)
    if (!strcmp(t->spec.labels.items[i], name)) return true;
  return false;
}

// Columns of a part that nothing reads; of validation files those that the files to train on have,
// too, are listed there.
static void put_unused(const gr_table *t, const gr_table_part *p, gr_text *out) {
  gr_text names = gr_text_make(out->arena);
  int n = 0;
  for (int i = 0; i < p->columns.n; i++) {
    const char *name = p->columns.items[i].name;
    bool known = t->kept ? is_trained_on(t, name) : gr_columns_find(&t->part[0].columns, name) >= 0;
    if (!known && !has_role(t, p, i)) list_name(&names, &n, name, "");
  }
  if (n)
    gr_text_printf(out, "%s%d other column%s of '%s' %s not used: %s", out->len ? "\n" : "", n,
                   gr_text_s(n), p->columns.path, n == 1 ? "is" : "are", names.chars);
}

// Files that are trained on and validate, too.
static void put_common(const gr_table *t, gr_text *out) {
  for (int i = 0; i < t->spec.eval.n; i++)
    for (int k = 0; k < t->spec.paths.n; k++)
      if (!strcmp(t->spec.eval.items[i], t->spec.paths.items[k]))
        gr_text_printf(
            out, "%s'%s' is for training and for validation: metrics say nothing of other data",
            out->len ? "\n" : "", t->spec.eval.items[i]);
}

// What was found of the format of a part's files of CSV.
static void put_formats(const gr_table *t, const gr_table_part *p, gr_text *out) {
  const gr_csv *last = NULL;
  for (int i = 0; i < p->columns.n; i++) {
    const gr_csv *csv = p->columns.items[i].csv;
    if (csv && csv != last && !csv->typed)
      gr_csv_put_formats(csv->paths, csv->formats, csv->n_paths, &t->spec.csv, out);
    last = csv;
  }
}

// ---- Numbers that f32 rounds ----------------------------------------------------------------

typedef struct spread {
  double least, most, error;  // of finite numbers, and the most that one of them is rounded by
} spread;

static spread spread_of(const gr_array *a) {
  enum { CHUNK = 256 };
  spread s = {INFINITY, -INFINITY, 0};
  double v[CHUNK];
  for (int64_t first = 0; first < a->count; first += CHUNK) {
    int64_t n = a->count - first < CHUNK ? a->count - first : CHUNK;
    gr_array_doubles(a, first, n, v);
    for (int64_t i = 0; i < n; i++) {
      if (!isfinite(v[i])) continue;
      s.least = fmin(s.least, v[i]), s.most = fmax(s.most, v[i]);
      s.error = fmax(s.error, fabs(v[i] - (double)(float)v[i]));
    }
  }
  return s;
}

// A column whose numbers differ by little more than f32 can tell apart where they are, such as
// times in seconds since 1970: x, unless it is normalized in 64 bits, or y.
static void put_rounded(const gr_table_part *p, int column, const char *cure, gr_text *out) {
  enum { LEVELS = 1000 };  // below which a column's numbers are too few
  const gr_table_column *c = &p->columns.items[column];
  spread s = spread_of(&c->values);
  if (!(s.error * LEVELS > s.most - s.least)) return;
  double largest = fmax(fabs(s.least), fabs(s.most));
  gr_text_printf(out,
                 "%s'%s' is from %.15g to %.15g, where f32 has steps of %g, and differences are "
                 "lost: %s",
                 out->len ? "\n" : "", c->name, s.least, s.most,
                 (double)(nextafterf((float)largest, INFINITY) - (float)largest), cure);
}

static void put_all_rounded(const gr_table *t, const gr_table_part *p, gr_text *out) {
  for (int i = 0; i < t->spec.features.n && t->spec.dtype == GR_F32 && !t->spec.normalize; i++)
    put_rounded(p, p->features[i], "data.table.normalize=true computes in 64 bits", out);
  for (int i = 0; i < gr_table_labels(t) && t->spec.label && !t->classes.n && !p->marks; i++)
    put_rounded(p, gr_table_label_column(p, i), "learn the difference from one of them", out);
}

void gr_table_notes(const void *self, gr_text *out) {
  const gr_table *t = self;
  for (int i = 0; i < t->n_parts; i++) put_formats(t, &t->part[i], out);
  for (int i = 0; i < t->n_parts; i++) {
    const gr_table_part *p = &t->part[i];
    put_unknown(p, out);
    if (!p->columns.n || !p->columns.items[0].csv) continue;
    if (!i && !t->kept)
      put_features(t, p, out);
    else
      put_unused(t, p, out);
  }
  for (int i = 0; i < t->n_parts && !t->kept; i++) put_all_rounded(t, &t->part[i], out);
  if (!t->kept) put_common(t, out);
}
