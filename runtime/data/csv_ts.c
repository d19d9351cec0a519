// csv_ts.c - series in the format .ts of sktime and aeon (aeon-toolkit.org, "The .ts file format";
// timeseriesclassification.com): a head of lines that begin with @, then a series on each line, its
// dimensions between ':' and their values between ','. A row of the table is a moment: the number
// of its series, a value of each dimension, and the class or the target of the series. See
// csv_kinds.h.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/csv_cell.h"
#include "runtime/data/csv_kinds.h"

typedef struct ts {
  gr_cut *cut;
  int line;
  int dimensions;   // 0: as many as the first series has
  int64_t length;   // of each series; 0: any
  bool equal;       // all series are as long as the first
  bool label;       // each ends in a class or a target
  bool class;       // a class
  gr_map classes;   // that the head names; none: any
  char **value;     // of the series: by dimension and moment
  int64_t moments;  // of the series
  bool named;       // the columns are
} ts;

static gr_status fail(const ts *f, const char *word, const char *what) {
  return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1}, "%s%s%s", word, *word ? " " : "",
                 what);
}

// ---- The head -----------------------------------------------------------------------------------

static bool is_true(const char *words) {
  return strcspn(words, " \t") == 4 && !strncasecmp(words, "true", 4);
}

static gr_status read_number(const ts *f, const char *word, const char *value, int64_t *out) {
  if (gr_cell_int(value, out) && *out > 0 && *out <= GR_CSV_COLUMNS) return GR_OK;
  return fail(f, word, "is a whole number above 0, of at most 65536");
}

// true a b c: the classes follow.
static void read_classes(ts *f, char *words) {
  f->label = f->class = true;
  for (char *word = words + strcspn(words, " \t"); *(word += strspn(word, " \t"));) {
    char *end = word + strcspn(word, " \t"), after = *end;
    *end = 0;
    gr_cut_allow(f->cut, &f->classes, word);
    word = after ? end + 1 : end;
  }
}

// Reads a line that begins with '@'; *data: values follow it. Other words say nothing of the
// values.
static gr_status read_word(ts *f, char *line, bool *data) {
  char *value = line + strcspn(line, " \t");
  int64_t n = 0;
  if (*value) *value++ = 0;
  value += strspn(value, " \t");
  *data = !strcasecmp(line, "@data");
  if (!strcasecmp(line, "@univariate") && is_true(value)) f->dimensions = 1;
  if (!strcasecmp(line, "@equalLength")) f->equal = is_true(value);
  if (!strcasecmp(line, "@timeStamps") && is_true(value))
    return gr_hint(fail(f, line, "true is not read: values have no time stamps"),
                   "values of moments that are equally far apart, without '(time,value)'");
  if (!strcasecmp(line, "@dimensions") || !strcasecmp(line, "@dimension")) {
    GR_TRY(read_number(f, line, value, &n));
    f->dimensions = (int)n;
  }
  if (!strcasecmp(line, "@seriesLength")) GR_TRY(read_number(f, line, value, &f->length));
  if (!strcasecmp(line, "@classLabel") && is_true(value)) read_classes(f, value);
  if (!strcasecmp(line, "@targetLabel")) f->label |= is_true(value);
  return GR_OK;
}

static gr_status read_head(ts *f) {
  bool data = false;
  for (char *line; !data && (line = gr_cut_line(f->cut, '#', &f->line));) {
    if (*line != '@')
      return gr_hint(fail(f, "", "expected a line that begins with '@'"),
                     "the head of a .ts file ends with @data, and the series follow");
    GR_TRY(read_word(f, line, &data));
  }
  return data ? GR_OK : fail(f, "", "there is no line @data, which the series follow");
}

static gr_status name_columns(ts *f) {
  gr_arena *a = f->cut->arena;
  int n = 0;
  char **names = GR_NEW(a, char *, f->dimensions + 2);
  names[n++] = gr_arena_strdup(a, "series");
  for (int i = 0; i < f->dimensions; i++) names[n++] = gr_arena_printf(a, "dim_%d", i);
  if (f->label) names[n++] = gr_arena_strdup(a, f->class ? "class" : "target");
  return gr_cut_names(f->cut, names, n, 1);
}

