// new_images.c - see new_images.h.
#include "cli/new_images.h"
#include <string.h>
#include <strings.h>
#include "cli/new_tables.h"
#include "runtime/data/dataset.h"
#include "runtime/data/file_list.h"
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

// GR_ERR_DATA: they are no Parquet files that have images, by the head of the first.
static gr_status try_images(const char *path) {
  const gr_image_spec one = {
      .path = path, .height = 1, .width = 1, .channels = 3, .unlabelled = true};
  gr_dataset *d = NULL;
  gr_status s = gr_dataset_create(&gr_source_image, &one,
                                  &(gr_dataset_options){.n_buckets = 1, .limit = 1}, &d);
  s = s ? s : gr_dataset_check_files(d, 0, 1);
  gr_dataset_close(d);
  return s;
}

// Whether it is of files within Parquet or archives, and not about them.
static bool is_packed(const gr_csv *t, int column) {
  const char *name = t->columns[column].name;
  if (gr_csv_is_place(t, column)) return true;
  return t->typed && (gr_ends_in(name, ".path") || gr_ends_in(name, ".bytes"));
}

static void make_captions(gr_new_own *o, const gr_csv *t, int captions) {
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

static void make_values(gr_new_own *o, const gr_csv *t, int label) {
  gr_new_begin(o, "image_regression", "path", t->path);
  gr_new_set(o, "size", "64");
  gr_new_name(o, "label", t->columns[label].name);
  gr_new_set_scale(o, "filters: 8", t, label);
  gr_text_printf(&o->said, "%u images; to predict: '%s', a number\n", t->rows,
                 t->columns[label].name);
}

static gr_status make_classes(gr_new_own *o, const gr_csv *t, int label) {
  const gr_column *c = &t->columns[label];
  uint32_t rows, classes = gr_csv_distinct(t, label, &rows);
  GR_TRY(begin_images(o, t->path));
  if (c->type == GR_COLUMN_FLOAT) gr_new_add(o, "path", gr_new_is_class);
  if (strcmp(c->name, "label") != 0)
    gr_new_add(o, "path",
               gr_arena_printf(o->arena, "label: %s   # the column of the classes",
                               gr_new_quoted(o, c->name)));
  gr_text_printf(&o->said, "%u images; to predict: '%s', %u classes\n", t->rows, c->name, classes);
  gr_new_set_classes(o, classes);
  return GR_OK;
}

// The only column of texts, or of numbers, but the paths and what is not about an image; -1: there
// are none, or several.
static int only_column(const gr_csv *t, int path, bool text) {
  int found = -1, n = 0;
  for (int c = 0; c < t->n_columns; c++) {
    bool other = c != path && strcmp(t->columns[c].name, "split") != 0 && !is_packed(t, c);
    if (!other || (t->columns[c].type == GR_COLUMN_TEXT) != text) continue;
    if (text || !gr_csv_counts_rows(t, c)) found = c, n++;
  }
  return n == 1 ? found : -1;
}

int gr_new_image_label(const gr_new_own *o, const gr_csv *t, int path) {
  if (o->label) return gr_csv_find(t, o->label);
  int label = gr_csv_find(t, "label");
  if (label < 0) label = only_column(t, path, true);
  return label < 0 ? gr_new_find_usual(t, true) : label;
}

static gr_status find_label(const gr_new_own *o, const gr_csv *t, int path, int *out) {
  if (o->label) return gr_new_find_label(t, o->label, -1, out);
  *out = gr_new_image_label(o, t, path);
  if (*out < 0) *out = only_column(t, path, false);
  return GR_OK;
}

// Whether whole numbers are those of classes, however many there are: class_id.
static bool is_called_class(const char *name) {
  for (; *name; name++)
    if (!strncasecmp(name, "label", 5) || !strncasecmp(name, "class", 5) ||
        !strncasecmp(name, "categor", 7))
      return true;
  return false;
}

static gr_status no_label(const gr_new_own *o, const gr_csv *t, int path) {
  gr_text list = gr_text_make(o->arena);
  for (int c = 0; c < t->n_columns; c++)
    if (c != path && !is_packed(t, c))
      gr_text_printf(&list, "%s%s", list.len ? ", " : "; there are: ", t->columns[c].name);
  return gr_hint(gr_fail(GR_ERR_USAGE, ((gr_loc){t->path, 1, 1}),
                         "it is not clear what to predict of the images"),
                 "--label=COLUMN names the column of classes, of numbers, or of texts to write%s",
                 list.len ? list.chars : "; there is none beside the images");
}

gr_status gr_new_images_of(gr_new_own *o, const gr_csv *t, int path) {
  uint32_t distinct;
  int label;
  GR_TRY(find_label(o, t, path, &label));
  if (label < 0 || label == path) return no_label(o, t, path);
  const gr_column *c = &t->columns[label];
  bool named = !strcmp(c->name, "label"), text = c->type == GR_COLUMN_TEXT;
  bool classes = o->label ? !gr_new_has_names(t, label) : named || gr_new_has_classes(t, label);
  if (text && !classes) return make_captions(o, t, label), GR_OK;
  bool value = gr_new_is_value(t, label, &distinct);
  if (c->type == GR_COLUMN_INT && is_called_class(c->name)) value = false;
  return value ? (make_values(o, t, label), GR_OK) : make_classes(o, t, label);
}

gr_status gr_new_packed_images(gr_new_own *o, const gr_csv *t, bool *found) {
  int path = 0, files = 0;
  *found = false;
  if (!t->typed) return GR_OK;
  for (int c = t->n_columns - 1; c >= 0; c--)
    if (gr_ends_in(t->columns[c].name, ".path")) path = c, files++;
  gr_status s = try_images(t->path);
  if (s && files > 1) return s;
  *found = !s;
  gr_status_drop(s);
  if (!*found) return GR_OK;
  bool masks = false;
  if (!o->label) GR_TRY(gr_new_packed_masks(o, t, &masks));
  if (masks) return GR_OK;
  return gr_new_images_of(o, t, path);
}

// The names in a folder that images are looked for by; of a file, or where it cannot be read: none.
static gr_names shown(gr_arena *a, const char *dir) {
  gr_names names = {0};
  if (gr_is_dir(dir)) gr_status_drop(gr_file_list_folder(a, dir, &names));
  return names;
}

// At any depth, within reason: a link may lead upwards.
static int count_files(gr_arena *a, const gr_new_files *f, const char *dir, int depth) {
  enum { MOST = 8 };
  int files = 0;
  gr_names names = depth < MOST ? shown(a, dir) : (gr_names){0};
  for (int i = 0; i < names.n; i++)
    files += is_of(f, names.items[i])
                 ? 1
                 : count_files(a, f, gr_arena_printf(a, "%s/%s", dir, names.items[i]), depth + 1);
  return files;
}

// The folders of a folder that have files; *only: the last of them.
static int count_classes(gr_arena *a, const gr_new_files *f, const char *dir, int *files,
                         const char **only) {
  gr_names names = shown(a, dir);
  int classes = 0;
  *files = 0;
  for (int i = 0; i < names.n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names.items[i]);
    bool class = gr_is_dir(inner) && !(f->except && !strcmp(names.items[i], f->except));
    int here = class ? count_files(a, f, inner, 1) : 0;
    if (here) *only = inner, *files += here, classes++;
  }
  return classes;
}

