// new_index.h - which files there are of a kind, and which of them the cells of a table name, for
// `graphrun new NAME --from=DATA`.
#pragma once
#include "base/map.h"
#include "cli/new_images.h"
#include "runtime/data/csv.h"
#include "runtime/data/file_list.h"
#include "runtime/data/source.h"

// Files of a kind in a folder, by their names without folders and ending.
typedef struct gr_new_index {
  gr_arena *arena;
  const gr_new_files *kind;
  const char *root;
  bool apart;  // they are of the folder of a table, and need not be those of its rows
  gr_names files;
  int *next;     // [files.n]: another of that name; -1: there is none
  gr_map first;  // of each name
} gr_new_index;

// Looks for them in the folder and in those within it, `depth` of them.
gr_new_index gr_new_index_make(gr_arena *, const gr_new_files *, const char *root, int depth);
enum { GR_NEW_DEPTH = 8 };  // within reason: a link may lead upwards
// The same in the folder of a table and near it, three folders down where it has names with
// endings; of a table in a folder called meta or metadata, in the folder of that at any depth.
gr_new_index gr_new_index_of(gr_arena *, const gr_new_files *, const gr_csv *);
// The file that a cell of a list for that use names: with or without folders before it, '\' between
// them, and an ending. The more folders are alike, the better; of others that of the same use, then
// one that is for training. NULL: none is, or two are as good.
const char *gr_new_index_find(const gr_new_index *, const char *cell, gr_table_use use);
// The column of a table whose first cell has the ending of such a file; else the one of which
// nearly all of the first cells name files of the index, each another: numbers only where the files
// are not apart, or no others of the table have fractions. -1: none.
int gr_new_find_listed(const gr_new_index *, const gr_csv *);
// A cell as text; "" where it is missing.
const char *gr_new_cell(gr_arena *, const gr_csv *, uint32_t row, int column);
// What the folders of a file of the index say that it is for.
gr_table_use gr_new_index_use(const gr_new_index *, const char *path);
// Tables that name files.
typedef struct gr_new_sheets {
  const char *all;         // the only one, or that for training; NULL: there is none
  const char *validation;  // that for validation (dev.tsv); or NULL
  const char *other;       // one for neither (test.tsv); or NULL
} gr_new_sheets;
// metadata.csv or .jsonl in the index's folder, or those in it, or in its folder meta or metadata.
// GR_ERR_USAGE: there are two, and not for the splits.
GR_MUST_USE gr_status gr_new_find_sheets(const gr_new_index *, gr_new_sheets *out);
