// csv_rows.c - see csv_rows.h.
#include "runtime/data/csv_rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "runtime/data/csv_cell.h"

#define ALIKE "files whose rows follow each other have the same columns, in the same order"

// Makes room for one more element; may move the array.
static void *grow(void *list, size_t n, size_t *cap, size_t size) {
  if (n < *cap) return list;
  *cap = *cap ? 2 * *cap : 1024;
  void *more = realloc(list, *cap * size);
  if (!more) free(list);
  return more;
}

static gr_status no_memory(const gr_cut *r) {
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the fields of '%s'", r->path);
}

gr_status gr_cut_cell(gr_cut *r, char *cell) {
  r->cells = grow(r->cells, r->n_cells, &r->cap_cells, sizeof *r->cells);
  if (!r->cells) return no_memory(r);
  r->cells[r->n_cells++] = cell;
  return GR_OK;
}

static gr_status other_width(const gr_cut *r, int line, int n) {
  char delimiter = r->found.delimiter;
  gr_loc loc = {r->path, line, 1};
  if (r->first != r->path)
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "this line has %d field%s, those of '%s' have %d", n,
                           gr_text_s(n), r->first, r->width),
                   ALIKE);
  gr_status s = gr_fail(GR_ERR_DATA, loc, "this line has %d field%s, the first has %d", n,
                        gr_text_s(n), r->width);
  if (n < r->width)
    return gr_hint(
        s, "a field with nothing in it has its '%c', too; a line that is no row is to be removed",
        delimiter);
  if (r->width == 1 && (r->format->header || r->format->any_header))
    s = gr_hint(s, "the first line names all columns: remove lines before it");
  return gr_hint(s, "a field with the delimiter '%c' in it is put in quotes", delimiter);
}

gr_status gr_cut_end_row(gr_cut *r, int line, int n) {
  if (!r->width) r->width = n, r->first = r->path;
  if (n > GR_CSV_COLUMNS)
    return gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1}, "there are more than %d columns",
                   GR_CSV_COLUMNS);
  if (n != r->width) return other_width(r, line, n);
  r->lines = grow(r->lines, r->n_rows, &r->cap_rows, sizeof *r->lines);
  if (!r->lines) return no_memory(r);
  r->lines[r->n_rows++] = line;
  return r->n_rows < UINT32_MAX
             ? GR_OK
             : gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1}, "there are too many lines");
}

// ---- Values that a head lists -------------------------------------------------------------------

enum { NUMBER = 32 };  // characters of one

// A number as it is written once, else the value.
static const char *plain(const char *value, char number[NUMBER]) {
  double v;
  if (!gr_cell_float(value, &v)) return value;
  snprintf(number, NUMBER, "%.17g", v);
  return number;
}

void gr_cut_allow(const gr_cut *r, gr_map *all, const char *value) {
  char number[NUMBER];
  gr_map_put(all, gr_arena_strdup(r->arena, plain(value, number)), 0);
}

bool gr_cut_allows(const gr_map *all, const char *value) {
  char number[NUMBER];
  return gr_cell_missing(value) || gr_map_find(all, plain(value, number), NULL);
}

// ---- Names --------------------------------------------------------------------------------------

static gr_status other_name(const gr_cut *r, int line, int at_column, const char *name,
                            int column) {
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, at_column},
                         "the column %d is '%s', and '%s' in '%s'", column + 1, name,
                         r->names[column], r->first),
                 ALIKE);
}

static gr_status names_missing(const gr_cut *r, int line) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1},
              "this line %s the columns, and that of '%s' %s", r->names ? "does not name" : "names",
              r->first, r->names ? "does" : "does not"),
      "files whose rows follow each other are written alike; %s.header says how",
      r->format->section ? r->format->section : "the key");
}

char *gr_cut_line(gr_cut *r, char comment, int *line) {
  while (r->cursor < r->end) {
    char *next = r->line_start = r->cursor;
    char *end = memchr(next, '\n', (size_t)(r->end - next));
    if (!end) end = r->end;
    r->cursor = end + (end < r->end), *line = r->number++;
    while (end > next && strchr(" \t\r", end[-1])) end--;
    *end = 0;
    next += strspn(next, " \t");
    if (*next && *next != comment) return next;
  }
  return NULL;
}

gr_status gr_cut_names(gr_cut *r, char *const *names, int n, int line) {
  bool first = !r->width || r->first == r->path;
  if (!first && n != r->width) return other_width(r, line, n);
  if (!first && !names != !r->names) return names_missing(r, line);
  for (int c = 0; !first && names && c < n; c++)
    if (strcmp(names[c], r->names[c]) != 0)
      return other_name(r, line, r->apart ? 1 : (int)(names[c] - names[0]) + 1, names[c], c);
  if (!first || !names) return GR_OK;
  r->names = GR_NEW(r->arena, const char *, n), r->width = n;
  r->first = r->path, r->names_line = line;
  for (int c = 0; c < n; c++) r->names[c] = names[c];
  return GR_OK;
}
