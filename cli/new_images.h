// new_images.h - folders of images, or of recordings by their classes, for `graphrun new NAME
// --from=FOLDER`.
#pragma once
#include "cli/new_edit.h"
#include "runtime/data/source.h"

// A kind of files that folders of classes may have.
typedef struct gr_new_files {
  const gr_source_ops *source;
  const char *what;    // "images"
  const char *except;  // the name of a folder that is no class; or NULL
  // Begins a project of a folder with a folder for each class, or of a list.
  gr_status (*begin)(gr_new_own *, const char *path);
} gr_new_files;
extern const gr_new_files gr_new_image_files;
// Begins a project where a folder has folders with such files, or a single folder that has, or
// folders of splits (train, val, test) that have, and says what was found. *found: it has some.
// Fails as `begin` does.
GR_MUST_USE gr_status gr_new_find_classes(gr_new_own *, const gr_new_files *, const char *path,
                                          bool *found);
// *found: a table is of Parquet files that have images. Begins their project, as gr_new_images_of.
GR_MUST_USE gr_status gr_new_packed_images(gr_new_own *, const gr_csv *, bool *found);
// Begins a project of a list of images, whose names are in `path`, and says what was found. What to
// predict is in the column that the user names, or in `label`, or in the only other of texts, or of
// numbers: classes (of texts those that repeat), numbers, or texts to write. GR_ERR_USAGE: there is
// no such column.
GR_MUST_USE gr_status gr_new_images_of(gr_new_own *, const gr_csv *, int path);
// The column of a list that says by its name, or as the only one of texts, what to predict; -1:
// none.
int gr_new_image_label(const gr_new_own *, const gr_csv *, int path);
// *found: a folder has one of images and one of their masks, called so. The project finds the class
// of each pixel, by the values of the first 1000 masks. GR_ERR_DATA: one of these cannot be read.
GR_MUST_USE gr_status gr_new_find_masks(gr_new_own *, const char *path, bool *found);
// *found: a table is of Parquet files that have images with masks, as gr_new_find_masks.
GR_MUST_USE gr_status gr_new_packed_masks(gr_new_own *, const gr_csv *, bool *found);
