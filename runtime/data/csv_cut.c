// csv_cut.c - see csv_cut.h. The text is split in place: a NUL at the end of each field replaces
// the character after it.
#include "runtime/data/csv_cut.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/csv_shape.h"
#include "runtime/data/encoding.h"

static gr_loc here(const gr_cut *r, const char *position) {
  return (gr_loc){r->path, r->number, (int)(position - r->line_start) + 1};
}

// Makes room for one more element; may move the array.
static void *grow(void *list, size_t n, size_t *cap, size_t size) {
  if (n < *cap) return list;
  *cap = *cap ? 2 * *cap : 1024;
  void *more = realloc(list, *cap * size);
  if (!more) free(list);
  return more;
}

// ---- Rows ---------------------------------------------------------------------------------------

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
                   "files whose rows follow each other have the same columns, in the same order");
  gr_status s = gr_fail(GR_ERR_DATA, loc, "this line has %d field%s, the first has %d", n,
                        gr_text_s(n), r->width);
  if (n < r->width) return gr_hint(s, "a field with nothing in it has its '%c', too", delimiter);
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

// ---- Splitting ----------------------------------------------------------------------------------

// A field is followed by a delimiter, the end of its line, or the end of the file. *more: by a
// delimiter.
static gr_status end_field(gr_cut *r, char *end_of_text, bool *more) {
  char *p = r->cursor;
  *more = p < r->end && *p == r->found.delimiter;
  bool cr = p + 1 < r->end && p[0] == '\r' && p[1] == '\n';
  if (p < r->end && !*more && !cr && *p != '\n')
    return gr_hint(gr_fail(GR_ERR_DATA, here(r, p), "there is text after a field's closing quote"),
                   "inside a quoted field a quote is written twice");
  r->cursor += p < r->end ? 1 + cr : 0;
  *end_of_text = 0;
  if (!*more) r->number++, r->line_start = r->cursor;
  return GR_OK;
}

// Reads a quoted field; text after a doubled quote is shifted to the left.
static gr_status cut_quoted(gr_cut *r, bool *more) {
  gr_loc start = here(r, r->cursor);
  char *to = ++r->cursor;
  for (; r->cursor < r->end; r->cursor++) {
    if (*r->cursor == '"' && (r->cursor + 1 == r->end || r->cursor[1] != '"')) break;
    r->cursor += *r->cursor == '"';
    *to++ = *r->cursor;
    if (*r->cursor == '\n') r->number++, r->line_start = r->cursor + 1;
  }
  if (r->cursor == r->end)
    return gr_hint(gr_fail(GR_ERR_DATA, start, "a quoted field does not end"),
                   "close it with '\"'; inside it a quote is written twice");
  r->cursor++;
  return end_field(r, to, more);
}

static gr_status cut_plain(gr_cut *r, bool *more) {
  char *p = r->cursor;
  while (p < r->end && *p != r->found.delimiter && *p != '\n' && *p != '"') p++;
  if (p < r->end && *p == '"')
    return gr_hint(
        gr_fail(GR_ERR_DATA, here(r, p), "a quote is inside a field that has none around it"),
        "put the field in quotes, and write the quote inside it twice");
  r->cursor = p;
  if (p < r->end && *p == '\n' && p > r->line_start && p[-1] == '\r') r->cursor--;
  return end_field(r, r->cursor, more);
}

static gr_status cut_row(gr_cut *r) {
  int line = r->number, n = 0;
  for (bool more = true; more; n++) {
    GR_TRY(gr_cut_cell(r, r->cursor + (*r->cursor == '"')));
    GR_TRY(*r->cursor == '"' ? cut_quoted(r, &more) : cut_plain(r, &more));
  }
  return gr_cut_end_row(r, line, n);
}

static bool skip_empty_line(gr_cut *r) {
  size_t n = *r->cursor == '\r' && r->cursor[1] == '\n' ? 2 : *r->cursor == '\n';
  r->cursor += n, r->number += n > 0;
  if (n) r->line_start = r->cursor;
  return n;
}

enum { ROWS_A_STEP = 1024 };

