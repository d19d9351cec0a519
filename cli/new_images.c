// new_images.c - see new_images.h.
#include "cli/new_images.h"
#include <string.h>
#include <strings.h>
#include "runtime/data/dataset.h"
#include "runtime/data/image/image.h"
#include "runtime/data/labels.h"

static gr_status begin_images(gr_new_own *o, const char *path) {
  gr_new_begin(o, "image", "path", path);
  gr_new_set(o, "size", "64");
  return GR_OK;
}

const gr_new_files gr_new_image_files = {&gr_source_image, "images", NULL, begin_images};

// Arrays may be of anything.
static bool is_of(const gr_new_files *f, const char *name) {
  const gr_source_ending *e = gr_source_reads(f->source, name);
  return e && e->what && e->in_lists;
}

// Whether it is a Parquet file that has images, by the head of the first.
static bool has_images(const char *path) {
  const gr_image_spec one = {
      .path = path, .height = 1, .width = 1, .channels = 3, .unlabelled = true};
  gr_dataset *d = NULL;
  gr_status s = gr_dataset_create(&gr_source_image, &one,
                                  &(gr_dataset_options){.n_buckets = 1, .limit = 1}, &d);
  s = s ? s : gr_dataset_check_files(d, 0, 1);
  bool found = !s;
  gr_status_drop(s);
  gr_dataset_close(d);
  return found;
}

void gr_new_captions_of(gr_new_own *o, const gr_csv *t, int captions) {
  int most = gr_new_text_tokens(t, captions, 16);
  gr_new_begin(o, "captions", "path", t->path);
  gr_new_set(o, "size", "64");
  gr_new_name(o, "target", t->columns[captions].name);
  gr_new_set(o, "params",
             gr_arena_printf(o->arena, "{dim: 64, layers: 2, text_context: %d}", 1 + most));
  gr_new_add(o, "suffix",
             gr_arena_printf(o->arena, "max_target_tokens: %d   # longer texts are cut", most));
  gr_new_set(o, "generation", gr_arena_printf(o->arena, "{max_tokens: %d}", most));
  gr_text_printf(&o->said, "a list of %u images; to write: the texts in '%s'\n", t->rows,
                 t->columns[captions].name);
}

int gr_new_find_captions(const gr_csv *t, int path) {
  int found = -1, n = 0;
  for (int i = 0; i < t->n_columns; i++) {
    bool other = i != path && strcmp(t->columns[i].name, "split") != 0;
    if (other && t->columns[i].type == GR_COLUMN_TEXT) found = i, n++;
  }
  return n == 1 && gr_csv_find(t, "label") < 0 ? found : -1;
}

static gr_status no_classes(const gr_csv *t, const char *name) {
  char list[512] = "";
  for (int c = 0; c < t->n_columns; c++) {
    size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, "%s%s", c ? ", " : "", t->columns[c].name);
  }
  return gr_hint(gr_fail(GR_ERR_USAGE, ((gr_loc){t->path, 1, 1}),
                         "the images have no classes in a column '%s'", name),
                 "--label=COLUMN names the column of classes, or of texts to write; there are: %s",
                 list);
}

gr_status gr_new_images_of(gr_new_own *o, const gr_csv *t, int path) {
  uint32_t classes, rows;
  int label = gr_csv_find(t, "label"), captions = -1;
  if (o->label) GR_TRY(gr_new_find_label(t, o->label, -1, &label));
  if (!o->label) captions = gr_new_find_captions(t, path);
  if (captions >= 0 && gr_new_has_classes(t, captions)) label = captions, captions = -1;
  if (o->label && gr_new_has_names(t, label)) captions = label;
  if (captions >= 0) return gr_new_captions_of(o, t, captions), GR_OK;
  const char *name = label < 0 ? "label" : t->columns[label].name;
  if (label < 0 || t->columns[label].type == GR_COLUMN_FLOAT) return no_classes(t, name);
  GR_TRY(begin_images(o, t->path));
  if (strcmp(name, "label") != 0)
    gr_new_add(o, "path",
               gr_arena_printf(o->arena, "label: %s   # the column of the classes",
                               gr_new_quoted(o, name)));
  classes = gr_csv_distinct(t, label, &rows);
  gr_text_printf(&o->said, "%u images; to predict: '%s', %u classes\n", t->rows, name, classes);
  gr_new_set_classes(o, classes);
  return GR_OK;
}

