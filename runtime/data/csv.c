// csv.c - see csv.h.
#include "runtime/data/csv.h"
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "base/map.h"
#include "base/work.h"
#include "runtime/data/archive.h"
#include "runtime/data/csv_cell.h"
#include "runtime/data/csv_cut.h"

const gr_csv_format gr_csv_fixed = {.delimiter = ',', .header = true};
const gr_csv_format gr_csv_any = {.any_header = true, .encoding = ""};

// ---- Columns ------------------------------------------------------------------------------------

static gr_status same_names(const gr_cut *r, const char *name) {
  double number;
  gr_status s = gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){r->first, r->names_line, 1},
                                "two columns are called '%s'", name),
                        "give each a name of its own");
  if (!gr_cell_float(name, &number)) return s;
  if (!r->format->section)
    return gr_hint(s, "if the first line is a row, write one above it that names them");
  return gr_hint(s, "if the first line is a row, %s.header=false names them c0, c1, ...",
                 r->format->section);
}

static gr_status name_columns(const gr_cut *r, gr_csv *out) {
  gr_map seen = gr_map_make(r->arena);
  out->n_columns = r->width;
  out->columns = GR_NEW(r->arena, gr_column, r->width);
  for (int c = 0; c < r->width; c++) {
    const char *name = r->names ? r->names[c] : "";
    out->columns[c].unnamed = r->names && !*name;
    if (!*name) name = gr_arena_printf(r->arena, "c%d", c);
    if (gr_map_find(&seen, name, NULL)) return same_names(r, name);
    gr_map_put(&seen, name, (uint32_t)c);
    out->columns[c].name = name;
    out->columns[c].first_value = r->valued ? r->valued[c] : 0;
  }
  return GR_OK;
}

static const char *cell_at(const gr_cut *r, size_t row, int c) {
  return r->cells[r->head + row * (size_t)r->width + (size_t)c];
}

// Rows that all columns are read of before the next ones, while their cells are in the caches.
typedef struct row_block {
  size_t begin, end;
} row_block;

_Static_assert(sizeof(int64_t) >= sizeof(double) && sizeof(int64_t) >= sizeof(char *),
               "values of any type are in the memory of integers");

static void *values_of(const gr_column *c) {
  const void *values = c->type == GR_COLUMN_INT     ? (const void *)c->ints
                       : c->type == GR_COLUMN_FLOAT ? (const void *)c->floats
                                                    : (const void *)c->texts;
  return (void *)(uintptr_t)values;
}

static void set_type(gr_column *c, gr_column_type type, void *values) {
  c->type = type;
  c->ints = type == GR_COLUMN_INT ? values : NULL;
  c->floats = type == GR_COLUMN_FLOAT ? values : NULL;
  c->texts = type == GR_COLUMN_TEXT ? values : NULL;
  c->missing = c->numbers = c->commas = 0;
}

// Cells keep their place in the text of their line, unless an earlier one was in quotes.
static void count_text(const gr_cut *r, size_t row, int c, gr_column *out) {
  double f;
  const char *cell = cell_at(r, row, c);
  bool number = gr_cell_float(cell, &f);
  out->numbers += number, out->commas += !number && gr_cell_has_commas(cell);
  if (number || out->first_text_column) return;
  out->first_text = (uint32_t)row;
  out->first_text_column = r->apart ? 1 : (int)(cell - cell_at(r, row, 0)) + 1;
}

// Whether the cell is of the column's type.
static bool put_cell(gr_column *out, size_t row, const char *cell, bool hole) {
  void *values = values_of(out);
  if (out->type == GR_COLUMN_TEXT) return ((const char **)values)[row] = cell, true;
  if (hole) return true;
  return out->type == GR_COLUMN_INT ? gr_cell_int(cell, (int64_t *)values + row)
                                    : gr_cell_float(cell, (double *)values + row);
}

// Fills rows up to the first whose cell is not of the column's type, which it returns.
static size_t fill_rows(const gr_cut *r, row_block of, int c, bool *holes, gr_column *out) {
  for (size_t row = of.begin; row < of.end; row++) {
    const char *cell = cell_at(r, row, c);
    bool hole = gr_cell_missing(cell);
    if (!put_cell(out, row, cell, hole)) return row;
    if (hole && !out->missing++) out->first_missing = (uint32_t)row;
    holes[row * (size_t)r->width + (size_t)c] = hole;
    if (out->type == GR_COLUMN_TEXT && !hole) count_text(r, row, c, out);
  }
  return of.end;
}

