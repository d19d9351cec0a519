// csv_cut.c - see csv_cut.h. The text is split in place: a NUL at the end of each field replaces
// the character after it.
#include "runtime/data/csv_cut.h"
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/archive.h"
#include "runtime/data/csv_kinds.h"
#include "runtime/data/csv_shape.h"
#include "runtime/data/encoding.h"

static gr_loc here(const gr_cut *r, const char *position) {
  return (gr_loc){r->path, r->number, (int)(position - r->line_start) + 1};
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

static gr_status count_bytes(gr_cut *r, const char *cursor) {
  size_t n = (size_t)(cursor - r->text), more = n - r->counted;
  r->counted = n;
  return gr_work_step((int64_t)more);
}

// A first line that tells a spreadsheet the delimiter: sep=;
static void skip_separator(gr_cut *r) {
  const char *c = r->cursor;
  if (strncmp(c, "sep=", 4) != 0 || !c[4] || !c[5] || !strchr("\r\n", c[5])) return;
  if (!r->found.delimiter) r->found.delimiter = c[4];
  r->cursor += 5;
  skip_empty_line(r);
}

static gr_status cut_rows(gr_cut *r) {
  skip_separator(r);
  size_t n = (size_t)(r->end - r->cursor), before = r->n_rows;
  if (!r->found.delimiter) r->found.delimiter = gr_csv_find_delimiter(r->cursor, n);
  GR_TRY(gr_csv_check_delimiter(r->path, r->cursor, n, &r->found));
  while (r->cursor < r->end) {
    if (!skip_empty_line(r)) GR_TRY(cut_row(r));
    if (!(r->n_rows % ROWS_A_STEP)) GR_TRY(count_bytes(r, r->cursor));
  }
  return r->n_rows > before
             ? GR_OK
             : gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){r->path, 1, 1}, "the table is empty"),
                       "copy or write the file again, or name another");
}

// ---- The line of names --------------------------------------------------------------------------

// The cells of a file behind others with rows move; those of the first, which may have all rows,
// stay where they are, and the row's own before them.
static void drop_row(gr_cut *r, size_t row, size_t cell) {
  char **cells = r->cells + cell;
  size_t width = (size_t)r->width;
  r->n_rows--;
  if (row)
    r->n_cells -= width, memmove(cells, cells + width, (r->n_cells - cell) * sizeof *cells);
  else
    r->head = cell + width;
  memmove(r->lines + row, r->lines + row + 1, (r->n_rows - row) * sizeof *r->lines);
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
  GR_TRY(gr_cut_names(r, header ? cells : NULL, r->width, line));
  if (header) drop_row(r, first, first_cell);
  return GR_OK;
}

// ---- Files --------------------------------------------------------------------------------------

// What to do with a file that is no text, by its first bytes; r->cursor is at its start.
static const char *advice(const char *begin, size_t n) {
  static const struct {
    const char *begin, *advice;
  } kinds[] = {{"\x1f\x8b", "it is packed by gzip: gunzip unpacks it"},
               {"\x28\xb5\x2f\xfd", "it is packed by zstd: unzstd unpacks it"},
               {"BZh", "it is packed by bzip2: bunzip2 unpacks it"},
               {"PK", "it is a ZIP file or a spreadsheet: unpack it, or save the sheet as CSV"},
               {"PAR1", "it is a Parquet file: name it .parquet"},
               {"SQLite", "it is a database: export the table as CSV"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (n >= strlen(kinds[i].begin) && !memcmp(begin, kinds[i].begin, strlen(kinds[i].begin)))
      return kinds[i].advice;
  return "write the file again as UTF-8; data.table.encoding=utf-16 reads a text in UTF-16 without "
         "a byte order mark";
}

static gr_status check_nul(gr_cut *r) {
  char *nul = memchr(r->cursor, 0, (size_t)(r->end - r->cursor));
  for (char *c = r->cursor; nul && c < nul; c++)
    if (*c == '\n') r->number++, r->line_start = c + 1;
  if (!nul) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, here(r, nul), "there is a NUL byte: this is no text"), "%s",
                 advice(r->cursor, (size_t)(r->end - r->cursor)));
}

static gr_status cut_csv(gr_cut *r) {
  size_t first = r->n_rows, first_cell = r->n_cells;
  GR_TRY(cut_rows(r));
  return find_names(r, first, first_cell);
}

// By the end of the file's name, as other programs write it.
static gr_status cut_text(gr_cut *r) {
  static const struct {
    const char *ending;
    gr_status (*cut)(gr_cut *);
  } kinds[] = {
      {".jsonl", gr_cut_json}, {".tar", gr_cut_json}, {".arff", gr_cut_arff}, {".ts", gr_cut_ts}};
  const char *dot = strrchr(r->path, '.');
  for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
    if (!strcasecmp(dot, kinds[i].ending)) {
      r->found.delimiter = ',', r->found.header = r->apart = true;
      return kinds[i].cut(r);
    }
  return cut_csv(r);
}

gr_status gr_cut_file(gr_cut *r, const char *path) {
  char *text;
  size_t n;
  const char *encoding = r->format->encoding;
  int fd;
  r->path = path, r->number = 1, r->found = *r->format, r->counted = 0;
  GR_TRY(gr_file_open(path, GR_ERR_DATA, &fd));  // reports a data error
  close(fd);
  if (gr_archive_named(path)) {
    GR_TRY(gr_archive_lines(r->arena, path, "path", &text, &n));
  } else {
    GR_TRY(gr_file_read(r->arena, path, GR_CSV_BYTES, &text, &n));
    GR_TRY(gr_encoding_convert(r->arena, path, &text, &n, &encoding));
  }
  r->text = r->cursor = r->line_start = text, r->end = text + n;
  GR_TRY(check_nul(r));
  GR_TRY(gr_csv_check_text(path, text, n));
  GR_TRY(cut_text(r));
  r->found.encoding = encoding;
  return count_bytes(r, r->end);
}
