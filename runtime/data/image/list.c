// list.c - lists the images of a folder for each class, of a CSV file, or to predict; see image.h.
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

// ---- Folders ------------------------------------------------------------------------------------

// A folder, whose folders may be classes, while it is listed in the order of names.
typedef struct folder {
  gr_listing *list;
  bool classes;       // images have classes
  bool pictures;      // masks are images
  const char *masks;  // folder of their masks; NULL: they have none
  const gr_source_request *request;
  const char *root;     // which names of images are relative to
  gr_split split;       // of all images; GR_SPLIT_BY_KEY: a hash of its name says which
  uint32_t class_from;  // the number of the first image of the class
  int32_t class_place;  // of the class, in the order of additions
  const char *other;    // the first file that is no image, by its name
} folder;

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

static gr_status add_image(folder *f, const char *path) {
  const char *name = path + strlen(f->root) + 1;
  gr_split split = f->split != GR_SPLIT_BY_KEY
                       ? f->split
                       : gr_split_by_key(gr_hash_text(name), f->request->validation_fraction);
  if (f->request->limit && f->list->count - f->class_from >= f->request->limit) {
    gr_omitted_add(f->list->arena, f->request->limited, 1, GR_NOWHERE, path);
    return GR_OK;
  }
  gr_listed file = {.name = name, .path = path, .info.split = split};
  if (f->masks) file.mask = mask_in(f->list->arena, f->masks, name, f->pictures);
  if (f->classes) file.info.label = 1 + f->class_place;
  return gr_listing_add(f->list, &file);
}

static void skip_file(folder *f, const char *path) {
  if (!f->other) f->other = path;
  gr_omitted_add(f->list->arena, &f->request->skipped[GR_IMAGE_OTHER], 1, GR_NOWHERE, path);
}

// Images of a class may be in folders within its own.
static gr_status add_folder(folder *f, const char *path) {
  gr_names files;
  GR_TRY(gr_file_list_tree(f->list->arena, path, &files));
  for (int i = 0; i < files.n; i++)
    if (gr_source_reads(&gr_source_image, files.items[i]))
      GR_TRY(add_image(f, files.items[i]));
    else
      skip_file(f, files.items[i]);
  return GR_OK;
}

static gr_status no_classes(const char *path, bool images, const char *other) {
  if (!images && other)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the folder '%s' has no images that are read: '%s' is none, by its name",
                           path, other),
                   "PNG, JPEG, PPM, PGM and .npy are: convert the others");
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              images ? "the folder '%s' has images and no folders: their classes are not known"
                     : "the folder '%s' has no folders with images",
              path),
      "it has a folder for each class, whose name is the class: cats/1.png, dogs/1.png; "
      "data.image.label=null: images have no classes");
}

// Fails where a folder is named as a split is, and has no images but in folders of its own: its
// images would be a class.
static gr_status check_no_split(const folder *f, const char *name, const char *path) {
  static const char *const words[] = {"train", "training", "validation", "valid",
                                      "val",   "dev",      "test",       "eval"};
  bool named = false, images = false;
  int folders = 0;
  gr_names inner;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) named |= !strcasecmp(name, words[i]);
  if (!named) return GR_OK;
  GR_TRY(gr_file_list_folder(f->list->arena, path, &inner));
  for (int i = 0; i < inner.n; i++) {
    images |= gr_source_reads(&gr_source_image, inner.items[i]) != NULL;
    folders += gr_is_dir(gr_arena_printf(f->list->arena, "%s/%s", path, inner.items[i]));
  }
  if (images || folders < 2) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the folder '%s' is a split by its name and its folders, and would be a class", path),
      "data.image.path=%s/train data.image.eval_path=%s/val names those of the splits; a class of "
      "that name has its images in its folder",
      f->root, f->root);
}

// A folder for each class. One that is empty is a class without images, which may be in the other
// split; if they are in none, the run says so (gr_dataset_notes).
static gr_status list_classes(folder *f) {
  gr_listing *l = f->list;
  uint32_t before = l->count;
  bool images = false;
  gr_names names;
  GR_TRY(gr_file_list_folder(l->arena, f->root, &names));
  for (int i = 0; i < names.n; i++) {
    const char *path = gr_arena_printf(l->arena, "%s/%s", f->root, names.items[i]);
    images |= gr_source_reads(&gr_source_image, names.items[i]) != NULL;
    if (!gr_is_dir(path)) {
      skip_file(f, path);
      continue;
    }
    GR_TRY(check_no_split(f, names.items[i], path));
    f->class_from = l->count;
    GR_TRY(gr_classes_add(&l->classes, l->arena, names.items[i], GR_NOWHERE, &f->class_place));
    GR_TRY(add_folder(f, path));
  }
  return l->count == before ? no_classes(f->root, images, f->other) : GR_OK;
}

// Counts masks in the folder that are of no image of this part.
static gr_status count_masks(const folder *f, uint32_t before) {
  const gr_listing *l = f->list;
  gr_map used = gr_map_make(l->arena);
  gr_names files;
  for (uint32_t i = before; i < l->count; i++) gr_map_put(&used, l->file[i].mask, i);
  if (!gr_is_dir(f->masks)) return GR_OK;  // reading the first says what is wrong
  GR_TRY(gr_file_list_tree(l->arena, f->masks, &files));
  for (int i = 0; i < files.n; i++)
    if (gr_source_reads(&gr_source_image, files.items[i]) &&
        !gr_map_find(&used, files.items[i], NULL))
      gr_omitted_add(l->arena, &f->request->skipped[GR_IMAGE_MASKS], 1, GR_NOWHERE, files.items[i]);
  return GR_OK;
}