// A cell of a wider type makes the column that type, from the first row on. Nearly always it is in
// the first rows.
static void fill_block(const gr_cut *r, row_block of, int c, bool *holes, gr_column *out) {
  double f;
  for (size_t row; (row = fill_rows(r, of, c, holes, out)) < of.end; of.begin = 0) {
    bool number = out->type == GR_COLUMN_INT && gr_cell_float(cell_at(r, row, c), &f);
    void *values = values_of(out);
    set_type(out, number ? GR_COLUMN_FLOAT : GR_COLUMN_TEXT,
             memset(values, 0, of.end * sizeof(int64_t)));
  }
}

static row_block rows_after(const gr_cut *r, size_t begin) {
  enum { CELLS = 1 << 13 };
  size_t left = r->n_rows - begin, n = CELLS / ((size_t)r->width + 1) + 1;
  return (row_block){begin, begin + (n < left ? n : left)};
}

static bool is_of_texts(const gr_csv_format *f, const char *name) {
  for (int i = 0; i < 2; i++)
    if (f->texts[i] && !strcmp(name, f->texts[i])) return true;
  return false;
}

// The bytes of the files, each of which is cut, and then read into columns.
static double bytes_of(const char *const *paths, int n) {
  double bytes = 0;
  struct stat st;
  for (int i = 0; i < n; i++) bytes += stat(paths[i], &st) ? 0 : (double)st.st_size;
  return bytes;
}

static gr_status fill_columns(const gr_cut *r, bool *holes, gr_csv *out) {
  gr_column *columns = out->columns;
  double bytes = bytes_of(out->paths, out->n_paths);
  for (int c = 0; c < r->width; c++)
    set_type(&columns[c], is_of_texts(r->format, columns[c].name) ? GR_COLUMN_TEXT : GR_COLUMN_INT,
             GR_NEW(r->arena, int64_t, r->n_rows));
  for (row_block of = rows_after(r, 0); of.begin < r->n_rows; of = rows_after(r, of.end)) {
    for (int c = 0; c < r->width; c++) fill_block(r, of, c, holes, &columns[c]);
    GR_TRY(gr_work_step((int64_t)(bytes * (double)(of.end - of.begin) / (double)r->n_rows)));
  }
  return GR_OK;
}

static gr_status make_columns(const gr_cut *r, gr_csv *out) {
  GR_TRY(name_columns(r, out));
  int *lines = GR_NEW(r->arena, int, r->n_rows + 1);
  if (r->n_rows) memcpy(lines, r->lines, r->n_rows * sizeof *lines);
  bool *holes = GR_NEW(r->arena, bool, r->n_rows *(size_t)r->width + 1);
  out->format = out->formats[0], out->rows = (uint32_t)r->n_rows, out->lines = lines,
  out->holes = holes;
  return fill_columns(r, holes, out);
}

static gr_status read_files(gr_cut *r, const char *const *paths, int n, uint32_t *first,
                            gr_csv_format *formats) {
  for (int i = 0; i < n; i++) {
    first[i] = (uint32_t)r->n_rows;
    GR_TRY(gr_cut_file(r, paths[i]));
    formats[i] = r->found;
  }
  return GR_OK;
}

gr_status gr_csv_read_all(gr_arena *a, const char *const *paths, int n, const gr_csv_format *format,
                          gr_csv *out) {
  gr_cut r = {.arena = a, .format = format};
  gr_work work;
  *out = (gr_csv){.path = paths[0], .format = *format, .paths = paths, .n_paths = n};
  uint32_t *first = GR_NEW(a, uint32_t, n);
  gr_csv_format *formats = GR_NEW(a, gr_csv_format, n);
  out->first = first, out->formats = formats;
  gr_work_begin_items(&work, gr_arena_printf(a, "reading '%s'", paths[0]), 2 * bytes_of(paths, n));
  gr_status s = read_files(&r, paths, n, first, formats);
  s = s ? s : make_columns(&r, out);
  gr_work_end(&work);
  free(r.cells);
  free(r.lines);
  return s;
}

gr_status gr_csv_read(gr_arena *a, const char *path, const gr_csv_format *format, gr_csv *out) {
  const char **paths = GR_NEW(a, const char *, 1);
  paths[0] = path;
  return gr_csv_read_all(a, paths, 1, format, out);
}

