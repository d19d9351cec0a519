// csv_shape.c - see csv_shape.h.
#include "runtime/data/csv_shape.h"
#include <string.h>
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/csv_cell.h"

enum { LINES = 16, BYTES = 1 << 20 };  // looked at for the delimiter, and at once

// ---- Text ---------------------------------------------------------------------------------------

static gr_status not_utf8(const char *path, const char *text, const char *cursor) {
  gr_loc loc = {path, 1, 1};
  for (const char *c = text; c < cursor; c++, loc.col++)
    if (*c == '\n') loc.line++, loc.col = 0;
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "the byte 0x%02x is not UTF-8, as texts are",
                         (unsigned)(unsigned char)*cursor),
                 "`iconv -f WINDOWS-1252 -t UTF-8 <%s >NEW.csv` converts what Windows writes in "
                 "Western Europe",
                 path);
}

static gr_status check_lines(const char *path, const char *text, size_t n) {
  const char *end = memchr(text, '\n', n) ? NULL : memchr(text, '\r', n);
  if (!end || end + 1 == text + n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){path, 1, (int)(end - text) + 1},
                         "lines end in CR alone, and should end in LF or CRLF"),
                 "`tr '\\r' '\\n' <%s >NEW.csv` converts them", path);
}

gr_status gr_csv_check_text(const char *path, const char *text, size_t n) {
  const char *end = text + n;
  for (const char *cursor = text; cursor < end;) {
    size_t left = (size_t)(end - cursor);
    const char *stop = cursor + (left < BYTES ? left : BYTES);
    GR_TRY(gr_work_step(0));
    cursor = gr_utf8_after(cursor, stop);
    if (cursor < stop) return not_utf8(path, text, cursor);
  }
  return check_lines(path, text, n);
}

// ---- The delimiter ------------------------------------------------------------------------------

// Of the first lines with something in them; a line in quotes goes on.
typedef struct shape {
  int lines, first, fields;  // their number; of the first its place in the file, and its fields
  int odd_line, odd_fields;  // of the first line that has another number of fields; 0: none
} shape;

// Counts a line's fields. Returns what follows it.
static const char *count_fields(const char *cursor, const char *end, char delimiter, int *fields,
                                int *breaks) {
  bool quoted = false;
  for (*fields = 1, *breaks = 0; cursor < end; cursor++) {
    quoted ^= *cursor == '"';
    if (*cursor == '\n') ++*breaks;
    if (*cursor == '\n' && !quoted) return cursor + 1;
    *fields += *cursor == delimiter && !quoted;
  }
  return end;
}

static bool is_empty(const char *cursor, const char *end) {
  return *cursor == '\n' || (*cursor == '\r' && cursor + 1 < end && cursor[1] == '\n');
}

static shape shape_of(const char *text, size_t n, char delimiter) {
  const char *end = text + (n < BYTES ? n : BYTES), *next;
  shape s = {0};
  for (int line = 1, fields, breaks; text < end && s.lines < LINES; text = next, line += breaks) {
    next = count_fields(text, end, delimiter, &fields, &breaks);
    bool cut = next == end && n > BYTES && next[-1] != '\n';
    if (is_empty(text, end) || cut) continue;
    if (!s.lines++) s.first = line, s.fields = fields;
    if (fields != s.fields && !s.odd_line) s.odd_line = line, s.odd_fields = fields;
  }
  return s;
}

// As it is written between quotes in YAML.
static const char *shown(char delimiter, char out[4]) {
  if (delimiter == '\t') return "\\t";
  snprintf(out, 4, "%c", delimiter);
  return out;
}

static gr_status other_delimiter(const char *path, const shape *given_shape, const shape *could,
                                 char found, const gr_csv_format *f) {
  char a[4], b[4];
  const char *given = shown(f->delimiter, a), *other = shown(found, b);
  gr_loc loc = {path, given_shape->odd_line ? given_shape->odd_line : given_shape->first, 1};
  char first[40] = "";
  if (given_shape->odd_line)
    snprintf(first, sizeof first, " and the first %d", given_shape->fields);
  int fields = given_shape->odd_line ? given_shape->odd_fields : given_shape->fields;
  gr_status s = gr_fail(GR_ERR_DATA, loc,
                        "between '%s' this line has %d field%s%s; between '%s' each of the first "
                        "%d line%s has %d",
                        given, fields, gr_text_s(fields), first, other, could->lines,
                        gr_text_s(could->lines), could->fields);
  if (!f->section)
    return gr_hint(s, "fields of this file are separated by '%s': `tr '%s' '%s' <%s >NEW.csv`",
                   given, other, given, path);
  return gr_hint(s,
                 "set %s.delimiter: \"%s\", or put fields with '%s' in them in quotes; as an "
                 "argument: '%s.delimiter=\"%s\"'",
                 f->section, other, other, f->section, other);
}

