// list.c - lists the images of a folder for each class, of a CSV file, or to predict; see image.h.
#include <string.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

// ---- Masks --------------------------------------------------------------------------------------

// The mask of the image `name` in a folder of masks: that of its name, or of its name and `_mask`.
// Values of classes are not what a JPEG has.
static const char *mask_in(gr_arena *a, const char *masks, const char *name, bool pictures) {
  static const char *const endings[] = {".png", "_mask.png", ".pgm", ".npy",
                                        ".jpg", ".jpeg",     ".ppm"};
  enum { ALL = sizeof endings / sizeof *endings, OF_CLASSES = 4 };
  const char *ending = strrchr(name, '.'), *first = NULL;
  for (int i = 0; i < (pictures ? ALL : OF_CLASSES); i++) {
    const char *path =
        gr_arena_printf(a, "%s/%.*s%s", masks, (int)(ending - name), name, endings[i]);
    if (gr_is_file(path)) return path;
    first = first ? first : path;
  }
  return first;  // reading it says that it is not there
}

// Counts masks in the folder that are of none of the images from a number on.
static gr_status count_masks(const gr_listing *l, const gr_source_request *r, const char *masks,
                             uint32_t before) {
  gr_map used = gr_map_make(l->arena);
  gr_names files;
  for (uint32_t i = before; i < l->count; i++) gr_map_put(&used, l->file[i].mask, i);
  if (!gr_is_dir(masks)) return GR_OK;  // reading the first says what is wrong
  GR_TRY(gr_file_list_tree(l->arena, masks, &files));
  for (int i = 0; i < files.n; i++) {
    const gr_source_ending *e = gr_source_reads(&gr_source_image, files.items[i]);
    if (e && e->in_lists && !gr_map_find(&used, files.items[i], NULL))
      gr_omitted_add(l->arena, &r->skipped[GR_IMAGE_MASKS], 1, GR_NOWHERE, files.items[i]);
  }
  return GR_OK;
}

// The images of one path, and the folder of their masks; or NULL.
typedef struct part {
  gr_listing_part images;
  const char *masks;
} part;

// Images with masks, in any folders.
static gr_status list_masked(gr_image *m, const gr_source_request *r, const part *p) {
  gr_listing *l = &m->list;
  uint32_t before = l->count;
  GR_TRY(gr_listing_tree(l, r, &p->images));
  const char *masks = gr_path_trimmed(l->arena, p->masks);
  for (uint32_t i = before; i < l->count; i++)
    l->file[i].mask = mask_in(l->arena, masks, l->file[i].name, m->spec.pictures);
  return r->limit ? GR_OK : count_masks(l, r, masks, before);
}

// ---- Lists --------------------------------------------------------------------------------------

// The masks of a list's images: of its column, or in a folder.
static gr_status add_masks(gr_image *m, const gr_source_request *r, const gr_file_list *rows,
                           const char *masks, uint32_t before) {
  gr_listing *l = &m->list;
  int column = gr_csv_find(&rows->csv, "mask");
  if (!masks && column < 0)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, (gr_loc){rows->csv.path, 1, 1},
                                    "the list of images has no column 'mask'"),
                            "mask_values"),
                   "it names the mask of each image; or data.image.masks names a folder of them");
  uint32_t n = before;
  for (uint32_t i = before; i < l->count; i++) {
    gr_listed *file = &l->file[i];
    if (masks) {
      file->mask = mask_in(l->arena, masks, file->name, m->spec.pictures);
    } else if (!gr_csv_missing(&rows->csv, i - before, column)) {
      const gr_array cells = gr_csv_array(&rows->csv, column);
      file->mask = gr_file_list_path(l->arena, rows, gr_array_text(l->arena, &cells, i - before));
      GR_TRY(gr_file_list_member(rows, i - before, "mask", &file->member_mask));
    } else {
      GR_TRY(gr_unreadable_add(r->unreadable, file->info.loc,
                               gr_file_list_check(rows, i - before, column)));
      continue;  // it is skipped
    }
    l->file[n++] = *file;
  }
  l->count = n;
  return GR_OK;
}

