// list.c - lists clips from the lines of a CSV file, or from files to predict; see video.h.
#include <string.h>
#include "base/log.h"
#include "base/work.h"
#include "runtime/data/files.h"
#include "runtime/data/video/video.h"

// A line says the label of a video, and so of all its clips; or, with a frame, of the clip that has
// this frame at its centre.
typedef struct lines {
  gr_video *video;
  const gr_source_request *request;
  gr_map files;    // paths of the list to numbers of files
  gr_array frame;  // the column of this name
  int frame_at;    // its number, or -1
} lines;

static gr_loc place(const lines *l, uint32_t row) {
  return gr_file_list_place(&l->video->list, row);
}

static gr_status find_frames(lines *l) {
  const gr_csv *t = &l->video->list.csv;
  l->frame_at = gr_csv_find(t, "frame");
  if (l->frame_at < 0) return GR_OK;
  l->frame = gr_csv_array(t, l->frame_at);
  for (uint32_t row = 0; row < t->rows; row++)
    GR_TRY(gr_file_list_check(&l->video->list, row, l->frame_at));
  if (gr_array_is_whole(&l->frame)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1},
                         "the column 'frame' of the list of videos is %s, not whole numbers",
                         gr_array_type(&l->frame)),
                 "a frame is the number of a clip's centre, the first of a video is 0");
}

static gr_status number_classes(gr_video *v, const gr_json *record) {
  gr_names recorded = gr_names_recorded(v->arena, record, "class_names");
  int32_t *place_of;
  GR_TRY(gr_file_list_classes(&v->list, v->arena, &v->classes));
  GR_TRY(gr_classes_number(&v->classes, v->arena, gr_array_is_text(&v->list.label), &recorded,
                           &place_of));
  gr_file_list_number(&v->list, place_of);
  return GR_OK;
}

// ---- Clips --------------------------------------------------------------------------------------

static gr_status add_clip(gr_video *v, gr_video_clip clip) {
  if (v->count == v->room) {
    if (v->room > UINT32_MAX / 4)
      return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than 2^30 clips"),
                     "a larger data.video.stride");
    v->room = 2 * v->room + 256;
    gr_video_clip *more = GR_NEW(v->arena, gr_video_clip, v->room);
    if (v->count) memcpy(more, v->clip, v->count * sizeof *more);
    v->clip = more;
  }
  v->clip[v->count++] = clip;
  return GR_OK;
}

// Adds the clips of a whole video that have the attributes of `like`.
static gr_status add_clips(gr_video *v, const gr_source_request *r, gr_video_clip like) {
  const gr_video_file *f = &v->file[like.video];
  for (int64_t start = 0; start + v->spec.frames <= f->frames; start += v->spec.stride) {
    if (r->limit && v->count >= r->limit && !v->inputs) return GR_OK;
    like.start = (uint32_t)start;
    GR_TRY(add_clip(v, like));
  }
  return GR_OK;
}

// Adds the clip around a frame, unless a part of it is missing or the stride leaves it out.
static gr_status add_around(const lines *l, uint32_t row, gr_video_clip like) {
  gr_video *v = l->video;
  const gr_video_file *f = &v->file[like.video];
  int64_t frame = 0;
  bool whole = gr_array_integer(&l->frame, row, &frame);
  if (!whole || frame < 0 || frame >= f->frames)
    return gr_unreadable_add(
        l->request->unreadable, place(l, row), gr_log_rank() == 0,
        gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "frame %lld is not in '%s', which has %lld",
                        (long long)frame, f->name, (long long)f->frames),
                "the first frame is 0"));
  int64_t start = frame - v->spec.frames / 2;
  bool beyond = start < 0 || start + v->spec.frames > f->frames;
  v->skipped[GR_VIDEO_BEYOND].count += beyond;
  if (beyond || start % v->spec.stride) return GR_OK;
  like.start = (uint32_t)start;
  return add_clip(v, like);
}

// ---- Lines --------------------------------------------------------------------------------------

// The video that a line names.
static uint32_t find_video(lines *l, uint32_t row) {
  gr_video *v = l->video;
  const char *name = gr_file_list_name(v->arena, &v->list, row);
  uint32_t i;
  if (gr_map_find(&l->files, name, &i)) return i;
  i = v->n_files++;
  gr_map_put(&l->files, name, i);
  v->file[i] = (gr_video_file){.name = name,
                               .path = gr_file_list_path(v->arena, &v->list, name),
                               .key = gr_hash_text(name),
                               .line = place(l, row).line};
  return i;
}

