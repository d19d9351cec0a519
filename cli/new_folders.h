// new_folders.h - what files and folders are, before it is known what they are a project for
// (`graphrun new NAME --from=DATA`).
#pragma once
#include "runtime/data/file_list.h"

// What cannot be read is not what is not there: GR_ERR_DATA names a folder that cannot be read.
GR_MUST_USE gr_status gr_new_check_readable(gr_arena *, const char *dir);
// In a folder with nothing but a folder, as archives leave it: that one. In the arena, or the path.
const char *gr_new_unwrap(gr_arena *, const char *path);
// *out: how many files of each ending a folder has, of the first few. GR_ERR_DATA: as
// gr_file_list_tree.
GR_MUST_USE gr_status gr_new_say_files(gr_arena *, const char *dir, const char **out);
// Whether the lines of a text have fields, the same number each: with blanks between them, where
// these are numbers or the first names an image.
bool gr_new_is_table(gr_arena *, const char *path);
// GR_ERR_DATA where a text has columns of numbers with several blanks between them.
GR_MUST_USE gr_status gr_new_check_columns(gr_arena *, const char *path);
// The only column of a table that the one for tests lacks, as Kaggle's lack what is to be
// predicted; NULL: there are none, or several.
const char *gr_new_find_untested(gr_arena *, const char *table, const char *tests);
// *found: a folder has tables (gr_file_list_tables), or folders of splits that have
// (train/0000.parquet), or a file of series, or one for training. GR_ERR_DATA: it cannot be read.
GR_MUST_USE gr_status gr_new_find_tables(gr_arena *, const char *dir, gr_folder_tables *out,
                                         bool *found);
// Whether a table for tests has all columns of another one.
bool gr_new_is_tested(const char *table, const char *tests);
