// new_columns.c - see new_columns.h.
#include "cli/new_columns.h"
#include <math.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "runtime/data/table/columns.h"

gr_status gr_new_read_table(gr_arena *a, const char *path, gr_csv *out) {
  gr_csv_format format = gr_csv_any;
  gr_columns columns;
  format.section = "data.table";
  GR_TRY(gr_columns_open(a, &path, 1, &format, GR_SPLIT_BY_KEY, NULL, &columns));
  *out = *columns.items[0].csv;  // in the arena
  out->path = path;              // also of a pattern
  gr_columns_close(&columns);
  const gr_loc names = {path, 1, 1};
  if (!out->rows)
    return gr_hint(gr_fail(GR_ERR_DATA, names, "there are no rows, only a line of names"),
                   "write the rows below it");
  if (out->n_columns > 1) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, names, "there is one column, '%s'", out->columns[0].name),
                 "a table has a column to predict and others, between ',', ';', '|' or tabs");
}

// A column whose name is one of the words, up to NULL; -1: none is.
static int find_usual(const gr_csv *t, const char *const *words) {
  for (; *words; words++)
    for (int c = 0; c < t->n_columns; c++)
      if (!strcasecmp(t->columns[c].name, *words)) return c;
  return -1;
}

enum { FEW = 20, ROWS_EACH = 10 };

// Whether a column could be a class of texts.
static bool has_few(const gr_csv *t, int column) {
  uint32_t rows, distinct = gr_csv_distinct(t, column, &rows);
  return distinct > 1 && distinct <= FEW && 2 * (uint64_t)rows > t->rows;
}

bool gr_new_is_value(const gr_csv *t, int label, uint32_t *distinct) {
  uint32_t rows;
  *distinct = gr_csv_distinct(t, label, &rows);
  const gr_column *c = &t->columns[label];
  bool whole = true;  // 1.0 is
  for (uint32_t i = 0; i < t->rows && c->type == GR_COLUMN_FLOAT; i++)
    whole &= gr_csv_missing(t, i, label) || floor(c->floats[i]) == c->floats[i];
  return c->type != GR_COLUMN_TEXT && (!whole || *distinct > FEW);
}

bool gr_new_has_names(const gr_csv *t, int column) {
  uint32_t rows, distinct = gr_csv_distinct(t, column, &rows);
  return t->columns[column].type == GR_COLUMN_TEXT && distinct > FEW &&
         (uint64_t)ROWS_EACH * distinct > rows;
}

// Whether most cells are of several words.
static bool has_words(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  uint32_t n = 0;
  if (c->type != GR_COLUMN_TEXT) return false;
  for (uint32_t i = 0; i < t->rows; i++) n += strchr(c->texts[i], ' ') != NULL;
  return 2 * (uint64_t)n > t->rows;
}

static gr_status no_column(const gr_csv *t, const char *name) {
  enum { MOST = 32 };
  const char *names[MOST];
  int n = t->n_columns < MOST ? t->n_columns : MOST;
  for (int c = 0; c < n; c++) names[c] = t->columns[c].name;
  gr_status s =
      gr_fail(GR_ERR_USAGE, (gr_loc){t->path, 1, 1}, "--label: there is no column '%s'", name);
  return gr_hint_names(gr_hint_near(s, name, names, n), "it has: ", names, n,
                       n < t->n_columns ? ", ..." : "");
}

// Whether rows without names begin with a class, and have numbers with fractions behind it alone,
// as series of UCR.
static bool begins_with_class(const gr_csv *t) {
  uint32_t distinct;
  bool fractions = !t->typed && !t->format.header && t->columns[0].type != GR_COLUMN_TEXT;
  for (int c = 1; c < t->n_columns; c++) fractions &= t->columns[c].type == GR_COLUMN_FLOAT;
  return fractions && has_few(t, 0) && !gr_new_is_value(t, 0, &distinct);
}

int gr_new_find_usual(const gr_csv *t, bool text) {
  static const char *const usual[] = {"label",    "class",   "target",    "y",
                                      "category", "outcome", "sentiment", NULL};
  for (int i = 0; text && usual[i]; i++)
    for (int c = 0; c < t->n_columns; c++)
      if (!strcasecmp(t->columns[c].name, usual[i]) && (!i || t->columns[c].type == GR_COLUMN_TEXT))
        return c;
  return find_usual(t, usual);
}

gr_status gr_new_find_label(const gr_csv *t, const char *given, int text, int *out) {
  *out = given ? gr_csv_find(t, given) : gr_new_find_usual(t, false);
  if (given && *out < 0) return no_column(t, given);
  for (int c = t->n_columns - 1; *out < 0 && text >= 0 && c >= 0; c--)
    if (c != text && has_few(t, c)) *out = c;
  if (*out < 0 && text < 0 && begins_with_class(t)) *out = 0;
  for (int c = t->n_columns - 1; *out < 0 && c >= 0; c--)
    if (c != text && t->columns[c].missing < t->rows && !gr_new_has_names(t, c) &&
        !gr_csv_counts_rows(t, c))
      *out = c;
  for (int c = t->n_columns - 1; *out < 0 && text >= 0 && c >= 0; c--)
    if (c != text && has_words(t, c)) *out = c;
  if (*out < 0) *out = t->n_columns - 1;
  return GR_OK;
}

