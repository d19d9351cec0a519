// file_list.h - a CSV file that lists files and their labels: the columns path (which may be called
// file_name or filename) and label, and optionally split and weight. Sources of images, videos and
// recordings share it.
#pragma once
#include "runtime/data/archive.h"
#include "runtime/data/array.h"
#include "runtime/data/csv.h"
#include "runtime/data/labels.h"

typedef struct gr_file_list {
  gr_csv csv;
  bool columns_known;  // the file has been read: what is wrong is what it has
  const char *what;    // the files, for messages: "videos"
  const char *root;    // of relative paths; NULL: the list's folder
  gr_array path, label, split, weight;
  int path_column, label_column, split_column, weight_column;  // -1: there is none
  bool archived;      // the paths are of members of .tar files (archive.h)
  int32_t *class_of;  // [rows], by gr_file_list_classes
} gr_file_list;

// Reads the list and finds its columns; `label` is what the files are labelled by, or NULL;
// `optional` are columns of the source, for messages: "split and frame". Strings are borrowed.
// Fails with GR_ERR_DATA and a location.
GR_MUST_USE gr_status gr_file_list_open(gr_arena *, const char *path, const char *what,
                                        const char *label, const char *optional, gr_file_list *out);
// Finds the columns of labels, splits and weights of a list whose csv is read; `label`: as above.
void gr_file_list_find(gr_file_list *, const char *label);
bool gr_file_list_is_path(const char *column);  // whether a column of that name has the paths
gr_loc gr_file_list_place(const gr_file_list *, uint32_t row);  // the line of a row
// GR_ERR_DATA with the row's line if its cell of the column is missing; column -1: there is none.
GR_MUST_USE gr_status gr_file_list_check(const gr_file_list *, uint32_t row, int column);
// Adds the labels of all rows to the classes, in class_of as gr_classes_add found them; -1 without
// labels. GR_ERR_DATA where a path, a label or a split is missing.
GR_MUST_USE gr_status gr_file_list_classes(gr_file_list *, gr_arena *, gr_classes *);
// Where a row's file is in its archive, by the columns beside that of its name, "path" or "mask";
// its archive is NULL where the list has none. GR_ERR_DATA: the sample has no such file.
GR_MUST_USE gr_status gr_file_list_member(const gr_file_list *, uint32_t row, const char *column,
                                          gr_member *out);
// A row's path as the list has it, in the arena.
const char *gr_file_list_name(gr_arena *, const gr_file_list *, uint32_t row);
// Where a file that the list names is: relative to its root. In the arena, or the name.
const char *gr_file_list_path(gr_arena *, const gr_file_list *, const char *name);
// A row's weight for data.sampler=weighted, if there is that column.
GR_MUST_USE gr_status gr_file_list_weight(const gr_file_list *, uint32_t row, bool *has,
                                          float *out);
// A row's split: that of its column, or without one by the key.
GR_MUST_USE gr_status gr_file_list_split(const gr_file_list *, uint32_t row, uint64_t key,
                                         gr_share *validation, gr_split *out);

// The names in a folder, in the order of their bytes, in the arena: without hidden files, and
// without those that macOS and Windows add. GR_ERR_DATA: it cannot be read.
GR_MUST_USE gr_status gr_file_list_folder(gr_arena *, const char *path, gr_names *out);
// The paths of the files in a folder and in those within it, each folder in the order of its names,
// in the arena. GR_ERR_DATA: one cannot be read, or a link makes them endless.
GR_MUST_USE gr_status gr_file_list_tree(gr_arena *, const char *path, gr_names *out);

// The regular files that a path names, in the order of their bytes, in the arena: itself, or where
// there is no such file and it has '*', '?' or '[' in it, those that it matches (glob of POSIX), or
// a range of numbers, {000..123}, those of it in their order. GR_ERR_DATA: it matches none.
GR_MUST_USE gr_status gr_file_list_match(gr_arena *, const char *path, gr_names *out);
// What a file or a folder is for.
typedef enum gr_table_use {
  GR_TABLE_TRAINS,
  GR_TABLE_VALIDATES,
  GR_TABLE_OTHER,  // test
  GR_TABLE_ANY     // no word of a split
} gr_table_use;
// What a name says that it is for, by the first word of a split in it: train-0.parquet, dev-clean,
// seg_test, train2017, X_TRAIN.tsv, trainLabels, sample_submission (a test's). 0 and 1, true and
// false are none: folders and files of classes are called so.
gr_table_use gr_file_list_use(const char *name);
// Tables in a folder: a file, or a pattern of several with one ending.
typedef struct gr_folder_tables {
  const char *all;    // where none is called as a split is; else those for training
  const char *eval;   // those for validation (val.csv, validation-0.parquet); or NULL
  const char *other;  // one that is for neither (test.csv); or NULL
} gr_folder_tables;
// Whether a folder, or its folder data, has tables of one ending; of those that are called as
// splits are, some for training (train.csv, train-00000-of-00002.parquet).
bool gr_file_list_tables(gr_arena *, const char *dir, gr_folder_tables *out);
// Whether gr_file_list_match finds one, and it is a file.
bool gr_file_list_matches(const char *path);
