// new_images.h - folders of images, for `graphrun new NAME --from=FOLDER`.
#pragma once
#include "cli/new_edit.h"

// Begins a project of images: of a folder with a folder for each class, or of a list.
void gr_new_images(gr_new_own *, const char *path);
// Begins one of a list whose column `captions` has a text to write for each image, and says so.
void gr_new_captions_of(gr_new_own *, const gr_csv *, int captions);
// Begins one where a folder has folders with images, or a single folder that has, or folders of
// splits (train, val, test) that have, and says what was found. False: it has none.
bool gr_new_find_images(gr_new_own *, const char *path);
// *found: a folder has one of images and one of their masks, called so. The project finds the class
// of each pixel, by the values of the first 1000 masks. GR_ERR_DATA: one of these cannot be read.
GR_MUST_USE gr_status gr_new_find_masks(gr_new_own *, const char *path, bool *found);
