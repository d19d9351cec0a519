// columns.h - the named columns of one or several files: arrays of .npy and .npz, columns of CSV.
#pragma once
#include "runtime/data/array.h"
#include "runtime/data/csv.h"
#include "runtime/data/table/npz.h"

typedef struct gr_table_column {
  const char *name;  // of .npy: the file's name without its ending
  gr_array values;   // its first dimension is the rows; at is NULL until it is read
  gr_csv *csv;
  int csv_column;
  gr_npz *npz;
  const char *file;
} gr_table_column;

typedef struct gr_columns {
  const char *path;  // of the first file
  gr_table_column *at;
  int n;
  int64_t rows;  // the same of all columns; -1: none is read yet
  gr_npz *npz;   // [n_files]
  gr_mapping *maps;
  int n_files;
} gr_columns;

// Opens files whose columns stand side by side; what a file is says the end of its name. Reads CSV,
// and of the others what there is. Paths are borrowed. Fails with GR_ERR_DATA and a place.
GR_MUST_USE gr_status gr_columns_open(gr_arena *, const char *const *paths, int n,
                                      const gr_csv_format *, gr_columns *out);
// Fails with GR_ERR_DATA if a file is not what it was when it was opened.
GR_MUST_USE gr_status gr_columns_check(const gr_columns *);
void gr_columns_close(gr_columns *);                        // after its arrays
int gr_columns_find(const gr_columns *, const char *name);  // -1: there is none
// "a, b, c"
const char *gr_columns_list(gr_arena *, const gr_columns *);
// Reads a column, unless it is read. Fails where its rows are not as many as those of the others.
GR_MUST_USE gr_status gr_columns_read(gr_columns *, int column, const gr_array **out);
bool gr_columns_missing(const gr_columns *, int column, int64_t row);  // an empty cell of CSV
gr_loc gr_columns_place(const gr_columns *, int64_t row);  // of CSV its line, else no place
gr_loc gr_columns_names(const gr_columns *);               // of CSV the first line, else no place
enum { GR_COLUMNS_WHERE = 440 };                           // bytes of a text
// Writes which row it is, for messages, and returns out: "this line" where its place says so, else
// its number in the file.
const char *gr_columns_where(const gr_columns *, int64_t row, const char *file,
                             char out[GR_COLUMNS_WHERE]);
