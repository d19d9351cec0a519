// csv.h - a table as text: comma-separated values (RFC 4180), read into typed columns.
#pragma once
#include "runtime/data/array.h"

typedef enum gr_column_type { GR_COLUMN_INT, GR_COLUMN_FLOAT, GR_COLUMN_TEXT } gr_column_type;

// A column's type is the narrowest that all its cells fit: integers of 64 bits, then floats (C's
// notation in base 10, "inf" and "nan" too), then text. Blanks around numbers do not count.
typedef struct gr_column {
  const char *name;
  gr_column_type type;
  const int64_t *ints;       // of GR_COLUMN_INT: [rows]
  const double *floats;      // of GR_COLUMN_FLOAT
  const char *const *texts;  // of GR_COLUMN_TEXT
  uint32_t missing;          // cells with nothing in them, which no type minds
  uint32_t first_missing;    // the row of the first, if there is one
  // Of GR_COLUMN_TEXT: cells that are numbers, and the place of the first that is none.
  uint32_t numbers, first_text;
  int first_text_column;  // of its line, from 1
} gr_column;

typedef struct gr_csv {
  const char *path;
  int n_columns;
  gr_column *columns;
  uint32_t rows;
  const int *lines;  // [rows]: where each begins in the file
  bool *holes;       // [rows][n_columns]: the cells that are missing
} gr_csv;

enum { GR_CSV_COLUMNS = 65536 };
#define GR_CSV_BYTES (UINT64_C(1) << 32)

// Reads a file of at most GR_CSV_BYTES; what is read is in the arena. The first line names the
// columns, unless `header` is false: they are then c0, c1, ... Lines end in LF or CRLF; a field in
// quotes may hold them, the delimiter, and quotes, doubled. Empty lines are skipped. A field that
// is empty, or says NA, N/A, NaN or null, is missing. `path` is borrowed. Fails with GR_ERR_DATA
// and the line and column of the file.
GR_MUST_USE gr_status gr_csv_read(gr_arena *, const char *path, char delimiter, bool header,
                                  gr_csv *out);
int gr_csv_find(const gr_csv *, const char *name);  // -1: no such column
bool gr_csv_missing(const gr_csv *, uint32_t row, int column);
// Whether a column of text has more numbers than other cells: it is probably one of numbers, with
// cells that are wrong.
bool gr_csv_mostly_numbers(const gr_csv *, int column);
gr_loc gr_csv_first_text(const gr_csv *, int column);  // of a column of text
// Makes a column of text one of floats, whose cells that are no numbers are missing.
void gr_csv_make_numbers(gr_arena *, gr_csv *, int column);
gr_array gr_csv_array(const gr_csv *, int column);  // a view of a column
