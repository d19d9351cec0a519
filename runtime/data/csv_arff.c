// csv_arff.c - Weka's attribute-relation file format
// (waikato.github.io/weka-wiki/formats_and_processing/ arff_stable): a head of attributes, then
// rows with their values between commas. See csv_kinds.h.
#include <string.h>
#include <strings.h>
#include "base/map.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/csv_cell.h"
#include "runtime/data/csv_kinds.h"

typedef struct attribute {
  bool numeric, nominal;  // else text
  gr_map values;          // of a nominal one
} attribute;

typedef struct arff {
  gr_cut *cut;
  int line;
  const char *start;  // of the line
  attribute *attributes;
  char **names;
  int n, room;
} arff;

static gr_loc here(const arff *f, const char *position) {
  return (gr_loc){f->cut->path, f->line, (int)(position - f->start) + 1};
}

// ---- Words --------------------------------------------------------------------------------------

static char *after_blanks(char *p) { return p + strspn(p, " \t"); }

static char unescaped(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c; }

// Takes a value: in quotes of either kind, with escapes by '\', or up to one of `ends`. *p becomes
// what follows it and blanks; *end, where a NUL belongs, may be there. *quoted: it was in quotes.
static gr_status take_value(const arff *f, char **p, const char *ends, char **value, char **end,
                            bool *quoted) {
  char *start = *p = after_blanks(*p), quote = *start, *to = start + 1, *next = start + 1;
  *quoted = quote == '\'' || quote == '"';
  *value = start + *quoted;
  if (!*quoted) {
    *p += strcspn(*p, ends);
    for (*end = *p; *end > start && strchr(" \t", (*end)[-1]);) --*end;
    return GR_OK;
  }
  for (; *next && *next != quote; next++) {
    if (*next == '\\' && next[1])
      *to++ = unescaped(*++next);
    else
      *to++ = *next;
  }
  if (!*next)
    return gr_hint(gr_fail(GR_ERR_DATA, here(f, start), "a value in quotes does not end"),
                   "close it with %c; inside it the quote has a '\\' before it", quote);
  *end = to;
  *p = after_blanks(next + 1);
  return GR_OK;
}

static bool begins(const char *line, const char *word) {
  size_t n = strlen(word);
  return !strncasecmp(line, word, n) && (!line[n] || strchr(" \t", line[n]));
}

// ---- The head -----------------------------------------------------------------------------------

static gr_status read_nominal(arff *f, char *p, attribute *out) {
  char *value, *end;
  bool quoted;
  out->nominal = true, out->values = gr_map_make(f->cut->arena);
  for (char stop = ','; stop == ',';) {
    GR_TRY(take_value(f, &p, ",}", &value, &end, &quoted));
    stop = *p;
    if (stop != ',' && stop != '}')
      return gr_hint(gr_fail(GR_ERR_DATA, here(f, p), "expected ',' or '}' after a value"),
                     "@attribute colour {red, 'light blue'}");
    p++, *end = 0;
    gr_map_put(&out->values, value, 1);
  }
  return GR_OK;
}

static gr_status read_type(arff *f, char *p, attribute *out) {
  if (*p == '{') return read_nominal(f, p + 1, out);
  out->numeric = begins(p, "numeric") || begins(p, "real") || begins(p, "integer");
  if (out->numeric || begins(p, "string") || begins(p, "date")) return GR_OK;
  gr_status s = gr_fail(GR_ERR_DATA, here(f, p), "an attribute of the type '%.40s' is not read", p);
  if (begins(p, "relational"))
    return gr_hint(s,
                   "series of several dimensions are read of .ts files, which the archives have "
                   "of the same data sets");
  return gr_hint(s, "types are numeric, real, integer, {a, b}, string and date");
}

