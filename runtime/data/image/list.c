// list.c - lists the images of a folder for each class, of a CSV file, or to predict; see image.h.
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

// ---- Folders ------------------------------------------------------------------------------------

// A folder whose folders are classes, while it is listed in the order of names.
typedef struct folder {
  gr_listing *list;
  const gr_source_request *request;
  const char *root;     // which names of images are relative to
  gr_split split;       // of all images; GR_SPLIT_BY_KEY: a hash of its name says which
  uint32_t class_from;  // the number of the first image of the class
  int32_t class_place;  // of the class, in the order of additions
  const char *other;    // the first file that is no image, by its name
} folder;

static gr_status add_image(folder *f, const char *path) {
  const char *name = path + strlen(f->root) + 1;
  gr_split split = f->split != GR_SPLIT_BY_KEY
                       ? f->split
                       : gr_split_by_key(gr_hash_text(name), f->request->validation_fraction);
  if (f->request->limit && f->list->count - f->class_from >= f->request->limit) return GR_OK;
  return gr_listing_add(f->list,
                        &(gr_listed){name, path, {.split = split, .label = 1 + f->class_place}});
}

static void skip_file(folder *f, const char *path) {
  if (!f->other) f->other = path;
  f->request->skipped[GR_IMAGE_OTHER]++;
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
      "it has a folder for each class, whose name is the class: cats/1.png, dogs/1.png");
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

// ---- Lists --------------------------------------------------------------------------------------

// split: of all rows; GR_SPLIT_BY_KEY: each row says, or a hash of its name.
static gr_status list_rows(gr_listing *l, const gr_source_request *r, const char *path,
                           gr_split split) {
  gr_file_list rows;
  uint32_t before = l->count;
  GR_TRY(gr_file_list_open(l->arena, path, l->what, "split", &rows));
  if (rows.split_column >= 0 && split != GR_SPLIT_BY_KEY)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1},
                                    "the column split and data.image.eval_path both say what is "
                                    "for validation"),
                            "eval_path"),
                   "give one of them");
  GR_TRY(gr_listing_rows(l, r, &rows, r->limit));
  for (uint32_t i = before; i < l->count && split != GR_SPLIT_BY_KEY; i++)
    l->file[i].info.split = split;
  return GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

static gr_status list_path(gr_listing *l, const gr_source_request *r, const char *path,
                           gr_split split) {
  if (!gr_is_dir(path)) return list_rows(l, r, path, split);
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  l->text = true;
  return list_classes(&(folder){
      .list = l, .request = r, .root = gr_arena_strndup(l->arena, path, n), .split = split});
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

gr_status gr_image_list(gr_image *m, const gr_source_request *r) {
  const char *eval_path = m->spec.eval_path;
  if (m->list.inputs) return gr_listing_inputs(&m->list, r);
  GR_TRY(gr_about(
      list_path(&m->list, r, m->spec.path, eval_path ? GR_SPLIT_TRAIN : GR_SPLIT_BY_KEY), "path"));
  if (eval_path)
    GR_TRY(gr_about(list_path(&m->list, r, eval_path, GR_SPLIT_VALIDATION), "eval_path"));
  GR_TRY(gr_listing_check_labels(&m->list, NULL));
  GR_TRY(gr_listing_number(&m->list, r->record));
  return check_several(&m->list, m->spec.path);
}
