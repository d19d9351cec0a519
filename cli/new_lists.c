// new_lists.c - see new_lists.h.
#include "cli/new_lists.h"
#include <string.h>
#include "cli/new_images.h"
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

// A file of an image or a video.
static bool is_seen(const gr_csv *t, int column) {
  const gr_column *c = &t->columns[column];
  if (c->type != GR_COLUMN_TEXT) return false;
  return gr_source_of_file(c->texts[0], NULL) == &gr_source_image ||
         gr_source_reads(&gr_source_video, c->texts[0]);
}

gr_status gr_new_list(gr_new_own *o, const gr_csv *t, bool *found) {
  int path = 0, label = gr_csv_find(t, "label");
  while (path < t->n_columns && !is_seen(t, path)) path++;
  *found = path < t->n_columns && (gr_new_names_images(t, path) || !o->label);
  if (!*found) return GR_OK;
  if (gr_new_names_images(t, path)) return gr_new_images_of(o, t, path);
  bool list = gr_file_list_is_path(t->columns[path].name) && t->format.delimiter == ',';
  if (!list || label < 0)
    return gr_hint(
        gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                "the column '%s' names files, and this is no list of them", t->columns[path].name),
        "a list has the columns path and label, with commas between them, or of images path and "
        "one of numbers, or of texts to write; --label=COLUMN takes what is no list for a table of "
        "numbers");
  if (t->columns[label].type == GR_COLUMN_FLOAT)
    return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                           "labels of the list are numbers with fractions, and there is no project "
                           "of videos with values"),
                   "classes are whole numbers or texts");
  gr_text_printf(&o->said, "a list of %u videos\n", t->rows);
  uint32_t rows;
  GR_TRY(make_videos(o, t->path, !gr_ends_in(t->columns[path].texts[0], ".npy")));
  gr_new_set_classes(o, gr_csv_distinct(t, label, &rows));
  return GR_OK;
}