static gr_status cut_rows(gr_cut *r) {
  size_t n = (size_t)(r->end - r->cursor), before = r->n_rows;
  if (!r->found.delimiter) r->found.delimiter = gr_csv_find_delimiter(r->cursor, n);
  GR_TRY(gr_csv_check_delimiter(r->path, r->cursor, n, &r->found));
  while (r->cursor < r->end) {
    if (!skip_empty_line(r)) GR_TRY(cut_row(r));
    if (!(r->n_rows % ROWS_A_STEP)) GR_TRY(gr_work_step(0));
  }
  return r->n_rows > before ? GR_OK
                            : gr_fail(GR_ERR_DATA, (gr_loc){r->path, 1, 1}, "the table is empty");
}

// ---- The line of names --------------------------------------------------------------------------

static gr_status other_name(const gr_cut *r, int line, char *const *cells, int column) {
  gr_loc loc = {r->path, line, (int)(cells[column] - cells[0]) + 1};
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "the column %d is '%s', and '%s' in '%s'", column + 1,
                         cells[column], r->names[column], r->first),
                 "files whose rows follow each other have the same columns, in the same order");
}

static gr_status names_missing(const gr_cut *r, int line) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){r->path, line, 1},
              "this line %s the columns, and that of '%s' %s", r->names ? "does not name" : "names",
              r->first, r->names ? "does" : "does not"),
      "files whose rows follow each other are written alike; %s.header says how",
      r->format->section ? r->format->section : "the key");
}

// Takes the names out of the rows: those of the first file, which those of others must be.
static gr_status take_names(gr_cut *r, size_t first, size_t first_cell) {
  char **cells = r->cells + first_cell;
  size_t width = (size_t)r->width;
  bool later = r->first != r->path;
  for (int c = 0; later && c < r->width; c++)
    if (strcmp(cells[c], r->names[c]) != 0) return other_name(r, r->lines[first], cells, c);
  if (!later) r->names = GR_NEW(r->arena, const char *, width), r->names_line = r->lines[first];
  for (int c = 0; !later && c < r->width; c++) r->names[c] = cells[c];
  r->n_cells -= width, r->n_rows--;
  memmove(cells, cells + width, (r->n_cells - first_cell) * sizeof *cells);
  memmove(r->lines + first, r->lines + first + 1, (r->n_rows - first) * sizeof *r->lines);
  return GR_OK;
}

static gr_status find_names(gr_cut *r, size_t first, size_t first_cell) {
  char *const *cells = r->cells + first_cell;
  int line = r->lines[first];
  bool header = r->format->header;
  if (r->format->any_header)
    header = gr_csv_has_names(r->text, cells, r->n_rows - first, r->width);
  else if (header)
    GR_TRY(gr_csv_check_names((gr_loc){r->path, line, 1}, r->text, cells, r->width, r->format));
  r->found.header = header;
  if (r->first != r->path && header != (r->names != NULL)) return names_missing(r, line);
  return header ? take_names(r, first, first_cell) : GR_OK;
}

// ---- Files --------------------------------------------------------------------------------------

static gr_status check_nul(gr_cut *r) {
  char *nul = memchr(r->cursor, 0, (size_t)(r->end - r->cursor));
  for (char *c = r->cursor; nul && c < nul; c++)
    if (*c == '\n') r->number++, r->line_start = c + 1;
  return nul ? gr_fail(GR_ERR_DATA, here(r, nul), "there is a NUL byte: this is no text") : GR_OK;
}

gr_status gr_cut_file(gr_cut *r, const char *path) {
  char *text;
  size_t n, first = r->n_rows, first_cell = r->n_cells;
  const char *encoding = r->format->encoding;
  int fd;
  r->path = path, r->number = 1, r->found = *r->format;
  GR_TRY(gr_file_open(path, GR_ERR_DATA, &fd));  // reports a data error
  close(fd);
  GR_TRY(gr_file_read(r->arena, path, GR_CSV_BYTES, &text, &n));
  GR_TRY(gr_encoding_convert(r->arena, path, &text, &n, &encoding));
  r->text = r->cursor = r->line_start = text, r->end = text + n;
  GR_TRY(check_nul(r));
  GR_TRY(gr_csv_check_text(path, text, n));
  GR_TRY(cut_rows(r));
  GR_TRY(find_names(r, first, first_cell));
  r->found.encoding = encoding;
  return GR_OK;
}
