// csv.c - see csv.h. The text is split in place: a NUL at the end of each field replaces the
// character after it.
#include "runtime/data/csv.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/csv_cell.h"
#include "runtime/data/csv_shape.h"
#include "runtime/data/encoding.h"

const gr_csv_format gr_csv_fixed = {.delimiter = ',', .header = true};

typedef struct reader {
  gr_arena *arena;
  const char *path;
  const gr_csv_format *format;
  char *text, *cursor, *line_start, *end;
  int line;
  char **cells;  // of all rows, consecutively
  int *lines;    // by row
  size_t n_cells, cap_cells, n_rows, cap_rows;
  int width;  // fields per row; 0: not known yet
} reader;

static gr_loc here(const reader *r, const char *position) {
  return (gr_loc){r->path, r->line, (int)(position - r->line_start) + 1};
}

// Makes room for one more element; may move the array.
static void *grow(void *list, size_t n, size_t *cap, size_t size) {
  if (n < *cap) return list;
  *cap = *cap ? 2 * *cap : 1024;
  void *more = realloc(list, *cap * size);
  if (!more) free(list);
  return more;
}

// ---- Splitting ----------------------------------------------------------------------------------

// A field is followed by a delimiter, the end of its line, or the end of the file. *more: by a
// delimiter.
static gr_status end_field(reader *r, char *end_of_text, bool *more) {
  char *p = r->cursor;
  *more = p < r->end && *p == r->format->delimiter;
  bool cr = p + 1 < r->end && p[0] == '\r' && p[1] == '\n';
  if (p < r->end && !*more && !cr && *p != '\n')
    return gr_hint(gr_fail(GR_ERR_DATA, here(r, p), "there is text after a field's closing quote"),
                   "inside a quoted field a quote is written twice");
  r->cursor += p < r->end ? 1 + cr : 0;
  *end_of_text = 0;
  if (!*more) r->line++, r->line_start = r->cursor;
  return GR_OK;
}

// Reads a quoted field; text after a doubled quote is shifted to the left.
static gr_status cut_quoted(reader *r, bool *more) {
  gr_loc start = here(r, r->cursor);
  char *to = ++r->cursor;
  for (; r->cursor < r->end; r->cursor++) {
    if (*r->cursor == '"' && (r->cursor + 1 == r->end || r->cursor[1] != '"')) break;
    r->cursor += *r->cursor == '"';
    *to++ = *r->cursor;
    if (*r->cursor == '\n') r->line++, r->line_start = r->cursor + 1;
  }
  if (r->cursor == r->end)
    return gr_hint(gr_fail(GR_ERR_DATA, start, "a quoted field does not end"),
                   "close it with '\"'; inside it a quote is written twice");
  r->cursor++;
  return end_field(r, to, more);
}

static gr_status cut_plain(reader *r, bool *more) {
  char *p = r->cursor;
  while (p < r->end && *p != r->format->delimiter && *p != '\n' && *p != '"') p++;
  if (p < r->end && *p == '"')
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(r, p), "a quote is inside a field that has none around it"),
        "put the field in quotes, and write the quote inside it twice");
  r->cursor = p;
  if (p < r->end && *p == '\n' && p > r->line_start && p[-1] == '\r') r->cursor--;
  return end_field(r, r->cursor, more);
}

static gr_status no_memory(const reader *r) {
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the fields of '%s'", r->path);
}

static gr_status other_width(const reader *r, int line, int n) {
  char delimiter = r->format->delimiter;
  gr_status s = gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1},
                        "this line has %d field%s, the first has %d", n, gr_text_s(n), r->width);
  if (n < r->width) return gr_hint(s, "a field with nothing in it has its '%c', too", delimiter);
  if (r->width == 1 && r->format->header)
    s = gr_hint(s, "the first line names all columns: remove lines before it");
  return gr_hint(s, "a field with the delimiter '%c' in it is put in quotes", delimiter);
}