// ---- Splits -------------------------------------------------------------------------------------

// What is of a split, in the order of gr_table_use.
typedef struct part {
  const char *path;  // NULL: it has no classes
  const char *flat;  // a folder without classes; NULL: there is none
  int files, classes;
} part;

// The classes of a split's folder may be within the only folder there: test_set/test_set/cats.
static void find_part(gr_arena *a, const gr_new_files *f, const char *dir, part *p) {
  const char *path = dir, *only = dir;
  int files, classes;
  if (!count_files(a, f, dir, 1)) return;
  while ((classes = count_classes(a, f, path, &files, &only)) == 1) path = only;
  if (classes)
    *p = (part){path, p->flat, files, classes};
  else
    p->flat = dir;
}

static void say_unused(gr_new_own *o, const char *path) {
  if (path) gr_text_printf(&o->said, "not used: '%s'\n", path);
}

// Archives have a folder of each split: train/cats and val/cats, or test/cats.
static gr_status make_splits(gr_new_own *o, const gr_new_files *f, const char *path, bool *found) {
  part parts[GR_TABLE_ANY + 1] = {{0}};
  gr_names names = shown(o->arena, path);
  for (int i = 0; i < names.n; i++)
    find_part(o->arena, f, gr_arena_printf(o->arena, "%s/%s", path, names.items[i]),
              &parts[gr_file_list_use(names.items[i])]);
  const part *train = &parts[GR_TABLE_TRAINS], *test = &parts[GR_TABLE_OTHER],
             *other = parts[GR_TABLE_VALIDATES].path ? &parts[GR_TABLE_VALIDATES] : test;
  *found = train->path && (other->path || other->flat);
  if (!*found) return GR_OK;
  GR_TRY(f->begin(o, train->path));
  gr_new_set_classes(o, (uint32_t)train->classes);
  gr_text_printf(&o->said, "%d %s to train on", train->files, f->what);
  bool evaluates = other->path && !f->source->one_path;
  if (evaluates) {
    gr_new_set_evaluation(o, f->source->path_key, other->path);
    gr_text_printf(&o->said, ", %d of '%s' for validation", other->files, other->path);
  }
  gr_text_put(&o->said, "\n");
  if (!evaluates) say_unused(o, other->path ? other->path : other->flat);
  if (other == test) say_unused(o, parts[GR_TABLE_VALIDATES].flat);
  if (other != test) say_unused(o, test->path ? test->path : test->flat);
  return GR_OK;
}

