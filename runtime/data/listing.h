// listing.h - files with labels, as the sources of images and videos list them: of the rows of a
// CSV file, or given to predict.
#pragma once
#include "runtime/data/file_list.h"

// A file as it is listed. The key of `info` is a hash of its name, and its location the row's.
typedef struct gr_listed {
  const char *name, *path;  // as the list has it, and where it is
  const char *mask;         // where the mask of an image is; NULL: it has none
  gr_sample_info info;
} gr_listed;

// A source whose `self` begins with a listing has the functions below as its functions. Until
// gr_listing_number, labels are 1 + the places of classes in the order of additions.
typedef struct gr_listing {
  gr_arena *arena;
  const char *what;  // the files, for messages: "images"
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
// Adds the request's files to predict, or the files that a list (.csv, .jsonl) of them names, for
// validation. GR_ERR_DATA.
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
const char *gr_listing_file(const void *self, uint32_t sample);         // where it is
void gr_listing_name_of(const void *self, uint32_t sample, gr_text *);  // as the list has it
// ... and of any source with a listing.
gr_classes *gr_listing_classes(void *self);