static void make_room(arff *f) {
  if (f->n < f->room) return;
  f->room = 2 * f->room + 16;
  attribute *more = GR_NEW(f->cut->arena, attribute, f->room);
  char **names = GR_NEW(f->cut->arena, char *, f->room);
  for (int i = 0; i < f->n; i++) more[i] = f->attributes[i], names[i] = f->names[i];
  f->attributes = more, f->names = names;
}

static gr_status read_attribute(arff *f, char *p) {
  char *name, *end;
  bool quoted;
  GR_TRY(take_value(f, &p, " \t{", &name, &end, &quoted));
  p = after_blanks(p);
  if (end == name || f->n >= GR_CSV_COLUMNS)
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(f, p),
                end == name ? "the attribute has no name" : "there are too many attributes"),
        "@attribute width numeric");
  make_room(f);
  f->names[f->n] = gr_arena_strndup(f->cut->arena, name, (size_t)(end - name));
  f->attributes[f->n] = (attribute){0};
  return read_type(f, p, &f->attributes[f->n++]);
}

static gr_status read_head(arff *f) {
  for (char *line; (line = gr_cut_line(f->cut, '%', &f->line));) {
    f->start = f->cut->line_start;
    if (begins(line, "@data") && !f->n)
      return gr_fail(GR_ERR_DATA, here(f, line), "there are no attributes before @data");
    if (begins(line, "@data")) return gr_cut_names(f->cut, f->names, f->n, f->line);
    if (begins(line, "@attribute"))
      GR_TRY(read_attribute(f, line + strlen("@attribute")));
    else if (!begins(line, "@relation"))
      return gr_hint(gr_fail(GR_ERR_DATA, here(f, line), "expected @relation, @attribute or @data"),
                     "a comment begins with '%%'");
  }
  return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                 "there is no line @data, which the rows follow");
}

// ---- Rows ---------------------------------------------------------------------------------------

static gr_status check_cell(const arff *f, int i, char *value, bool quoted) {
  double number;
  const attribute *a = &f->attributes[i];
  if (!strcmp(value, "?") && !quoted) *value = 0;  // missing
  if (!*value && !quoted) return GR_OK;
  if (a->numeric && !gr_cell_float(value, &number))
    return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                   "'%.40s' is no number, as values of the attribute '%s' are", value, f->names[i]);
  if (!a->nominal || gr_map_find(&a->values, value, NULL)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                         "'%.40s' is none of the values of the attribute '%s'", value, f->names[i]),
                 "its line @attribute lists them");
}

static gr_status read_row(arff *f, char *p) {
  char *value, *end, stop = ',';
  bool quoted;
  int n = 0;
  if (*p == '{')
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(f, p), "sparse rows, {number value, ...}, are not read"),
        "Weka's filter SparseToNonSparse writes all values");
  for (; stop == ','; n++) {
    GR_TRY(take_value(f, &p, ",", &value, &end, &quoted));
    stop = *p;
    if (stop && stop != ',')
      return gr_fail(GR_ERR_DATA, here(f, p), "there is text after a value's closing quote");
    p += stop != 0, *end = 0;
    if (n < f->n) GR_TRY(check_cell(f, n, value, quoted));
    GR_TRY(gr_cut_cell(f->cut, value));
  }
  if (n != f->n)
    return gr_fail(GR_ERR_DATA, (gr_loc){f->cut->path, f->line, 1},
                   "this row has %d value%s, and there are %d attributes", n, gr_text_s(n), f->n);
  GR_TRY(gr_cut_end_row(f->cut, f->line, n));
  return gr_work_step(0);
}

gr_status gr_cut_arff(gr_cut *r) {
  arff f = {.cut = r, .line = 1};
  size_t before = r->n_rows;
  GR_TRY(read_head(&f));
  for (char *line; (line = gr_cut_line(r, '%', &f.line));) {
    f.start = r->line_start;
    GR_TRY(read_row(&f, line));
  }
  return r->n_rows > before
             ? GR_OK
             : gr_fail(GR_ERR_DATA, (gr_loc){r->path, f.line, 1}, "there are no rows after @data");
}