// A folder called as a split is, for training before others, of those in it that have files; or
// NULL.
static const char *split_within(gr_arena *a, const gr_new_files *f, const char *dir) {
  const char *found = NULL;
  gr_names names = shown(a, dir);
  for (int i = 0; i < names.n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names.items[i]);
    gr_table_use use = gr_file_list_use(names.items[i]);
    if (use == GR_TABLE_ANY || (found && use != GR_TABLE_TRAINS)) continue;
    if (count_files(a, f, inner, 1)) found = inner;
  }
  return found;
}

// Folders of train and test are no classes, nor are those that have such: images/train.
static gr_status check_classes(const gr_new_own *o, const gr_new_files *f, const char *path) {
  const char *within = NULL, *split = split_within(o->arena, f, path);
  gr_names names = shown(o->arena, path);
  for (int i = 0; i < names.n; i++) {
    const char *inner = gr_arena_printf(o->arena, "%s/%s", path, names.items[i]);
    if (!count_files(o->arena, f, inner, 1)) continue;
    within = split_within(o->arena, f, inner);
    if (gr_file_list_use(names.items[i]) == GR_TABLE_ANY && !within) return GR_OK;
  }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "'%s' has %s in folders called as splits are, and none for each class",
                         path, f->what),
                 "train/cats/1 and train/dogs/1, or images/1 and masks/1; or a list of the files, "
                 "as metadata.csv%s%s",
                 split ? ", and --from=" : "", split ? split : "");
}

// The classes are said: what a folder is called need not be what there is to predict.
static void say_classes(gr_new_own *o, const gr_new_files *f, const char *path) {
  enum { SAID = 5 };
  gr_names names = shown(o->arena, path);
  int n = 0;
  for (int i = 0; i < names.n && n <= SAID; i++) {
    const char *inner = gr_arena_printf(o->arena, "%s/%s", path, names.items[i]);
    if ((f->except && !strcmp(names.items[i], f->except)) || !count_files(o->arena, f, inner, 1))
      continue;
    if (n < SAID) gr_text_printf(&o->said, "%s'%s'", n ? ", " : ": ", names.items[i]);
    n++;
  }
  gr_text_put(&o->said, n > SAID ? ", ...\n" : "\n");
}

gr_status gr_new_find_classes(gr_new_own *o, const gr_new_files *f, const char *path, bool *found) {
  const char *only;
  int files, classes = count_classes(o->arena, f, path, &files, &only);
  GR_TRY(make_splits(o, f, path, found));
  if (*found || !classes) return GR_OK;
  if (classes > 1) GR_TRY(check_classes(o, f, path));
  if (classes == 1) return gr_new_find_classes(o, f, only, found);
  *found = true;
  GR_TRY(f->begin(o, path));
  gr_text_printf(&o->said, "%d %s of %d classes", files, f->what, classes);
  say_classes(o, f, path);
  gr_new_set_classes(o, (uint32_t)classes);
  return GR_OK;
}
