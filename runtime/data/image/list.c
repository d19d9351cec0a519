// list.c - lists the images of a folder for each class, of a CSV file, or to predict; see image.h.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "base/work.h"
#include "runtime/data/file_list.h"
#include "runtime/data/image/image.h"

enum { MAX_DEPTH = 8, MAX_IMAGES = 1 << 30 };

static gr_status add_file(gr_image *m, gr_image_file f) {
  GR_TRY(gr_work_step(0));
  if (m->count == m->room) {
    if (m->count >= MAX_IMAGES)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than 2^30 images");
    m->room = 2 * m->room + 256;
    gr_image_file *more = GR_NEW(m->arena, gr_image_file, m->room);
    if (m->count) memcpy(more, m->file, m->count * sizeof *more);
    m->file = more;
  }
  m->file[m->count++] = f;
  return GR_OK;
}

// ---- Folders ------------------------------------------------------------------------------------

// What is read of a folder, in the order of names.
typedef struct folder {
  gr_image *image;
  const gr_source_request *request;
  bool eval;         // for validation, as data.image.eval_path
  uint32_t first;    // image of the class
  int32_t found;     // the class, as it was added
  const char *root;  // of names
} folder;

static bool is_image(const char *name) {
  static const char *const ends[] = {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".npy"};
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
    if (!strcasecmp(dot, ends[i])) return true;
  return false;
}

// Hidden files, and what macOS and Windows add to folders and archives, are no images.
static int is_shown(const struct dirent *e) {
  static const char *const added[] = {"__MACOSX", "Thumbs.db", "desktop.ini"};
  for (size_t i = 0; i < sizeof added / sizeof *added; i++)
    if (!strcasecmp(e->d_name, added[i])) return 0;
  return *e->d_name != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

// The names in a folder, in the order of their bytes, in the arena.
static gr_status list_folder(gr_arena *a, const char *path, gr_names *out) {
  struct dirent **list;
  int n = scandir(path, &list, is_shown, by_bytes);
  *out = (gr_names){0};
  if (n < 0)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot read the folder '%s': %s", path,
                   strerror(errno));
  out->at = GR_NEW(a, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    out->at[out->n++] = gr_arena_strdup(a, list[i]->d_name);
    free(list[i]);
  }
  free(list);
  return GR_OK;
}

static gr_status add_image(folder *f, const char *path) {
  gr_image *m = f->image;
  const char *name = path + strlen(f->root) + 1;
  gr_split split = f->eval ? GR_SPLIT_VALIDATION
                   : m->spec.eval_path
                       ? GR_SPLIT_TRAIN
                       : gr_split_by_key(gr_hash_text(name), f->request->validation_fraction);
  if (f->request->limit && m->count - f->first >= f->request->limit) return GR_OK;
  return add_file(
      m, (gr_image_file){.name = name, .path = path, .label = f->found, .split = (uint8_t)split});
}

// Images of a class may be in folders within its own.
static gr_status add_folder(folder *f, const char *path, int depth) {
  gr_arena *a = f->image->arena;
  gr_names names;
  if (depth > MAX_DEPTH)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is %d folders deep", path, depth),
                   "a link to a folder above it makes an endless path: remove it");
  GR_TRY(list_folder(a, path, &names));
  for (int i = 0; i < names.n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", path, names.at[i]);
    if (gr_is_dir(inner))
      GR_TRY(add_folder(f, inner, depth + 1));
    else if (is_image(names.at[i]))
      GR_TRY(add_image(f, inner));
    else
      f->image->skipped[GR_IMAGE_OTHER].count++;
  }
  return GR_OK;
}

static gr_status no_classes(const char *path, bool images) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              images ? "the folder '%s' has images and no folders: their classes are not known"
                     : "the folder '%s' has no folders with images",
              path),
      "it has a folder for each class, whose name is the class: cats/1.png, dogs/1.png");
}