static gr_status cut_row(reader *r) {
  int line = r->line, n = 0;
  for (bool more = true; more; n++) {
    r->cells = grow(r->cells, r->n_cells, &r->cap_cells, sizeof *r->cells);
    if (!r->cells) return no_memory(r);
    r->cells[r->n_cells++] = r->cursor + (*r->cursor == '"');
    GR_TRY(*r->cursor == '"' ? cut_quoted(r, &more) : cut_plain(r, &more));
  }
  if (!r->width) r->width = n;
  if (n > GR_CSV_COLUMNS)
    return gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1}, "there are more than %d columns",
                   GR_CSV_COLUMNS);
  if (n != r->width) return other_width(r, line, n);
  r->lines = grow(r->lines, r->n_rows, &r->cap_rows, sizeof *r->lines);
  if (!r->lines) return no_memory(r);
  r->lines[r->n_rows++] = line;
  return r->n_rows < UINT32_MAX
             ? GR_OK
             : gr_fail(GR_ERR_DATA, here(r, r->cursor), "there are too many lines");
}

static bool skip_empty_line(reader *r) {
  size_t n = *r->cursor == '\r' && r->cursor[1] == '\n' ? 2 : *r->cursor == '\n';
  r->cursor += n, r->line += n > 0;
  if (n) r->line_start = r->cursor;
  return n;
}

enum { ROWS_A_STEP = 1024 };

static gr_status cut(reader *r) {
  size_t mark = 0;
  GR_TRY(gr_encoding_check(r->path, r->cursor, (size_t)(r->end - r->cursor), &mark));
  char *nul = memchr(r->cursor, 0, (size_t)(r->end - r->cursor));
  for (char *c = r->cursor; nul && c < nul; c++)
    if (*c == '\n') r->line++, r->line_start = c + 1;
  if (nul) return gr_fail(GR_ERR_DATA, here(r, nul), "there is a NUL byte: this is no text");
  r->cursor += mark, r->text = r->cursor;
  GR_TRY(gr_csv_check_text(r->path, r->cursor, (size_t)(r->end - r->cursor)));
  GR_TRY(gr_csv_check_delimiter(r->path, r->cursor, (size_t)(r->end - r->cursor), r->format));
  while (r->cursor < r->end) {
    if (!skip_empty_line(r)) GR_TRY(cut_row(r));
    if (!(r->n_rows % ROWS_A_STEP)) GR_TRY(gr_work_step(0));
  }
  return r->n_rows ? GR_OK : gr_fail(GR_ERR_DATA, (gr_loc){r->path, 1, 1}, "the table is empty");
}

// ---- Columns ------------------------------------------------------------------------------------

static gr_status same_names(const reader *r, const char *name) {
  double number;
  gr_status s = gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){r->path, r->lines[0], 1}, "two columns are called '%s'", name),
      "give each a name of its own");
  if (!r->format->section || !gr_cell_float(name, &number)) return s;
  return gr_hint(s, "if the first line is a row, %s.header=false names them c0, c1, ...",
                 r->format->section);
}

static gr_status name_columns(const reader *r, gr_csv *out) {
  bool header = r->format->header;
  gr_map seen = gr_map_make(r->arena);
  gr_loc first = {r->path, r->lines[0], 1};
  if (header) GR_TRY(gr_csv_check_names(first, r->text, r->cells, r->width, r->format));
  out->n_columns = r->width;
  out->columns = GR_NEW(r->arena, gr_column, r->width);
  for (int c = 0; c < r->width; c++) {
    const char *name = header ? r->cells[c] : "";
    out->columns[c].unnamed = header && !*name;
    if (!*name) name = gr_arena_printf(r->arena, "c%d", c);
    if (gr_map_find(&seen, name, NULL)) return same_names(r, name);
    gr_map_put(&seen, name, (uint32_t)c);
    out->columns[c].name = name;
  }
  return GR_OK;
}

static const char *cell_at(const reader *r, size_t first, size_t row, int c) {
  return r->cells[(first + row) * (size_t)r->width + (size_t)c];
}

