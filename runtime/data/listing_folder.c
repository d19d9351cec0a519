// listing_folder.c - lists the files of folders, which may be those of classes; see listing.h.
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "runtime/data/listing.h"

// A folder while it is listed in the order of names.
typedef struct folder {
  gr_listing *list;
  const gr_source_request *request;
  const char *root;   // which names of files are relative to
  gr_split split;     // of all files; GR_SPLIT_BY_KEY: a hash of its name says which
  const char *other;  // the first file that is none of the source's, by its name
} folder;

static folder open_folder(gr_listing *l, const gr_source_request *r, const gr_listing_part *p) {
  l->text = true;
  return (folder){
      .list = l, .request = r, .root = gr_path_trimmed(l->arena, p->path), .split = p->split};
}

static bool is_listed(const gr_listing *l, const char *name) {
  const gr_source_ending *e = gr_source_reads(l->ops, name);
  return e && e->in_lists;
}

// label: 1 + the class's place in the order of additions; 0: it has none. first: the number of the
// first file that counts for the limit.
static gr_status add_file(folder *f, const char *path, int32_t label, uint32_t first) {
  const char *name = path + strlen(f->root) + 1;
  gr_split split = f->split != GR_SPLIT_BY_KEY
                       ? f->split
                       : gr_split_by_key(gr_hash_text(name), f->request->validation);
  if (f->request->limit && f->list->count - first >= f->request->limit) {
    gr_omitted_add(f->list->arena, f->request->limited, 1, GR_NOWHERE, path);
    return GR_OK;
  }
  const gr_listed file = {.name = name, .path = path, .info = {.split = split, .label = label}};
  return gr_listing_add(f->list, &file);
}

static void skip_file(folder *f, const char *path) {
  if (!f->other) f->other = path;
  gr_omitted_add(f->list->arena, &f->request->skipped[f->list->other], 1, GR_NOWHERE, path);
}

static gr_status add_tree(folder *f, const char *path, int32_t label) {
  uint32_t first = f->list->count;
  gr_names files;
  GR_TRY(gr_file_list_tree(f->list->arena, path, &files));
  for (int i = 0; i < files.n; i++)
    if (is_listed(f->list, files.items[i]))
      GR_TRY(add_file(f, files.items[i], label, first));
    else
      skip_file(f, files.items[i]);
  return GR_OK;
}

// loose: it has files of the source beside its folders.
static gr_status no_classes(const folder *f, bool loose) {
  const gr_source_ops *ops = f->list->ops;
  const gr_source_ending *e = ops->endings;
  const char *what = f->list->what;
  gr_folder_tables tables;
  while (!e->in_lists) e++;
  if (!loose && f->other && gr_file_list_tables(f->list->arena, f->root, &tables))
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the folder '%s' has no %s, and tables", f->root, what),
        "%s of these, as lists or in Parquet, are named by '%s'", what, tables.all);
  if (!loose && f->other)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the folder '%s' has no %s that are read: '%s' is none, by its name",
                           f->root, what, f->other),
                   "%s: convert the others", ops->skips[f->list->other].hint);
  gr_status s = loose
                    ? gr_fail(GR_ERR_DATA, GR_NOWHERE,
                              "the folder '%s' has %s and no folders: their classes are not known",
                              f->root, what)
                    : gr_fail(GR_ERR_DATA, GR_NOWHERE, "the folder '%s' has no folders with %s",
                              f->root, what);
  return gr_hint(s, "it has a folder for each class, whose name is the class: cats/1%s, dogs/1%s",
                 e->ending, e->ending);
}

// Fails where a folder is named as a split is, and has no files but in folders of its own: its
// files would be a class.
static gr_status check_no_split(const folder *f, const char *name, const char *path) {
  static const char *const words[] = {"train", "training", "validation", "valid",
                                      "val",   "dev",      "test",       "eval"};
  const gr_listing *l = f->list;
  const char *source = l->ops->name, *key = l->ops->path_key;
  bool named = false, files = false;
  int folders = 0;
  gr_names inner;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) named |= !strcasecmp(name, words[i]);
  if (!named) return GR_OK;
  GR_TRY(gr_file_list_folder(l->arena, path, &inner));
  for (int i = 0; i < inner.n; i++) {
    files |= is_listed(l, inner.items[i]);
    folders += gr_is_dir(gr_arena_printf(l->arena, "%s/%s", path, inner.items[i]));
  }
  if (files || folders < 2) return GR_OK;
  gr_status s =
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the folder '%s' is a split by its name and its folders, and would be a class", path);
  if (l->ops->one_path)
    return gr_hint(s, "data.%s.%s=%s names one of them; a list with a column split names both",
                   source, key, path);
  return gr_hint(
      s,
      "data.%s.%s=%s/train data.%s.eval_%s=%s/val names those of the splits; a class of that name "
      "has its %s in its folder",
      source, key, f->root, source, key, f->root, l->what);
}

// A folder for each class. One that is empty is a class without files, which may be in the other
// split; if they are in none, the run says so (gr_dataset_notes).
gr_status gr_listing_folders(gr_listing *l, const gr_source_request *r, const gr_listing_part *p) {
  folder f = open_folder(l, r, p);
  uint32_t before = l->count;
  bool loose = false;
  gr_names names;
  GR_TRY(gr_file_list_folder(l->arena, f.root, &names));
  for (int i = 0; i < names.n; i++) {
    const char *path = gr_arena_printf(l->arena, "%s/%s", f.root, names.items[i]);
    int32_t class;
    loose |= is_listed(l, names.items[i]);
    if (!gr_is_dir(path) || (l->except && !strcmp(names.items[i], l->except))) {
      skip_file(&f, path);
      continue;
    }
    GR_TRY(check_no_split(&f, names.items[i], path));
    GR_TRY(gr_classes_add(&l->classes, l->arena, names.items[i], GR_NOWHERE, &class));
    GR_TRY(add_tree(&f, path, 1 + class));
  }
  return l->count == before ? no_classes(&f, loose) : GR_OK;
}

gr_status gr_listing_tree(gr_listing *l, const gr_source_request *r, const gr_listing_part *p) {
  folder f = open_folder(l, r, p);
  uint32_t before = l->count;
  GR_TRY(add_tree(&f, f.root, 0));
  return l->count == before ? no_classes(&f, false) : GR_OK;
}

// ---- Classes ------------------------------------------------------------------------------------

static bool has_folders(gr_arena *a, const char *path) {
  int n, folders = 0;
  const char **names = gr_is_dir(path) ? gr_list_dir(a, path, &n) : (n = 0, NULL);
  for (int i = 0; i < n; i++) folders += gr_is_dir(gr_arena_printf(a, "%s/%s", path, names[i]));
  return folders > 1;
}

// An archive that is unpacked has often one folder, in which those of the classes are.
gr_status gr_listing_check_several(const gr_listing *l, const char *path) {
  if (l->classes.n > 1) return GR_OK;
  const char *name = l->classes.n ? l->classes.names[0] : "";
  const char *inner = gr_arena_printf(l->arena, "%s/%s", path, name);
  gr_status s = gr_about(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "all %u %s are of one class, '%s'", l->count, l->what, name),
      l->ops->path_key);
  if (has_folders(l->arena, inner))
    s = gr_hint(s, "if the folders in it are the classes, name it: data.%s.%s=%s", l->ops->name,
                l->ops->path_key, inner);
  return gr_hint(s, "a classifier needs %s of at least two", l->what);
}
