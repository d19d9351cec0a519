// csv_rows.h - the rows of files of text that are tables, one file after the other: their cells,
// and the names of their columns. Private to csv*.c.
#pragma once
#include "base/map.h"
#include "runtime/data/csv_format.h"

typedef struct gr_cut {
  gr_arena *arena;
  const char *path;             // of the file that is cut
  const gr_csv_format *format;  // as it is asked for
  gr_csv_format found;          // as the file is
  char *text, *cursor, *line_start, *end;
  int number;          // of the line at the cursor
  char **cells;        // `head` that are no rows', and those of all rows, consecutively
  int *lines;          // by row
  const char **names;  // [width], in the arena; NULL: there are none
  size_t n_cells, cap_cells, n_rows, cap_rows, head;
  size_t counted;     // bytes of the file that the work has counted
  int width;          // fields per row; 0: not known yet
  const char *first;  // the file that set the width
  int names_line;     // in that file
  int64_t series;     // of .ts: how many have been cut, in all files
  bool apart;         // cells are not in the text of their line
  // [width]: 1 + the first row whose cell is no text, of JSON lines; 0: all are. NULL: of other
  // files
  uint32_t *valued;
} gr_cut;

// Adds a cell, a text in the arena, to the row that is being read. GR_ERR_DATA: there is no memory.
GR_MUST_USE gr_status gr_cut_cell(gr_cut *, char *cell);
// Ends a row of n cells that begins in that line. GR_ERR_DATA: there is no memory, the row has
// another number of cells than the first, or there are too many columns or lines.
GR_MUST_USE gr_status gr_cut_end_row(gr_cut *, int line, int n);
// Adds a value to those that the head of a file says a column has, in a map of the arena; numbers
// are the same however they are written.
void gr_cut_allow(const gr_cut *, gr_map *, const char *value);
// Whether a value is one of them, or is missing.
bool gr_cut_allows(const gr_map *, const char *value);
// The next line with something in it that does not begin with `comment`, without blanks around it:
// a text in place of the file's; NULL: there is none. Its number becomes *line.
char *gr_cut_line(gr_cut *, char comment, int *line);
// Names the n columns of the file that is cut, whose texts are in the arena; NULL: it has no names.
// GR_ERR_DATA at that line where those of the first file are others.
GR_MUST_USE gr_status gr_cut_names(gr_cut *, char *const *names, int n, int line);