// What is wrong with a video is said once, where the first line names it.
static gr_status report(const lines *l, const gr_video_file *f, gr_status s) {
  if (!f->line) return s;
  return gr_unreadable_add(l->request->unreadable, (gr_loc){l->video->list.csv.path, f->line, 1},
                           gr_log_rank() == 0, s);
}

// Opens the video that a line names, unless an earlier one has.
static gr_status open_video(lines *l, uint32_t row, uint32_t *out) {
  gr_video *v = l->video;
  gr_video_file *f = &v->file[ *out = find_video(l, row)];
  if (f->opened) return GR_OK;
  f->opened = true;
  return report(l, f, gr_video_open_file(v, f));
}

static gr_status look_at(void *self, uint32_t i) {
  const lines *l = self;
  const gr_video_file *f = &l->video->file[i];
  return report(l, f, gr_video_probe(f->path));
}

// Before the first is decoded, which may take long.
static gr_status look_at_videos(lines *l) {
  if (l->request->unreadable->skip) return GR_OK;
  return gr_files_look(&(gr_files){.verb = "looking for",
                                   .noun = "videos",
                                   .n = l->video->n_files,
                                   .threads = GR_FILES_WAIT,
                                   .look = look_at,
                                   .self = l});
}

static gr_status add_line(lines *l, uint32_t row) {
  gr_video *v = l->video;
  gr_video_clip like = {.label = v->list.class_of[row], .line = v->list.csv.lines[row]};
  gr_split split = GR_SPLIT_TRAIN;
  GR_TRY(gr_work_step(0));
  GR_TRY(open_video(l, row, &like.video));
  // All clips of a video are in one split, unless a column says otherwise.
  GR_TRY(gr_file_list_split(&v->list, row, v->file[like.video].key, l->request->validation_fraction,
                            &split));
  like.split = (uint8_t)split;
  GR_TRY(gr_file_list_weight(&v->list, row, &like.has_weight, &like.weight));
  if (!v->file[like.video].at) return GR_OK;
  return l->frame_at < 0 ? add_clips(v, l->request, like) : add_around(l, row, like);
}

static gr_status list_inputs(gr_video *v, const gr_source_request *r) {
  gr_names recorded = gr_names_recorded(v->arena, r->record, "class_names");
  v->classes.names = recorded.at, v->classes.n = recorded.n;
  v->file = GR_NEW(v->arena, gr_video_file, r->n_inputs);
  for (; v->n_files < (uint32_t)r->n_inputs; v->n_files++) {
    const char *path = r->inputs[v->n_files];
    v->file[v->n_files] =
        (gr_video_file){.name = path, .path = path, .key = gr_hash_text(path), .opened = true};
  }
  GR_TRY(look_at_videos(&(lines){.video = v, .request = r}));
  for (int i = 0; i < r->n_inputs; i++) {
    GR_TRY(gr_video_open_file(v, &v->file[i]));
    GR_TRY(add_clips(v, r, (gr_video_clip){.video = (uint32_t)i, .split = GR_SPLIT_VALIDATION}));
  }
  return GR_OK;
}

gr_status gr_video_list(gr_video *v, const gr_source_request *r) {
  v->classes = gr_classes_make(v->arena);
  if (v->inputs) return list_inputs(v, r);
  GR_TRY(gr_file_list_open(v->arena, v->spec.path, "videos", "split and frame", &v->list));
  lines l = {.video = v, .request = r, .files = gr_map_make(v->arena)};
  v->file = GR_NEW(v->arena, gr_video_file, v->list.csv.rows + 1);
  GR_TRY(find_frames(&l));
  GR_TRY(number_classes(v, r->record));
  for (uint32_t row = 0; row < v->list.csv.rows && !r->limit; row++) find_video(&l, row);
  GR_TRY(look_at_videos(&l));
  for (uint32_t row = 0; row < v->list.csv.rows; row++) {
    if (r->limit && v->count >= r->limit) break;
    GR_TRY(add_line(&l, row));
  }
  return GR_OK;
}