static gr_column_type find_type(const reader *r, size_t first, size_t rows, int c) {
  gr_column_type type = GR_COLUMN_INT;
  int64_t i;
  double f;
  for (size_t row = 0; row < rows && type != GR_COLUMN_TEXT; row++) {
    const char *cell = cell_at(r, first, row, c);
    if (gr_cell_missing(cell)) continue;
    if (type == GR_COLUMN_INT && !gr_cell_int(cell, &i)) type = GR_COLUMN_FLOAT;
    if (type == GR_COLUMN_FLOAT && !gr_cell_float(cell, &f)) type = GR_COLUMN_TEXT;
  }
  return type;
}

// Cells keep their place in the text of their line, unless an earlier one was in quotes.
static void find_first_text(const reader *r, size_t first, size_t rows, int c, gr_column *out) {
  bool found = false;
  double f;
  for (size_t row = 0; row < rows; row++) {
    const char *cell = cell_at(r, first, row, c);
    if (gr_cell_missing(cell)) continue;
    bool number = gr_cell_float(cell, &f);
    out->numbers += number, out->commas += !number && gr_cell_has_commas(cell);
    if (number || found) continue;
    found = true, out->first_text = (uint32_t)row;
    out->first_text_column = (int)(cell - cell_at(r, first, row, 0)) + 1;
  }
}

static void fill_column(const reader *r, size_t first, size_t rows, int c, bool *holes,
                        gr_column *out) {
  int64_t *ints = NULL;
  double *floats = NULL;
  const char **texts = NULL;
  out->type = find_type(r, first, rows, c);
  if (out->type == GR_COLUMN_INT) out->ints = ints = GR_NEW(r->arena, int64_t, rows);
  if (out->type == GR_COLUMN_FLOAT) out->floats = floats = GR_NEW(r->arena, double, rows);
  if (out->type == GR_COLUMN_TEXT) out->texts = texts = GR_NEW(r->arena, const char *, rows);
  if (texts) find_first_text(r, first, rows, c, out);
  for (size_t row = 0; row < rows; row++) {
    const char *cell = cell_at(r, first, row, c);
    bool hole = gr_cell_missing(cell);
    if (hole && !out->missing++) out->first_missing = (uint32_t)row;
    holes[row * (size_t)r->width + (size_t)c] = hole;
    if (texts) texts[row] = cell;
    if (ints && !hole) (void)gr_cell_int(cell, ints + row);
    if (floats && !hole) (void)gr_cell_float(cell, floats + row);
  }
}

static gr_status make_columns(const reader *r, gr_csv *out) {
  size_t first = r->format->header, rows = r->n_rows - first;
  GR_TRY(name_columns(r, out));
  int *lines = GR_NEW(r->arena, int, rows);
  memcpy(lines, r->lines + first, rows * sizeof *lines);
  bool *holes = GR_NEW(r->arena, bool, rows *(size_t)r->width);
  out->rows = (uint32_t)rows, out->lines = lines, out->holes = holes;
  for (int c = 0; c < r->width; c++) fill_column(r, first, rows, c, holes, &out->columns[c]);
  return GR_OK;
}

gr_status gr_csv_read(gr_arena *a, const char *path, const gr_csv_format *format, gr_csv *out) {
  reader r = {.arena = a, .path = path, .format = format, .line = 1};
  char *text;
  size_t n;
  int fd;
  *out = (gr_csv){.path = path, .format = *format};
  GR_TRY(gr_file_open(path, GR_ERR_DATA, &fd));  // reports a data error
  close(fd);
  GR_TRY(gr_file_read(a, path, GR_CSV_BYTES, &text, &n));
  r.cursor = r.line_start = text, r.end = text + n;
  gr_status s = cut(&r);
  s = s ? s : make_columns(&r, out);
  free(r.cells);
  free(r.lines);
  return s;
}

int gr_csv_find(const gr_csv *t, const char *name) {
  for (int i = 0; i < t->n_columns; i++)
    if (!strcmp(t->columns[i].name, name)) return i;
  return -1;
}

