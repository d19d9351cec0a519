// csv_arff.c - Weka's attribute-relation file format
// (waikato.github.io/weka-wiki/formats_and_processing/arff_stable): a head of attributes, then rows
// with their values between commas. See csv_kinds.h.
#include <string.h>
#include <strings.h>
#include "base/work.h"
#include "runtime/data/csv_kinds.h"

typedef struct arff {
  gr_cut *cut;
  int line;
  char **names;
  gr_map **values;  // of nominal attributes; NULL: of others
  int n, room;
} arff;

static gr_loc here(const arff *f, const char *position) {
  return (gr_loc){f->cut->path, f->line, (int)(position - f->cut->line_start) + 1};
}

static char *after_blanks(char *p) { return p + strspn(p, " \t"); }

static char unescaped(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c; }

// Takes a value: in quotes of either kind, with escapes by '\', or up to one of `ends`. *p becomes
// what follows it and blanks; a NUL belongs to *end, which may be there.
static gr_status take_value(const arff *f, char **p, const char *ends, char **value, char **end) {
  char *start = *p = after_blanks(*p), quote = *start, *to = start + 1, *next = start + 1;
  bool quoted = quote == '\'' || quote == '"';
  *value = start + quoted;
  if (!quoted) {
    *p += strcspn(*p, ends);
    for (*end = *p; *end > start && strchr(" \t", (*end)[-1]);) --*end;
    return GR_OK;
  }
  for (; *next && *next != quote; next++) {
    bool escaped = *next == '\\' && next[1];
    next += escaped, *to++ = escaped ? unescaped(*next) : *next;
  }
  if (!*next)
    return gr_hint(gr_fail(GR_ERR_DATA, here(f, start), "a value in quotes does not end"),
                   "close it with %c; inside it the quote has a '\\' before it", quote);
  *end = to, *p = after_blanks(next + 1);
  return GR_OK;
}

static bool begins(const char *line, const char *word) {
  size_t n = strlen(word);
  return !strncasecmp(line, word, n) && (!line[n] || strchr(" \t", line[n]));
}

// ---- The head -----------------------------------------------------------------------------------

// Reads the list of an attribute's values, {red, 'dark blue'}.
static gr_status read_values(const arff *f, char *p, gr_map **out) {
  char *value, *end, stop = ',';
  *out = GR_NEW(f->cut->arena, gr_map, 1);
  **out = gr_map_make(f->cut->arena);
  for (p++; stop == ',';) {
    GR_TRY(take_value(f, &p, ",}", &value, &end));
    stop = *p;
    if (stop != ',' && stop != '}')
      return gr_hint(
          gr_fail(GR_ERR_DATA, here(f, p), "the list of an attribute's values does not end"),
          "{red, 'dark blue'}");
    p++, *end = 0;
    gr_cut_allow(f->cut, *out, value);
  }
  return GR_OK;
}

// What values are, the reader of tables finds: their types are inferred, and text among numbers is
// an error there.
static gr_status check_type(const arff *f, const char *p) {
  static const char *const types[] = {"numeric", "real", "integer", "string", "date"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (*p == '{' || begins(p, types[i])) return GR_OK;
  gr_status s = gr_fail(GR_ERR_DATA, here(f, p), "an attribute of the type '%.40s' is not read", p);
  return gr_hint(s, begins(p, "relational")
                        ? "series of several dimensions are read of .ts files"
                        : "types are numeric, real, integer, {a, b}, string and date");
}

static gr_status read_attribute(arff *f, char *p) {
  char *name, *end;
  GR_TRY(take_value(f, &p, " \t{", &name, &end));
  if (end == name || f->n >= GR_CSV_COLUMNS)
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(f, p),
                end == name ? "the attribute has no name" : "there are too many attributes"),
        "@attribute width numeric");
  if (f->n == f->room) {
    char **names = GR_NEW(f->cut->arena, char *, f->room = 2 * f->room + 16);
    gr_map **values = GR_NEW(f->cut->arena, gr_map *, f->room);
    for (int i = 0; i < f->n; i++) names[i] = f->names[i], values[i] = f->values[i];
    f->names = names, f->values = values;
  }
  p = after_blanks(p);
  GR_TRY(check_type(f, p));
  if (*p == '{') GR_TRY(read_values(f, p, &f->values[f->n]));
  f->names[f->n++] = gr_arena_strndup(f->cut->arena, name, (size_t)(end - name));
  return GR_OK;
}

static gr_status read_head(arff *f) {
  for (char *line; (line = gr_cut_line(f->cut, '%', &f->line));) {
    if (begins(line, "@data") && f->n) return gr_cut_names(f->cut, f->names, f->n, f->line);
    if (begins(line, "@attribute"))
      GR_TRY(read_attribute(f, line + strlen("@attribute")));
    else if (!begins(line, "@relation"))
      return gr_hint(gr_fail(GR_ERR_DATA, here(f, line), "expected @relation, @attribute or @data"),
                     "attributes come before @data; a comment begins with '%%'");
  }
  return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                 "there is no line @data, which the rows follow");
}

// ---- Rows ---------------------------------------------------------------------------------------

// More values than attributes are an error of the row.
static gr_status check_value(const arff *f, int column, const char *value) {
  if (column >= f->n || !f->values[column] || gr_cut_allows(f->values[column], value)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, here(f, value), "'%s' is none of the values of the attribute '%s'",
              value, f->names[column]),
      "correct it, or add it to the list of @attribute");
}

static gr_status read_row(arff *f, char *p) {
  char *value, *end, stop = ',';
  int n = 0;
  if (*p == '{')
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(f, p), "sparse rows, {number value, ...}, are not read"),
        "Weka's filter SparseToNonSparse writes all values");
  for (; stop == ','; n++) {
    GR_TRY(take_value(f, &p, ",", &value, &end));
    stop = *p;
    if (stop && stop != ',')
      return gr_fail(GR_ERR_DATA, here(f, p), "there is text after a value's closing quote");
    p += stop != 0, *end = 0;
    if (!strcmp(value, "?")) *value = 0;  // missing
    GR_TRY(check_value(f, n, value));
    GR_TRY(gr_cut_cell(f->cut, value));
  }
  GR_TRY(gr_cut_end_row(f->cut, f->line, n));
  return gr_work_step(0);
}

gr_status gr_cut_arff(gr_cut *r) {
  arff f = {.cut = r, .line = 1};
  size_t before = r->n_rows;
  GR_TRY(read_head(&f));
  for (char *line; (line = gr_cut_line(r, '%', &f.line));) GR_TRY(read_row(&f, line));
  return r->n_rows > before
             ? GR_OK
             : gr_fail(GR_ERR_DATA, (gr_loc){r->path, f.line, 1}, "there are no rows after @data");
}
