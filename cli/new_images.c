// new_images.c - see new_images.h.
#include "cli/new_images.h"
#include <string.h>
#include <strings.h>
#include "runtime/data/labels.h"
#include "runtime/data/source.h"

void gr_new_images(gr_new_own *o, const char *path) {
  gr_new_begin(o, "image", "path", path);
  gr_new_set(o, "size", "64");
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

// At any depth, within reason: a link may lead upwards.
static int count_images(gr_arena *a, const char *dir, int depth) {
  enum { MOST = 8 };
  int n = 0, images = 0;
  const char **names = depth < MOST && gr_is_dir(dir) ? gr_list_dir(a, dir, &n) : NULL;
  for (int i = 0; i < n; i++)
    images += gr_source_of_file(names[i], NULL) == &gr_source_image
                  ? 1
                  : count_images(a, gr_arena_printf(a, "%s/%s", dir, names[i]), depth + 1);
  return images;
}

// The folders of a folder that have images; *only: the last of them.
static int count_classes(gr_arena *a, const char *dir, int *images, const char **only) {
  int n, classes = 0;
  const char **names = gr_is_dir(dir) ? gr_list_dir(a, dir, &n) : (n = 0, NULL);
  *images = 0;
  for (int i = 0; i < n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names[i]);
    int here = gr_is_dir(inner) ? count_images(a, inner, 1) : 0;
    if (here) *only = inner, *images += here, classes++;
  }
  return classes;
}

// Archives have a folder of each split: train/cats and val/cats, or test/cats.
static bool make_splits(gr_new_own *o, const char *path) {
  const char *only, *part[3] = {NULL};
  int n, images[3], classes[3];
  const char **names = gr_list_dir(o->arena, path, &n);
  for (int i = 0; i < n; i++) {
    gr_split split = GR_SPLIT_TRAIN;
    const char *inner = gr_arena_printf(o->arena, "%s/%s", path, names[i]);
    int k = gr_split_by_word(names[i], &split) ? (int)split : !strcasecmp(names[i], "test") ? 2 : 3;
    if (k < 3) classes[k] = count_classes(o->arena, inner, &images[k], &only);
    if (k < 3 && classes[k] > 1) part[k] = inner;
  }
  int k = part[1] ? 1 : 2;
  if (!part[0] || !part[k]) return false;
  gr_new_images(o, part[0]);
  gr_new_drop(o, "validation_fraction");
  gr_new_add(o, "path",
             gr_arena_printf(o->arena, "eval_path: %s   # validation", gr_new_quoted(o, part[k])));
  gr_text_printf(&o->said, "%d images to train on, %d of '%s' for validation\n", images[0],
                 images[k], part[k]);
  gr_new_set_classes(o, (uint32_t)classes[0]);
  if (k == 1 && part[2]) gr_text_printf(&o->said, "not used: '%s'\n", part[2]);
  return true;
}

bool gr_new_find_images(gr_new_own *o, const char *path) {
  const char *only;
  int images, classes = count_classes(o->arena, path, &images, &only);
  if (make_splits(o, path)) return true;
  if (classes == 1) return gr_new_find_images(o, only);
  if (!classes) return false;
  gr_new_images(o, path);
  gr_text_printf(&o->said, "%d images of %d classes\n", images, classes);
  gr_new_set_classes(o, (uint32_t)classes);
  return true;
}