// ---- A series -----------------------------------------------------------------------------------

// Cuts a dimension into values, which it ends with NULs; returns how many.
static int64_t cut_values(char *text, char **value) {
  int64_t n = 0;
  for (char *next = text; next; n++) {
    value[n] = next + strspn(next, " \t");
    next = strchr(next, ',');
    if (next) *next++ = 0;
    if (!strcmp(value[n], "?")) *value[n] = 0;  // missing
  }
  return n;
}

static gr_status check_length(ts *f, int dimension, int64_t n) {
  if (!dimension) f->moments = n;
  if (f->equal && !f->length) f->length = n;
  if (n == f->moments && (!f->length || n == f->length)) return GR_OK;
  int64_t expected = n == f->moments ? f->length : f->moments;
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
              "the dimension %d has %lld value%s, and %lld %s expected", dimension, (long long)n,
              gr_text_s(n), (long long)expected, expected == 1 ? "is" : "are"),
      "the dimensions of a series are of one length, and with @equalLength true those "
      "of all series");
}

// The parts between ':' are the dimensions, and with labels one more.
static gr_status cut_parts(ts *f, char *line, char **label) {
  int n = 0;
  int64_t values = 0;
  *label = f->label ? strrchr(line, ':') : NULL;
  if (f->label && !*label) return fail(f, "", "there is no class or target after a last ':'");
  if (*label) **label = 0, ++*label;
  for (char *next = line, *part; next; n++) {
    part = next;
    next = strchr(part, ':');
    if (next) *next++ = 0;
    int64_t k = cut_values(part, f->value + values);
    GR_TRY(check_length(f, n, k));
    values += k;
  }
  if (!f->dimensions) f->dimensions = n;
  if (n == f->dimensions) return GR_OK;
  return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                 "this series has %d dimension%s, and %d %s expected", n, gr_text_s(n),
                 f->dimensions, f->dimensions == 1 ? "is" : "are");
}

static gr_status add_rows(ts *f, char *label) {
  char *number = gr_arena_printf(f->cut->arena, "%lld", (long long)++f->cut->series);
  for (int64_t i = 0; i < f->moments; i++) {
    GR_TRY(gr_cut_cell(f->cut, number));
    for (int64_t d = 0; d < f->dimensions; d++)
      GR_TRY(gr_cut_cell(f->cut, f->value[d * f->moments + i]));
    if (label) GR_TRY(gr_cut_cell(f->cut, label));
    GR_TRY(gr_cut_end_row(f->cut, f->line, f->dimensions + 1 + (label != NULL)));
  }
  return gr_work_step(0);
}

static gr_status read_series(ts *f, char *line) {
  char *label;
  free(f->value);
  f->value = malloc((strlen(line) + 1) * sizeof *f->value);
  if (!f->value) return fail(f, "", "is too long: there is no memory for its values");
  if (strchr(line, '('))
    return fail(f, "", "has values with time stamps, '(time,value)', which are not read");
  GR_TRY(cut_parts(f, line, &label));
  while (label && (*label == ' ' || *label == '\t')) label++;
  if (f->class && f->classes.n && !gr_cut_allows(&f->classes, label))
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                           "the class '%s' is none of those of @classLabel", label),
                   "correct it, or add it to @classLabel");
  if (!f->named) GR_TRY(name_columns(f));
  f->named = true;
  return add_rows(f, label);
}

gr_status gr_cut_ts(gr_cut *r) {
  ts f = {.cut = r, .line = 1, .classes = gr_map_make(r->arena)};
  size_t before = r->n_rows;
  gr_status s = read_head(&f);
  for (char *line; !s && (line = gr_cut_line(r, '#', &f.line));) s = read_series(&f, line);
  free(f.value);
  if (!s && r->n_rows == before) s = fail(&f, "", "there are no series after @data");
  return s;
}
