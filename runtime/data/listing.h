// listing.h - files with labels, as the sources of images, videos and recordings list them: of the
// rows of a CSV file, of a folder with a folder for each class, or given to predict.
#pragma once
#include "runtime/data/file_list.h"

// A file as it is listed. The key of `info` is a hash of its name, and its location the row's.
typedef struct gr_listed {
  const char *name, *path;  // as the list has it, and where it is
  const char *mask;         // where the mask of an image is; NULL: it has none
  // The Parquet files that have it and its mask, in the row of its place; or NULL.
  const struct gr_packed *packed, *packed_mask;
  gr_member member, member_mask;  // where it and its mask are in an archive
  gr_sample_info info;
} gr_listed;

// A source whose `self` begins with a listing has the functions below as its functions. Until
// gr_listing_number, labels are 1 + the places of classes in the order of additions.
typedef struct gr_listing {
  gr_arena *arena;
  const gr_source_ops *ops;  // of the source
  const char *what;          // the files, for messages: "images"
  int other;           // of ops->skips: files of folders that are none of these, by their names
  const char *except;  // the name of a folder that is no class; NULL: each is one
  gr_listed *file;
  uint32_t count, room;
  gr_classes classes;
  bool text;    // names of classes are texts, else integers
  bool inputs;  // the files are to be predicted, and have no labels
} gr_listing;

// An empty listing in the request's arena; `what` is borrowed.
gr_listing gr_listing_make(const gr_source_request *, const char *what);
// Adds a file; its name and path are borrowed. GR_ERR_DATA: there are too many.
GR_MUST_USE gr_status gr_listing_add(gr_listing *, const gr_listed *);
// Adds the rows of a list, the first `limit` of them (0: all), and the labels of all rows to the
// classes. GR_ERR_DATA with the location of a cell that is wrong.
GR_MUST_USE gr_status gr_listing_rows(gr_listing *, const gr_source_request *, gr_file_list *,
                                      uint32_t limit);
// What a path names, for one split; GR_SPLIT_BY_KEY: rows say theirs, or a hash of names does.
typedef struct gr_listing_part {
  const char *path;
  gr_split split;
} gr_listing_part;

// GR_ERR_DATA: the path is of an archive, whose members the source does not read.
GR_MUST_USE gr_status gr_listing_check_archive(const gr_listing *, const char *path);
// Opens the list that a path names, whose labels are in that column; NULL: it has none. GR_ERR_DATA
// about the list, also where it has a split and the part is of one.
GR_MUST_USE gr_status gr_listing_open(gr_listing *, const gr_listing_part *, const char *label,
                                      gr_file_list *out);
// GR_ERR_DATA: the list has a split, and the part is of one.
GR_MUST_USE gr_status gr_listing_check_split(gr_listing *, const gr_listing_part *,
                                             const gr_file_list *);
// Adds its rows, as gr_listing_rows, up to the request's limit.
GR_MUST_USE gr_status gr_listing_add_list(gr_listing *, const gr_source_request *,
                                          const gr_listing_part *, gr_file_list *);
// Adds the files of a folder that has a folder for each class, in the order of names; those of a
// class may be in folders within its own. Names are relative to the folder. The limit is that of
// each class. GR_ERR_DATA: there are none.
GR_MUST_USE gr_status gr_listing_folders(gr_listing *, const gr_source_request *,
                                         const gr_listing_part *);
// The same of a folder without classes: of all files in it.
GR_MUST_USE gr_status gr_listing_tree(gr_listing *, const gr_source_request *,
                                      const gr_listing_part *);
// After gr_listing_number: GR_ERR_DATA where all files, those of a path, are of one class.
GR_MUST_USE gr_status gr_listing_check_several(const gr_listing *, const char *path);
// An error that is about no key is about this one.
GR_MUST_USE gr_status gr_listing_about(gr_status, const char *key);

// Adds the request's files to predict, or the files that a list (.csv, .tsv, .jsonl) of them names,
// for validation. GR_ERR_DATA.
GR_MUST_USE gr_status gr_listing_inputs(gr_listing *, const gr_source_request *);
// Before it: GR_ERR_DATA at the first row whose file has another label in a row before. `part`:
// whole numbers, by row, that say which part of its file a row is about; NULL: all of it.
GR_MUST_USE gr_status gr_listing_check_labels(const gr_listing *, const gr_array *part);
// Numbers the classes, as recorded ones if there is a record, and with them the labels of all files
// (gr_classes_number). Once, when all files are added.
GR_MUST_USE gr_status gr_listing_number(gr_listing *, const gr_json *record);

// Functions of gr_source_ops, of a source whose samples are the files of its listing.
uint32_t gr_listing_count(const void *self);
gr_sample_info gr_listing_info(const void *self, uint32_t sample);      // of length 1
void gr_listing_name_of(const void *self, uint32_t sample, gr_text *);  // as the list has it
// ... and of any source with a listing.
gr_classes *gr_listing_classes(void *self);
