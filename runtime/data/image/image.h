// image.h - images of one size with the names of their classes: the source `image` of data
// (source.h).
//
// Field: x u8 [height, width, channels]. The classes are those of folders, or of a list; or with
// masks those of pixels, and a field y i32 [height, width]. Masks may be images, too, such as x
// should become: a field y u8 [height, width, channels].
// Labels of a list that are values are a field y f32, as those of a table. Images may have none.
#pragma once
#include "runtime/data/image/picture.h"
#include "runtime/data/listing.h"
#include "runtime/data/parquet/packed.h"
#include "runtime/data/table/table.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_image_spec {
  const char *path, *eval_path;  // of a folder or a list; or NULL
  int64_t height, width;         // 0: not given
  gr_picture_resize resize;
  int channels;          // 1, 3 or 4
  bool reduced;          // a large JPEG may be decoded at a fraction of its size (gr_picture_use)
  gr_table_spec labels;  // of a list: its label, labels, label_is and separator
  bool unlabelled;       // images have no labels
  // Masks (gr_image_has_masks): their folders, or NULL where a list names them.
  const char *masks, *eval_masks;
  int n_values;                 // classes of pixels; 0: there are none
  bool pictures;                // masks are images
  unsigned char class_of[256];  // by value in a mask; GR_IMAGE_IGNORED, GR_IMAGE_NO_CLASS
} gr_image_spec;

// Whether images have masks, of classes of pixels or images.
static inline bool gr_image_has_masks(const gr_image_spec *s) { return s->n_values || s->pictures; }

enum { GR_IMAGE_NO_CLASS = 254, GR_IMAGE_IGNORED = 255 };  // no classes of pixels

typedef enum gr_image_skip {
  GR_IMAGE_OTHER,
  GR_IMAGE_MASKS  // that no image has
} gr_image_skip;  // of gr_source_ops.skips

// Parquet files of one path that have images.
typedef struct gr_image_files {
  gr_packed *file;
  int n;
  struct gr_image_files *next;
} gr_image_files;

typedef struct gr_image {
  gr_listing list;  // the images, each of which is a sample
  gr_image_spec spec;
  bool has_values;  // labels are values: those of `values`, whose parts are the lists
  gr_table values;
  uint32_t first_of_eval;  // the number of the first image of the second list
  gr_image_files *files;   // Parquet files, of which `kept` keeps pages
  gr_kept_pages *kept;
  size_t cache_bytes;  // see gr_source_request
} gr_image;

// Lists the images of the folders or lists, and numbers their classes; or the files to predict.
// Images are not opened. GR_ERR_DATA.
GR_MUST_USE gr_status gr_image_list(gr_image *, const gr_source_request *);
// Images within Parquet files (packed.c). Adds those of the files that a path names, with labels of
// that column; NULL: they have none. GR_ERR_DATA.
GR_MUST_USE gr_status gr_image_list_packed(gr_image *, const gr_source_request *,
                                           const gr_listing_part *, const char *label);
extern const gr_packed_words gr_image_packed_masks;  // of the masks beside them
void gr_image_close_files(gr_image *);               // at the end
size_t gr_image_file_bytes(const gr_image *);        // of all their pages, unpacked
// Appends a line where the cache does not hold their pages.
void gr_image_note_files(const gr_image *, gr_text *out);
// Reads an image as gr_picture_read, or with out NULL its head as gr_picture_probe, also of a
// Parquet file.
GR_MUST_USE gr_status gr_image_read_file(const gr_listed *, const gr_picture_use *,
                                         gr_picture *out);
// The same of its mask.
GR_MUST_USE gr_status gr_image_read_mask_file(const gr_listed *, const gr_picture_use *,
                                              gr_picture *out);
// Masks (masks.c). Reads one, whose values become classes. GR_ERR_DATA. The caller frees its
// pixels.
GR_MUST_USE gr_status gr_image_read_mask(const gr_image_spec *, const gr_listed *, gr_picture *out);
// The same, or a mask that is an image, scaled as its image is: [height, width], or x's shape.
GR_MUST_USE gr_status gr_image_fit_mask(const gr_image_spec *, const gr_listed *,
                                        const gr_picture *image, unsigned char *out);
// What is wrong with a file's mask by its head.
GR_MUST_USE gr_status gr_image_probe_mask(const gr_image *, const gr_listed *file);
// An error of a file with a mask, with the names that a mask may have if it is that there is none.
GR_MUST_USE gr_status gr_image_name_mask(const gr_image *, const gr_listed *file, gr_status);
// Appends how many pixels of the samples' masks are of each class (pixels.c).
void gr_image_inspect_masks(const gr_image *, const gr_sample *, uint32_t n, gr_text *out);
// Labels that are values (values.c). Takes those of a list, before its rows are listed; *classes:
// they are classes, and not taken.
GR_MUST_USE gr_status gr_image_take_labels(gr_image *, const gr_file_list *, bool *classes);
// When all is listed, or of files to predict those of the record: finds what there is, and checks
// every row. GR_ERR_DATA.
GR_MUST_USE gr_status gr_image_find_values(gr_image *, const gr_json *record);
// The row of an image in *part of `values`.
int64_t gr_image_row(const gr_image *, uint32_t sample, const gr_table_part **part);