bool gr_new_has_classes(const gr_csv *t, int column) {
  uint32_t rows, distinct = gr_csv_distinct(t, column, &rows);
  return has_few(t, column) && !has_words(t, column) && 2 * (uint64_t)distinct <= rows;
}

// ---- Texts --------------------------------------------------------------------------------------

enum { LEAST_BYTES = 16 };  // on average, of texts with a class

// The mean length of a column of text, in bytes.
static double mean_length(const gr_csv *t, int column) {
  double sum = 0;
  for (uint32_t i = 0; i < t->rows; i++) sum += (double)strlen(t->columns[column].texts[i]);
  return t->rows ? sum / t->rows : 0;
}

// Whether a column is a number beside texts: it does not name the rows, nor their classes.
static bool is_beside_text(const gr_csv *t, int column) {
  uint32_t rows, distinct = gr_csv_distinct(t, column, &rows);
  gr_column_type type = t->columns[column].type;
  int numbers = 0;
  for (int c = 0; c < t->n_columns; c++) numbers += t->columns[c].type != GR_COLUMN_TEXT;
  if (numbers == 1 && type == GR_COLUMN_INT && distinct > 1 && distinct <= FEW) return false;
  return type == GR_COLUMN_FLOAT || (type == GR_COLUMN_INT && distinct < rows);
}

int gr_new_find_text(const gr_csv *t, int label) {
  static const char *const usual[] = {"text",  "sentence", "message", "review",   "comment",
                                      "tweet", "content",  "body",    "document", NULL};
  int best = find_usual(t, usual);
  double most = label >= 0 && gr_new_has_names(t, label) ? 0 : LEAST_BYTES;
  if (best >= 0 && best != label && has_words(t, best)) return best;
  best = -1;
  for (int c = 0; c < t->n_columns; c++) {
    if (c == label) continue;
    if (is_beside_text(t, c)) return -1;
    double length = has_words(t, c) ? mean_length(t, c) : 0;
    if (length > most) best = c, most = length;
  }
  return best;
}

int gr_new_tokens(double bytes, int step) {
  enum { MOST = 1024 };
  int64_t n = (int64_t)(2 * bytes) / step * step + step;
  return n < MOST ? (int)n : MOST;
}

int gr_new_text_tokens(const gr_csv *t, int text, int step) {
  return gr_new_tokens(mean_length(t, text), step);
}

// ---- Features -----------------------------------------------------------------------------------

bool gr_new_is_one_hot(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  uint32_t rows, distinct = gr_csv_distinct(t, column, &rows);
  return c->type == GR_COLUMN_TEXT && !c->numbers && !gr_csv_is_flags(t, column) &&
         has_few(t, column) && distinct < rows;  // else it names them
}

// As training without data.table.features chooses them, and those of data.table.one_hot.
static bool is_feature(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  if (gr_csv_is_flags(t, column) || gr_new_is_one_hot(t, column)) return true;
  return c->type != GR_COLUMN_TEXT && c->missing < t->rows && !gr_csv_counts_rows(t, column);
}

gr_status gr_new_check_features(const gr_csv *t, int label) {
  for (int c = 0; c < t->n_columns; c++)
    if (c != label && (is_feature(t, c) || gr_csv_mostly_numbers(t, c)))
      return GR_OK;  // training says which cells are no numbers
  return gr_hint(
      gr_fail(GR_ERR_USAGE, ((gr_loc){t->path, 1, 1}),
              "no column but '%s' is of numbers or of few texts, to predict it by",
              t->columns[label].name),
      "--label=COLUMN predicts another column; texts are taken from a column of "
      "sentences, beside one of classes; numbers have no units: 12.5, not $12.50 or 12.5 %%");
}

// Whether a column is a feature is asked once: to say so may take a look at all rows.
uint32_t gr_new_incomplete_rows(const gr_csv *t, int label) {
  gr_arena *arena = gr_arena_create();
  bool *reads = GR_NEW(arena, bool, t->n_columns);
  uint32_t n = 0;
  for (int c = 0; c < t->n_columns; c++) reads[c] = c == label || is_feature(t, c);
  for (uint32_t row = 0; row < t->rows; row++) {
    bool incomplete = false;
    for (int c = 0; c < t->n_columns && !incomplete; c++)
      incomplete = reads[c] && gr_csv_missing(t, row, c);
    n += incomplete;
  }
  gr_arena_destroy(arena);
  return n;
}

// ---- Series -------------------------------------------------------------------------------------

uint32_t gr_new_series_rows(const gr_csv *t, int series) {
  const int64_t *ids = t->columns[series].ints;
  uint32_t least = t->rows;
  for (uint32_t row = 0, first = 0; row < t->rows; row++) {
    if (row + 1 < t->rows && ids[row] == ids[row + 1]) continue;
    if (row + 1 - first < least) least = row + 1 - first;
    first = row + 1;
  }
  return least;
}

bool gr_new_is_series(const gr_csv *t, int label) {
  enum { LEAST = 16 };
  bool series = t->n_columns > LEAST;
  for (int c = 0; c < t->n_columns && series; c++) {
    const char *name = t->columns[c].name;
    bool numbered = strspn(name + strcspn(name, "0123456789"), "0123456789") > 0;
    series = c == label || (numbered && t->columns[c].type != GR_COLUMN_TEXT);
  }
  return series;
}
