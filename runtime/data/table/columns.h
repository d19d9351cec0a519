// columns.h - the named columns of one or several files: arrays of .npy and .npz, columns of CSV
// and of Parquet.
#pragma once
#include "runtime/data/array.h"
#include "runtime/data/csv.h"
#include "runtime/data/labels.h"
#include "runtime/data/table/npz.h"

typedef struct gr_table_column {
  const char *name;   // of .npy: the file's name without its ending
  const char *given;  // as the file has it, where `name` is without a word that says a split
  gr_array values;    // its first dimension is the rows; at is NULL until it is read
  gr_csv *csv;
  int csv_column;
  gr_npz *npz;
  struct gr_stack *stack;  // of arrays of several files, whose rows follow each other
  int member;              // its number in each of them
  const char *refused;     // why it is not read, of Parquet; NULL: it is
  bool one_hot;            // columns of its values are there in its place
  const char *value;       // of one of these: which it stands for; else NULL
  const char *file;
} gr_table_column;

typedef struct gr_columns {
  gr_arena *arena;
  const char *path;  // of the first file
  gr_table_column *items;
  int n;
  int64_t rows;             // the same of all columns; -1: none is read yet
  gr_npz *npz;              // [n_files]
  gr_mapping *maps;         // [n_files]
  struct gr_stack *stacks;  // [n_files]
  int n_files;
  const gr_names *only;  // columns to read of Parquet; NULL: all
  bool has_other;        // arrays of another split than those that were wanted are left out
} gr_columns;

// Files of arrays, each with the same columns.
typedef struct gr_stack {
  gr_columns *file;
  int n;
} gr_stack;

// Reads all columns of Parquet files whose rows follow each other, as those of CSV are (parquet.c);
// *refused becomes those that are not read, [*n_refused], with their names and why. `only`: those
// to read, if the files have any of them; NULL: all. `paths` is borrowed. Fails with GR_ERR_DATA.
GR_MUST_USE gr_status gr_columns_read_parquet(gr_arena *, const gr_names *paths,
                                              const gr_names *only, gr_csv *out,
                                              gr_table_column **refused, int *n_refused);
// Opens files whose columns stand side by side; what a file is says the end of its name. The files
// that a pattern matches (gr_file_list_match) are one file, with the rows of all. Reads CSV, and of
// the others what there is. Of arrays whose names say a split (x_train, X_test), those of `split`
// are taken where there are some, and are called without that word. `only` names the columns that
// are read of Parquet; NULL: all. Paths are borrowed. Fails with GR_ERR_DATA and a place.
GR_MUST_USE gr_status gr_columns_open(gr_arena *, const char *const *paths, int n,
                                      const gr_csv_format *, gr_split split, const gr_names *only,
                                      gr_columns *out);
// Room for so many more columns behind those that are there, which the caller sets and counts.
gr_table_column *gr_columns_room(gr_arena *, gr_columns *, int more);
// Those of a table that is read, which outlives them: there is nothing to close.
void gr_columns_of_csv(gr_arena *, gr_csv *, gr_columns *out);
// Fails with GR_ERR_DATA if a file is not what it was when it was opened.
GR_MUST_USE gr_status gr_columns_check(const gr_columns *);
void gr_columns_close(gr_columns *);                        // after its arrays
int gr_columns_find(const gr_columns *, const char *name);  // -1: there is none
// "a, b, c"
const char *gr_columns_list(gr_arena *, const gr_columns *);
// Reads a column, unless it is read. Fails where its rows are not as many as those of the others.
GR_MUST_USE gr_status gr_columns_read(gr_columns *, int column, const gr_array **out);
bool gr_columns_missing(const gr_columns *, int column, int64_t row);  // an empty cell of CSV
// GR_ERR_DATA without a place where it is one.
GR_MUST_USE gr_status gr_columns_need(const gr_columns *, int column, int64_t row);
gr_loc gr_columns_place(const gr_columns *, int64_t row);  // of CSV its line, else no place
gr_loc gr_columns_names(const gr_columns *);               // of CSV the first line, else no place
enum { GR_COLUMNS_WHERE = 440 };                           // bytes of a text
// Writes which row it is, for messages, and returns out: "this line" or "this row" where its place
// says so, else its number in the file.
const char *gr_columns_where(const gr_columns *, int64_t row, const char *file,
                             char out[GR_COLUMNS_WHERE]);