gr_loc gr_csv_place(const gr_csv *t, uint32_t row) {
  int file = 0;
  assert(row < t->rows);
  for (int end = t->n_paths, middle; end - file > 1;) {
    middle = file + (end - file) / 2;
    if (t->first[middle] <= row)
      file = middle;
    else
      end = middle;
  }
  return (gr_loc){t->paths[file], t->lines[row], 1};
}

const char *gr_csv_unit(const gr_csv *t) {
  return t->typed ? "row" : gr_archive_named(t->path) ? "sample" : "line";
}

bool gr_csv_is_place(const gr_csv *t, int column) {
  const char *name = t->columns[column].name;
  return gr_archive_named(t->path) && (gr_ends_in(name, ".offset") || gr_ends_in(name, ".bytes"));
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
  return !t->typed && t->format.header && 2 * n > t->n_columns;
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

enum { MIN_COUNTED = 16 };  // rows: what counts or names fewer may be anything

bool gr_csv_names_rows(uint32_t different, uint32_t rows) {
  return rows >= MIN_COUNTED && 10 * (uint64_t)different > 9 * (uint64_t)rows;
}

// id, client_id, clientId, and pandas' Unnamed: 0.
static bool is_id(const char *name) {
  size_t n = strlen(name);
  const char *tail = n < 2 ? "" : name + n - 2;
  if (strcasecmp(tail, "id") != 0) return !strncmp(name, "Unnamed: ", 9);
  return n == 2 || strchr("_ ", tail[-1]) || (*tail == 'I' && islower((unsigned char)tail[-1]));
}

bool gr_csv_counts_rows(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  if (c->type != GR_COLUMN_INT || t->rows < MIN_COUNTED || c->missing) return false;
  bool counts = true;
  for (uint32_t i = 1; i < t->rows && counts; i++) counts = c->ints[i] == c->ints[i - 1] + 1;
  if (counts || (!c->unnamed && !is_id(c->name))) return counts;
  uint32_t rows, different = gr_csv_distinct(t, column, &rows);
  return gr_csv_names_rows(different, rows);
}

gr_loc gr_csv_first_text(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  assert(c->type == GR_COLUMN_TEXT);
  gr_loc loc = gr_csv_place(t, c->first_text);
  loc.col = c->first_text_column;
  return loc;
}

bool gr_csv_is_flags(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  bool flags = c->type == GR_COLUMN_TEXT && c->missing < t->rows;
  for (uint32_t row = 0; row < t->rows && flags; row++)
    flags = gr_csv_missing(t, row, column) || !strcasecmp(c->texts[row], "true") ||
            !strcasecmp(c->texts[row], "false");
  return flags;
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
  bool flags = gr_csv_is_flags(t, column);
  c->type = flags || drop_texts(t, column) ? GR_COLUMN_INT : GR_COLUMN_FLOAT;
  int64_t *ints = GR_NEW(a, int64_t, t->rows);
  double *floats = GR_NEW(a, double, t->rows);
  for (uint32_t row = 0; row < t->rows; row++) {
    if (gr_csv_missing(t, row, column)) continue;
    if (flags)
      ints[row] = tolower((unsigned char)*c->texts[row]) == 't';
    else if (c->type == GR_COLUMN_INT)
      (void)gr_cell_int(c->texts[row], ints + row);
    else
      (void)gr_cell_float(c->texts[row], floats + row);
  }
  c->ints = ints, c->floats = floats;
}

gr_array gr_csv_array(const gr_csv *t, int column) {
  assert(column >= 0 && column < t->n_columns);
  const gr_column *c = &t->columns[column];
  gr_array a = {.file = t->path,
                .name = c->name,
                .rank = 1,
                .dim = {t->rows},
                .count = t->rows,
                .names = c->names,
                .n_names = c->n_names};
  if (c->type == GR_COLUMN_INT)
    a.element = GR_ELEMENT_INT, a.size = sizeof *c->ints, a.data = (const void *)c->ints;
  else if (c->type == GR_COLUMN_FLOAT)
    a.element = GR_ELEMENT_FLOAT, a.size = sizeof *c->floats, a.data = (const void *)c->floats;
  else
    a.element = GR_ELEMENT_TEXTS, a.size = sizeof *c->texts, a.data = (const void *)c->texts;
  return a;
}