// Images without classes, in any folders.
static gr_status list_all(folder *f) {
  uint32_t before = f->list->count;
  GR_TRY(add_folder(f, f->root));
  if (f->masks && !f->request->limit) GR_TRY(count_masks(f, before));
  return f->list->count ? GR_OK : no_classes(f->root, false, f->other);
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

// The images of one path. GR_SPLIT_BY_KEY: each row says its split, or a hash of its name.
typedef struct part {
  const char *path, *masks;
  gr_split split;
} part;

static gr_status list_rows(gr_image *m, const gr_source_request *r, const part *p) {
  gr_file_list rows;
  gr_listing *l = &m->list;
  uint32_t before = l->count;
  bool masks = gr_image_has_masks(&m->spec);
  const char *label = masks || m->spec.unlabelled ? NULL : m->values.spec.label;
  bool classes = true;
  gr_status opened = gr_file_list_open(l->arena, p->path, l->what, label, "split", &rows);
  if (opened && label && rows.columns_known && gr_csv_find(&rows.csv, label) < 0)
    opened =
        gr_hint(opened, "data.image.label names another column of labels; null: images have none");
  GR_TRY(opened);
  if (rows.split_column >= 0 && p->split != GR_SPLIT_BY_KEY)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, (gr_loc){p->path, 1, 1},
                                    "the column split and data.image.eval_path both say what is "
                                    "for validation"),
                            "eval_path"),
                   "give one of them");
  if (label) GR_TRY(gr_image_take_labels(m, &rows, &classes));
  if (!classes) rows.label_column = -1;
  GR_TRY(gr_listing_rows(l, r, &rows, r->limit));
  for (uint32_t i = before; i < l->count && p->split != GR_SPLIT_BY_KEY; i++)
    l->file[i].info.split = p->split;
  return masks ? add_masks(m, r, &rows, p->masks, before) : GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

static gr_status list_path(gr_image *m, const gr_source_request *r, const part *p) {
  gr_listing *l = &m->list;
  if (!gr_is_dir(p->path)) return list_rows(m, r, p);
  folder f = {.list = l,
              .pictures = m->spec.pictures,
              .classes = !gr_image_has_masks(&m->spec) && !m->spec.unlabelled,
              .request = r,
              .root = gr_path_trimmed(l->arena, p->path),
              .masks = p->masks ? gr_path_trimmed(l->arena, p->masks) : NULL,
              .split = p->split};
  l->text = true;
  if (f.classes) return list_classes(&f);
  if (f.masks || m->spec.unlabelled) return list_all(&f);
  return gr_hint(
      gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                       "the masks of the images in the folder '%s' are not given", p->path),
               "mask_values"),
      "data.image.masks=FOLDER has a mask for each image, of its name (for those of "
      "data.image.eval_path: data.image.eval_masks)");
}

static bool has_folders(gr_arena *a, const char *path) {
  int n, folders = 0;
  const char **names = gr_is_dir(path) ? gr_list_dir(a, path, &n) : (n = 0, NULL);
  for (int i = 0; i < n; i++) folders += gr_is_dir(gr_arena_printf(a, "%s/%s", path, names[i]));
  return folders > 1;
}

// An archive that is unpacked has often one folder, in which those of the classes are.
static gr_status check_several(const gr_listing *l, const char *path) {
  if (l->classes.n > 1) return GR_OK;
  const char *name = l->classes.n ? l->classes.names[0] : "";
  const char *inner = gr_arena_printf(l->arena, "%s/%s", path, name);
  gr_status s = gr_about(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "all %u images are of one class, '%s'", l->count, name),
      "path");
  if (has_folders(l->arena, inner))
    s = gr_hint(s, "if the folders in it are the classes, name it: data.image.path=%s", inner);
  return gr_hint(s, "a classifier needs images of at least two");
}

// Errors that say no key are about the path.
static gr_status about(gr_status s, const char *key) {
  return s && !gr_status_about(s) ? gr_about(s, key) : s;
}

gr_status gr_image_list(gr_image *m, const gr_source_request *r) {
  const gr_image_spec *s = &m->spec;
  if (m->list.inputs) {
    GR_TRY(gr_listing_inputs(&m->list, r));
    if (s->unlabelled || s->pictures) return GR_OK;
    GR_TRY(gr_classes_recall(&m->list.classes, r->arena, r->record));
    m->has_values = !m->list.classes.n && !s->n_values;
    return m->has_values ? gr_image_find_values(m, r->record) : GR_OK;
  }
  const part train = {s->path, s->masks, s->eval_path ? GR_SPLIT_TRAIN : GR_SPLIT_BY_KEY};
  const part eval = {s->eval_path, s->eval_masks, GR_SPLIT_VALIDATION};
  GR_TRY(about(list_path(m, r, &train), "path"));
  m->first_of_eval = m->list.count;
  if (s->eval_path) GR_TRY(about(list_path(m, r, &eval), "eval_path"));
  if (gr_image_has_masks(s) || s->unlabelled) return GR_OK;
  if (m->has_values || s->labels.labels.n || s->labels.label_is > GR_LABEL_CLASS)
    return gr_image_find_values(m, r->record);
  GR_TRY(gr_listing_check_labels(&m->list, NULL));
  GR_TRY(gr_listing_number(&m->list, r->record));
  return check_several(&m->list, s->path);
}
