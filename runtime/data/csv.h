// csv.h - a table as text: comma-separated values (RFC 4180), read into typed columns.
#pragma once
#include "runtime/data/array.h"
#include "runtime/data/csv_format.h"

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
  // Of GR_COLUMN_TEXT: cells that are numbers, cells that would be without the commas in them, and
  // the place of the first that is no number.
  uint32_t numbers, commas, first_text;
  int first_text_column;     // of its line, from 1
  bool unnamed;              // the first line has nothing in its place
  const char *const *names;  // of GR_COLUMN_INT: see gr_array
  int n_names;
  uint32_t first_value;  // of JSON lines: 1 + the first row whose cell is no text; 0: all are
} gr_column;

typedef struct gr_csv {
  const char *path;      // of the first file
  gr_csv_format format;  // that of the first file
  const char *const *paths;
  int n_paths;
  const uint32_t *first;         // [n_paths]: the first row of each
  const gr_csv_format *formats;  // [n_paths], as they were found
  int n_columns;
  gr_column *columns;
  uint32_t rows;
  const int *lines;  // [rows]: where each begins in its file
  bool *holes;       // [rows][n_columns]: the cells that are missing
  bool typed;        // the files are tables of typed columns (Parquet), whose lines are their rows
} gr_csv;

// Reads a file of at most GR_CSV_BYTES; what is read is in the arena. Lines end in LF or CRLF; a
// field in quotes may hold them, the delimiter, and quotes, doubled. Empty lines are skipped. A
// field that is empty, or says NA, N/A, NaN, null or ?, is missing. `path` is borrowed. Fails with
// GR_ERR_DATA and the line and column of the file, also where the format is probably another.
GR_MUST_USE gr_status gr_csv_read(gr_arena *, const char *path, const gr_csv_format *, gr_csv *out);
// The same of n files, at least one, whose rows follow each other: GR_ERR_DATA at the first line of
// one whose columns are not those of the first file. `paths` is borrowed, too.
GR_MUST_USE gr_status gr_csv_read_all(gr_arena *, const char *const *paths, int n,
                                      const gr_csv_format *, gr_csv *out);
extern const gr_csv_format gr_csv_any;              // as the file is, by its first lines
gr_loc gr_csv_place(const gr_csv *, uint32_t row);  // its file and line
const char *gr_csv_unit(const gr_csv *);  // "line"; "row" of typed columns; "sample" of archives
extern const gr_csv_format gr_csv_fixed;  // of lists: commas, and a line of names
// Whether a column of an archive says where members are (archive.h), and is no value of samples.
bool gr_csv_is_place(const gr_csv *, int column);
// The number of the first column of that name; -1: there is none.
int gr_csv_find(const gr_csv *, const char *name);
// Whether a cell has nothing in it, or a word that means so.
bool gr_csv_missing(const gr_csv *, uint32_t row, int column);
// Whether more than half of the cells of a column of text, without those that are missing, are
// numbers, with or without commas: it is probably one of numbers, with cells that are wrong. With
// exactly half of them it is text.
bool gr_csv_mostly_numbers(const gr_csv *, int column);
// Whether most columns are named by a number: the first line is probably a row.
bool gr_csv_named_by_numbers(const gr_csv *);
// The number of different cells among the first that are not missing; *rows becomes the
// number of these: at most GR_CSV_COMPARED.
uint32_t gr_csv_distinct(const gr_csv *, int column, uint32_t *rows);
enum { GR_CSV_COMPARED = 1 << 16 };
// Whether so many of the rows are different that a column is a name of each.
bool gr_csv_names_rows(uint32_t different, uint32_t rows);
// Whether a column numbers the rows, and is no feature unless it is named: each row of whole
// numbers has one more than the row before; or without a name, as an index is written, or called an
// id, nearly every row has another.
bool gr_csv_counts_rows(const gr_csv *, int column);
gr_loc gr_csv_first_text(const gr_csv *, int column);  // of a column of text
// Whether all cells of a column of text that are not missing say true or false, in any letters.
bool gr_csv_is_flags(const gr_csv *, int column);
// Makes a column of text one of numbers: of true and false 1 and 0; else of those that it has,
// integers if all are, and its other cells are missing.
void gr_csv_make_numbers(gr_arena *, gr_csv *, int column);
gr_array gr_csv_array(const gr_csv *, int column);  // a view of a column