static gr_status list_rows(gr_image *m, const gr_source_request *r, const part *p,
                           const char *label) {
  gr_file_list rows;
  gr_listing *l = &m->list;
  uint32_t before = l->count;
  bool classes = true;
  gr_status opened = gr_listing_open(l, &p->images, label, &rows);
  if (opened && label && rows.columns_known && gr_csv_find(&rows.csv, label) < 0)
    opened = gr_hint(opened, "null: images have none");
  GR_TRY(opened);
  if (label) GR_TRY(gr_image_take_labels(m, &rows, &classes));
  if (!classes) rows.label_column = -1;
  GR_TRY(gr_listing_add_list(l, r, &p->images, &rows));
  return gr_image_has_masks(&m->spec) ? add_masks(m, r, &rows, p->masks, before) : GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

static gr_status list_path(gr_image *m, const gr_source_request *r, const part *p) {
  const char *path = p->images.path;
  bool masks = gr_image_has_masks(&m->spec), packed = gr_packed_named(path);
  const char *label = masks || m->spec.unlabelled ? NULL : m->values.spec.label;
  if (packed && p->masks)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "images in Parquet files have their masks beside them, and no "
                                    "folder of masks"),
                            "masks eval_masks"),
                   "null reads those of the column 'mask'");
  if (packed) return gr_image_list_packed(m, r, &p->images, label);
  if (!gr_is_dir(path)) return list_rows(m, r, p, label);
  if (m->spec.unlabelled) return gr_listing_tree(&m->list, r, &p->images);
  if (!masks) return gr_listing_folders(&m->list, r, &p->images);
  if (p->masks) return list_masked(m, r, p);
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                  "the masks of the images in the folder '%s' are not given", path),
                          "mask_values"),
                 "data.image.masks=FOLDER has a mask for each image, of its name (for those of "
                 "data.image.eval_path: data.image.eval_masks)");
}

// Files to predict, each an image, a list of some, or a Parquet file.
static gr_status list_inputs(gr_image *m, const gr_source_request *r) {
  for (int i = 0; i < r->n_inputs; i++) {
    const gr_listing_part file = {r->inputs[i], GR_SPLIT_VALIDATION};
    gr_source_request one = *r;
    one.inputs = &r->inputs[i], one.n_inputs = 1;
    GR_TRY(gr_packed_named(file.path) ? gr_image_list_packed(m, r, &file, NULL)
                                      : gr_listing_inputs(&m->list, &one));
  }
  return GR_OK;
}

gr_status gr_image_list(gr_image *m, const gr_source_request *r) {
  const gr_image_spec *s = &m->spec;
  if (m->list.inputs) {
    GR_TRY(list_inputs(m, r));
    if (s->unlabelled || s->pictures) return GR_OK;
    GR_TRY(gr_classes_recall(&m->list.classes, r->arena, r->record));
    m->has_values = !m->list.classes.n && !s->n_values;
    return m->has_values ? gr_image_find_values(m, r->record) : GR_OK;
  }
  const part train = {{s->path, s->eval_path ? GR_SPLIT_TRAIN : GR_SPLIT_BY_KEY}, s->masks};
  const part eval = {{s->eval_path, GR_SPLIT_VALIDATION}, s->eval_masks};
  GR_TRY(gr_listing_about(list_path(m, r, &train), "path"));
  m->first_of_eval = m->list.count;
  if (s->eval_path) GR_TRY(gr_listing_about(list_path(m, r, &eval), "eval_path"));
  if (gr_image_has_masks(s) || s->unlabelled) return GR_OK;
  if (m->has_values || s->labels.labels.n || s->labels.label_is > GR_LABEL_CLASS)
    return gr_image_find_values(m, r->record);
  GR_TRY(gr_table_refuse_missing(&s->labels));
  GR_TRY(gr_listing_check_labels(&m->list, NULL));
  GR_TRY(gr_listing_number(&m->list, r->record));
  return gr_listing_check_several(&m->list, s->path);
}