// A delimiter by which the first lines have the same number of fields, at least two; 0: they have
// so by the given one, or by none.
static char find_other(const char *text, size_t n, char given, shape *given_shape, shape *best) {
  char found = 0;
  *given_shape = shape_of(text, n, given), *best = (shape){0};
  if (!given_shape->odd_line && given_shape->fields != 1) return 0;
  // Blanks and commas are in texts, too: only where the first line has no other fields.
  for (const char *c = given_shape->fields == 1 ? ";\t|, " : ";\t|"; *c; c++) {
    if (*c == ' ' && found) break;
    const shape s = *c == given ? (shape){0} : shape_of(text, n, *c);
    if (s.fields > 1 && !s.odd_line && s.fields > best->fields) *best = s, found = *c;
  }
  return found;
}

char gr_csv_find_delimiter(const char *text, size_t n) {
  shape given, best;
  char found = find_other(text, n, ',', &given, &best);
  return found ? found : ',';
}

gr_status gr_csv_check_delimiter(const char *path, const char *text, size_t n,
                                 const gr_csv_format *f) {
  shape given, best;
  char found = find_other(text, n, f->delimiter, &given, &best);
  return found ? other_delimiter(path, &given, &best, found, f) : GR_OK;
}

// ---- Names --------------------------------------------------------------------------------------

// Whether all cells are numbers, and do not count up by one as names do that are numbers.
static bool are_numbers(const char *text, char *const *cells, int n) {
  bool counted = n > 1;
  int64_t number, before = 0;
  double any;
  for (int i = 0; i < n; i++) {
    bool quoted = cells[i] > text && cells[i][-1] == '"';
    if (quoted || !gr_cell_float(cells[i], &any) || gr_cell_missing(cells[i])) return false;
    counted = counted && gr_cell_int(cells[i], &number) && (!i || number - 1 == before);
    before = counted ? number : 0;
  }
  return !counted;
}

static bool is_quoted(const char *text, const char *cell) { return cell > text && cell[-1] == '"'; }

// Whether a cell of the first row has a fraction, and is above numbers.
static bool is_value(const char *text, char *const *cells, size_t rows, int width, int column) {
  const char *cell = cells[column];
  int64_t whole;
  double any;
  size_t numbers = 0;
  if (is_quoted(text, cell)) return false;
  if (gr_cell_missing(cell) || gr_cell_int(cell, &whole) || !gr_cell_float(cell, &any))
    return false;
  for (size_t row = 1; row < rows && row < LINES; row++) {
    const char *below = cells[row * (size_t)width + (size_t)column];
    if (gr_cell_missing(below)) continue;
    if (!gr_cell_float(below, &any)) return false;
    numbers++;
  }
  return numbers;
}

// Whether a text of the first row, or a number in quotes, stands below it again as it is there,
// more than once, as a class does.
static bool is_repeated(const char *text, char *const *cells, size_t rows, int width, int column) {
  const char *cell = cells[column];
  double any;
  int n = 0;
  bool quoted = is_quoted(text, cell), number = gr_cell_float(cell, &any);
  if (gr_cell_missing(cell) || (number && !quoted)) return false;
  for (size_t row = 1; row < rows && row < LINES; row++) {
    const char *below = cells[row * (size_t)width + (size_t)column];
    n += !strcmp(below, cell) && (!number || is_quoted(text, below));
  }
  return n > 1;
}

bool gr_csv_has_names(const char *text, char *const *cells, size_t rows, int width) {
  if (are_numbers(text, cells, width)) return false;
  for (int c = 0; c < width; c++)
    if (is_value(text, cells, rows, width, c) || is_repeated(text, cells, rows, width, c))
      return false;
  return true;
}

gr_status gr_csv_check_names(gr_loc loc, const char *text, char *const *cells, int n,
                             const gr_csv_format *f) {
  if (!f->section || !are_numbers(text, cells, n)) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, loc,
                                  "the first line should name the columns, and has numbers only, "
                                  "as a row has"),
                          "header"),
                 "%s.header=false names the columns c0, c1, ...; names that are numbers are put "
                 "in quotes",
                 f->section);
}