gr_status gr_new_packed_images(gr_new_own *o, const gr_csv *t, bool *found) {
  int path = 0;
  if (!(*found = t->typed && has_images(t->path))) return GR_OK;
  while (path < t->n_columns && !gr_ends_in(t->columns[path].name, ".path")) path++;
  return gr_new_images_of(o, t, path);
}

// At any depth, within reason: a link may lead upwards.
static int count_files(gr_arena *a, const gr_new_files *f, const char *dir, int depth) {
  enum { MOST = 8 };
  int n = 0, files = 0;
  const char **names = depth < MOST && gr_is_dir(dir) ? gr_list_dir(a, dir, &n) : NULL;
  for (int i = 0; i < n; i++)
    files += is_of(f, names[i])
                 ? 1
                 : count_files(a, f, gr_arena_printf(a, "%s/%s", dir, names[i]), depth + 1);
  return files;
}

// The folders of a folder that have files; *only: the last of them.
static int count_classes(gr_arena *a, const gr_new_files *f, const char *dir, int *files,
                         const char **only) {
  int n, classes = 0;
  const char **names = gr_is_dir(dir) ? gr_list_dir(a, dir, &n) : (n = 0, NULL);
  *files = 0;
  for (int i = 0; i < n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names[i]);
    bool class = gr_is_dir(inner) && !(f->except && !strcmp(names[i], f->except));
    int here = class ? count_files(a, f, inner, 1) : 0;
    if (here) *only = inner, *files += here, classes++;
  }
  return classes;
}

// Archives have a folder of each split: train/cats and val/cats, or test/cats.
static gr_status make_splits(gr_new_own *o, const gr_new_files *f, const char *path, bool *found) {
  const char *only, *part[3] = {NULL}, *key = f->source->path_key;
  int n, files[3], classes[3];
  const char **names = gr_list_dir(o->arena, path, &n);
  for (int i = 0; i < n; i++) {
    gr_split split = GR_SPLIT_TRAIN;
    const char *inner = gr_arena_printf(o->arena, "%s/%s", path, names[i]);
    int k = gr_split_by_word(names[i], &split) ? (int)split : !strcasecmp(names[i], "test") ? 2 : 3;
    if (k < 3) classes[k] = count_classes(o->arena, f, inner, &files[k], &only);
    if (k < 3 && classes[k] > 1) part[k] = inner;
  }
  int k = part[1] ? 1 : 2;
  *found = part[0] && part[k];
  if (!*found) return GR_OK;
  GR_TRY(f->begin(o, part[0]));
  gr_new_drop(o, "validation_fraction");
  gr_new_add(
      o, key,
      gr_arena_printf(o->arena, "eval_%s: %s   # validation", key, gr_new_quoted(o, part[k])));
  gr_text_printf(&o->said, "%d %s to train on, %d of '%s' for validation\n", files[0], f->what,
                 files[k], part[k]);
  gr_new_set_classes(o, (uint32_t)classes[0]);
  if (k == 1 && part[2]) gr_text_printf(&o->said, "not used: '%s'\n", part[2]);
  return GR_OK;
}

gr_status gr_new_find_classes(gr_new_own *o, const gr_new_files *f, const char *path, bool *found) {
  const char *only;
  int files, classes = count_classes(o->arena, f, path, &files, &only);
  GR_TRY(make_splits(o, f, path, found));
  if (*found || !classes) return GR_OK;
  if (classes == 1) return gr_new_find_classes(o, f, only, found);
  *found = true;
  GR_TRY(f->begin(o, path));
  gr_text_printf(&o->said, "%d %s of %d classes\n", files, f->what, classes);
  gr_new_set_classes(o, (uint32_t)classes);
  return GR_OK;
}