bool gr_csv_missing(const gr_csv *t, uint32_t row, int column) {
  assert(row < t->rows && column >= 0 && column < t->n_columns);
  return t->holes[(size_t)row * (size_t)t->n_columns + (size_t)column];
}

bool gr_csv_mostly_numbers(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  uint64_t numbers = (uint64_t)c->numbers + c->commas;
  return c->type == GR_COLUMN_TEXT && 2 * numbers > t->rows - c->missing;
}

bool gr_csv_named_by_numbers(const gr_csv *t) {
  int n = 0;
  double number;
  for (int i = 0; i < t->n_columns; i++) n += gr_cell_float(t->columns[i].name, &number);
  return t->format.header && 2 * n > t->n_columns;
}

uint32_t gr_csv_distinct(const gr_csv *t, int column, uint32_t *rows) {
  gr_arena *a = gr_arena_create();
  gr_map seen = gr_map_make(a);
  gr_array cells = gr_csv_array(t, column);
  *rows = 0;
  for (uint32_t row = 0; row < t->rows && *rows < GR_CSV_COMPARED; row++) {
    if (gr_csv_missing(t, row, column)) continue;
    ++*rows;
    const char *text = gr_array_text(a, &cells, row);
    if (!gr_map_find(&seen, text, NULL)) gr_map_put(&seen, text, row);
  }
  uint32_t n = seen.n;
  gr_arena_destroy(a);
  return n;
}

gr_loc gr_csv_first_text(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  assert(c->type == GR_COLUMN_TEXT);
  return (gr_loc){t->path, t->lines[c->first_text], c->first_text_column};
}

// Makes cells that are no numbers missing. Whether those that are left are all integers.
static bool drop_texts(gr_csv *t, int column) {
  gr_column *c = &t->columns[column];
  bool whole = true;
  int64_t i;
  double f;
  for (uint32_t row = 0; row < t->rows; row++) {
    bool *hole = &t->holes[(size_t)row * (size_t)t->n_columns + (size_t)column];
    if (!*hole && !gr_cell_float(c->texts[row], &f)) {
      if (!c->missing++ || row < c->first_missing) c->first_missing = row;
      *hole = true;
    }
    whole = whole && (*hole || gr_cell_int(c->texts[row], &i));
  }
  return whole;
}

void gr_csv_make_numbers(gr_arena *a, gr_csv *t, int column) {
  gr_column *c = &t->columns[column];
  if (c->type != GR_COLUMN_TEXT) return;
  c->type = drop_texts(t, column) ? GR_COLUMN_INT : GR_COLUMN_FLOAT;
  int64_t *ints = GR_NEW(a, int64_t, t->rows);
  double *floats = GR_NEW(a, double, t->rows);
  for (uint32_t row = 0; row < t->rows; row++) {
    if (gr_csv_missing(t, row, column)) continue;
    if (c->type == GR_COLUMN_INT)
      (void)gr_cell_int(c->texts[row], ints + row);
    else
      (void)gr_cell_float(c->texts[row], floats + row);
  }
  c->ints = ints, c->floats = floats;
}

gr_array gr_csv_array(const gr_csv *t, int column) {
  assert(column >= 0 && column < t->n_columns);
  const gr_column *c = &t->columns[column];
  gr_array a = {.file = t->path, .name = c->name, .rank = 1, .dim = {t->rows}, .count = t->rows};
  if (c->type == GR_COLUMN_INT)
    a.element = GR_ELEMENT_INT, a.size = sizeof *c->ints, a.at = (const void *)c->ints;
  else if (c->type == GR_COLUMN_FLOAT)
    a.element = GR_ELEMENT_FLOAT, a.size = sizeof *c->floats, a.at = (const void *)c->floats;
  else
    a.element = GR_ELEMENT_TEXTS, a.size = sizeof *c->texts, a.at = (const void *)c->texts;
  return a;
}
