// csv_cut.h - files of text that are tables, cut into cells: the rows of all of them, one file
// after the other. Private to csv*.c.
#pragma once
#include "base/arena.h"
#include "runtime/data/csv_format.h"

typedef struct gr_cut {
  gr_arena *arena;
  const char *path;             // of the file that is cut
  const gr_csv_format *format;  // as it is asked for
  gr_csv_format found;          // as the file is
  char *text, *cursor, *line_start, *end;
  int number;          // of the line at the cursor
  char **cells;        // of all rows, consecutively
  int *lines;          // by row
  const char **names;  // [width], in the arena; NULL: there are none
  size_t n_cells, cap_cells, n_rows, cap_rows;
  int width;          // fields per row; 0: not known yet
  const char *first;  // the file that set the width
  int names_line;     // in that file
} gr_cut;

// Cuts a file into further rows. What is read is in the arena; `cells` and `lines` are the caller's
// to free, also after an error. Fails with GR_ERR_DATA and the line and column of the file, also at
// the first column whose name is not that of the first file.
GR_MUST_USE gr_status gr_cut_file(gr_cut *, const char *path);
// Adds a cell, a text in the arena, to the row that is being read. GR_ERR_DATA: there is no memory.
GR_MUST_USE gr_status gr_cut_cell(gr_cut *, char *cell);
// Ends a row of n cells that begins in that line. GR_ERR_DATA: there is no memory, the row has
// another number of cells than the first, or there are too many columns or lines.
GR_MUST_USE gr_status gr_cut_end_row(gr_cut *, int line, int n);