// A folder for each class. One that is empty is a class without images, which may be in the other
// split; if they are in none, the run says so (gr_dataset_notes).
static gr_status list_classes(folder *f) {
  gr_image *m = f->image;
  uint32_t before = m->count;
  bool images = false;
  gr_names names;
  GR_TRY(list_folder(m->arena, f->root, &names));
  for (int i = 0; i < names.n; i++) {
    const char *path = gr_arena_printf(m->arena, "%s/%s", f->root, names.at[i]);
    images |= is_image(names.at[i]);
    if (!gr_is_dir(path)) {
      m->skipped[GR_IMAGE_OTHER].count++;
      continue;
    }
    f->first = m->count;
    GR_TRY(gr_classes_add(&m->classes, m->arena, names.at[i], GR_NOWHERE, &f->found));
    GR_TRY(add_folder(f, path, 1));
  }
  return m->count == before ? no_classes(f->root, images) : GR_OK;
}

// ---- Lists --------------------------------------------------------------------------------------

static gr_status add_row(gr_image *m, const gr_source_request *r, const gr_file_list *l,
                         uint32_t row, bool eval) {
  gr_image_file f = {.name = gr_file_list_name(m->arena, l, row), .label = l->class_of[row]};
  gr_split split;
  f.path = gr_file_list_path(m->arena, l, f.name);
  f.loc = gr_file_list_place(l, row);
  GR_TRY(gr_file_list_split(l, row, gr_hash_text(f.name), r->validation_fraction, &split));
  if (m->spec.eval_path) split = eval ? GR_SPLIT_VALIDATION : GR_SPLIT_TRAIN;
  f.split = (uint8_t)split;
  GR_TRY(gr_file_list_weight(l, row, &f.has_weight, &f.weight));
  return add_file(m, f);
}

static gr_status list_rows(gr_image *m, const gr_source_request *r, const char *path, bool eval) {
  gr_file_list l;
  GR_TRY(gr_file_list_open(m->arena, path, "images", "split", &l));
  if (l.split_at >= 0 && m->spec.eval_path)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1},
                                    "the column split and data.image.eval_path both say what is "
                                    "for validation"),
                            "eval_path"),
                   "give one of them");
  GR_TRY(gr_file_list_classes(&l, m->arena, &m->classes));
  m->text |= gr_array_is_text(&l.label);
  for (uint32_t row = 0; row < l.csv.rows && (!r->limit || row < r->limit); row++)
    GR_TRY(add_row(m, r, &l, row, eval));
  return GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

static gr_status list_path(gr_image *m, const gr_source_request *r, const char *path, bool eval) {
  if (!gr_is_dir(path)) return list_rows(m, r, path, eval);
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  folder f = {.image = m, .request = r, .eval = eval, .root = gr_arena_strndup(m->arena, path, n)};
  m->text = true;
  return list_classes(&f);
}

static gr_status number_classes(gr_image *m, const gr_json *record) {
  gr_names recorded = gr_names_recorded(m->arena, record, "class_names");
  int32_t *place_of;
  GR_TRY(gr_classes_number(&m->classes, m->arena, m->text, &recorded, &place_of));
  for (uint32_t i = 0; i < m->count; i++) m->file[i].label = place_of[m->file[i].label];
  if (m->classes.n > 1) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "all %u images are of one class, '%s'",
                                  m->count, m->classes.n ? m->classes.names[0] : ""),
                          "path"),
                 "a classifier needs images of at least two");
}

static gr_status list_inputs(gr_image *m, const gr_source_request *r) {
  gr_names recorded = gr_names_recorded(m->arena, r->record, "class_names");
  m->classes.names = recorded.at, m->classes.n = recorded.n;
  for (int i = 0; i < r->n_inputs; i++)
    GR_TRY(add_file(
        m,
        (gr_image_file){.name = r->inputs[i], .path = r->inputs[i], .split = GR_SPLIT_VALIDATION}));
  return GR_OK;
}

gr_status gr_image_list(gr_image *m, const gr_source_request *r) {
  m->classes = gr_classes_make(m->arena);
  if (m->inputs) return list_inputs(m, r);
  GR_TRY(gr_about(list_path(m, r, m->spec.path, false), "path"));
  if (m->spec.eval_path) GR_TRY(gr_about(list_path(m, r, m->spec.eval_path, true), "eval_path"));
  return number_classes(m, r->record);
}
