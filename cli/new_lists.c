// new_lists.c - see new_lists.h.
#include "cli/new_lists.h"
#include <string.h>
#include "cli/new_columns.h"
#include "cli/new_images.h"
#include "cli/new_listed.h"
#include "runtime/data/dataset.h"
#include "runtime/data/file_list.h"
#include "runtime/data/source.h"
#include "runtime/data/video/video.h"

// Clips are as long as the shortest video, where that is shorter than they would be.
static gr_status make_videos(gr_new_own *o, const char *list, bool compressed) {
  enum { FRAMES = 8, SIDE = 64 };  // the first as cli/new/video/config.yaml
  const gr_video_spec one = {
      .path = list, .frames = 1, .stride = INT32_MAX, .height = SIDE, .width = SIDE};
  int64_t least = FRAMES;
  gr_dataset *d;
  gr_new_begin(o, "video", "path", list);
  if (compressed)
    gr_new_add(o, "path",
               gr_arena_printf(o->arena, "size: %d   # pixels, to which frames are scaled", SIDE));
  GR_TRY(gr_dataset_create(&gr_source_video, &one, &(gr_dataset_options){.n_buckets = 1}, &d));
  const gr_video *v = gr_dataset_source(d);
  for (uint32_t i = 0; i < v->n_files; i++)
    if (v->file[i].frames < least) least = v->file[i].frames;
  gr_dataset_close(d);
  if (least == FRAMES) return GR_OK;
  if (least < 2) least = 2;  // the network takes no fewer: the error names the video
  gr_new_set(o, "frames", gr_arena_printf(o->arena, "%lld", (long long)least));
  gr_text_printf(&o->said, "clips of %lld frames, as the shortest video has\n", (long long)least);
  return GR_OK;
}

static gr_status begin_folder(gr_new_own *o, const char *path) {
  gr_names files;
  GR_TRY(gr_file_list_tree(o->arena, path, &files));
  int i = 0;
  while (i + 1 < files.n && !gr_source_reads(&gr_source_video, files.items[i])) i++;
  return make_videos(o, path, !gr_ends_in(files.items[i], ".npy"));
}

const gr_new_files gr_new_video_files = {&gr_source_video, "videos", NULL, begin_folder};

static gr_status no_list(const gr_csv *t, int path) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
              "the column '%s' names files, and this is no list of them", t->columns[path].name),
      "a list has the columns path and label, with commas between them, or of images path and "
      "one of numbers, or of texts to write; --label=COLUMN takes what is no list for a table of "
      "numbers");
}

static gr_status videos_of(gr_new_own *o, const gr_csv *t, int path) {
  int label = gr_csv_find(t, "label");
  uint32_t rows;
  if (label < 0) return no_list(t, path);
  if (t->columns[label].type == GR_COLUMN_FLOAT)
    return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                           "labels of the list are numbers with fractions, and there is no project "
                           "of videos with values"),
                   "classes are whole numbers or texts");
  gr_text_printf(&o->said, "a list of %u videos\n", t->rows);
  GR_TRY(make_videos(o, t->path, !gr_ends_in(t->columns[path].texts[0], ".npy")));
  gr_new_set_classes(o, gr_csv_distinct(t, label, &rows));
  return GR_OK;
}

static const gr_new_files *const kinds[] = {&gr_new_image_files, &gr_new_video_files};
enum { KINDS = sizeof kinds / sizeof *kinds };

static gr_status make_list(gr_new_own *o, const gr_new_index *x, gr_new_sheets sheets, gr_csv *t,
                           bool *found) {
  int path = gr_new_find_listed(x, t);
  *found = path >= 0;
  if (!*found) return GR_OK;
  GR_TRY(gr_new_relist(o, x, "files.csv", sheets.validation, t, &path));
  bool list = gr_new_is_list(t, path);
  *found = list || !o->label;
  if (!*found) return GR_OK;
  if (!list) return no_list(t, path);
  GR_TRY(x->kind == &gr_new_image_files ? gr_new_images_of(o, t, path) : videos_of(o, t, path));
  if (!sheets.validation) return GR_OK;
  bool two = !strcmp(o->kind->name, "captions");  // each source would have its key
  gr_text_printf(&o->said, "%s: '%s'\n", two ? "not used" : "for validation", sheets.validation);
  return two ? GR_OK : gr_new_relist_validation(o, x, sheets.validation, "path");
}

gr_status gr_new_list(gr_new_own *o, gr_csv *t, bool *found) {
  *found = false;
  for (int i = 0; i < KINDS && !*found; i++) {
    gr_new_index x = gr_new_index_of(o->arena, kinds[i], t);
    GR_TRY(make_list(o, &x, (gr_new_sheets){0}, t, found));
  }
  return GR_OK;
}

// Whether it is known what to predict, where that has to be.
static bool is_clear(const gr_new_own *o, const gr_new_index *x, const gr_csv *t) {
  int path = gr_new_find_listed(x, t);
  return path >= 0 && gr_new_image_label(o, t, path) >= 0;
}

gr_status gr_new_find_lists(gr_new_own *o, const char *dir, bool clear, bool *found) {
  *found = false;
  for (int i = 0; i < KINDS && !*found; i++) {
    gr_csv t;
    gr_new_sheets sheets;
    gr_new_index x = gr_new_index_make(o->arena, kinds[i], dir, GR_NEW_DEPTH);
    GR_TRY(gr_new_find_sheets(&x, &sheets));
    if (!sheets.all) continue;
    GR_TRY(gr_new_read_table(o->arena, sheets.all, &t));
    if (clear && !is_clear(o, &x, &t)) continue;
    gr_text_printf(&o->said, "read: '%s'\n", sheets.all);
    if (sheets.other) gr_text_printf(&o->said, "not used: '%s'\n", sheets.other);
    GR_TRY(make_list(o, &x, sheets, &t, found));
  }
  return GR_OK;
}
