// list.c - lists clips from the rows of a CSV file, or from files to predict; see video.h.
#include "base/grow.h"
#include "base/port.h"
#include "base/work.h"
#include "runtime/data/files.h"
#include "runtime/data/video/video.h"

// A row says the label of a video, and so of all its clips; or, with a frame, of the clip that has
// this frame at its centre.
typedef struct rows {
  gr_video *video;
  const gr_source_request *request;
  gr_map files;    // names of videos to numbers of files
  gr_array frame;  // the column of this name
  bool has_frame;  // ... is there
} rows;

static gr_status find_frames(rows *r, const gr_file_list *list) {
  const gr_csv *t = &list->csv;
  int column = gr_csv_find(t, "frame");
  r->has_frame = column >= 0;
  if (!r->has_frame) return GR_OK;
  r->frame = gr_csv_array(t, column);
  for (uint32_t row = 0; row < t->rows; row++) GR_TRY(gr_file_list_check(list, row, column));
  if (gr_array_is_whole(&r->frame)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1},
                         "the column 'frame' of the list of videos is %s, not whole numbers",
                         gr_array_type(&r->frame)),
                 "a frame is the number of a clip's centre, the first of a video is 0");
}

// ---- Clips --------------------------------------------------------------------------------------

static gr_status add_clip(gr_video *v, gr_video_clip clip) {
  if (v->count > UINT32_MAX / 4)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than 2^30 clips"),
                   "a larger data.video.stride");
  GR_GROW(v->list.arena, v->clip, v->count, v->room);
  v->clip[v->count++] = clip;
  return GR_OK;
}

// Adds the clips of a whole video.
static gr_status add_clips(gr_video *v, const gr_source_request *r, gr_video_clip clip) {
  const gr_video_file *f = &v->file[clip.video];
  int64_t rest = f->frames;  // frames behind the last clip
  for (int64_t start = 0; start + v->spec.frames <= f->frames; start += v->spec.stride) {
    bool beyond = r->limit && v->count >= r->limit;
    if (beyond) gr_omitted_add(v->list.arena, r->limited, 1, GR_NOWHERE, f->name);
    clip.start = (uint32_t)start, rest = f->frames - start - v->spec.frames;
    if (!beyond) GR_TRY(add_clip(v, clip));
  }
  gr_omitted_add(v->list.arena, &r->skipped[GR_VIDEO_REST], (uint64_t)rest, GR_NOWHERE, f->name);
  return GR_OK;
}

// Adds the clip around a frame, unless a part of it is missing or the stride leaves it out.
static gr_status add_around(const rows *r, gr_video_clip clip) {
  gr_video *v = r->video;
  const gr_video_file *f = &v->file[clip.video];
  int64_t frame = 0;
  bool whole = gr_array_integer(&r->frame, clip.row, &frame);
  if (!whole || frame < 0 || frame >= f->frames)
    return gr_unreadable_add(
        r->request->unreadable, v->list.file[clip.row].info.loc,
        gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "frame %lld is not in '%s', which has %lld",
                        (long long)frame, f->name, (long long)f->frames),
                "the first frame is 0"));
  int64_t start = frame - v->spec.frames / 2;
  bool beyond = start < 0 || start + v->spec.frames > f->frames;
  bool between = start % v->spec.stride;
  if (beyond || between) {
    gr_omitted_add(v->list.arena, &r->request->skipped[beyond ? GR_VIDEO_BEYOND : GR_VIDEO_BETWEEN],
                   1, v->list.file[clip.row].info.loc, NULL);
    return GR_OK;
  }
  clip.start = (uint32_t)start;
  return add_clip(v, clip);
}

// ---- Rows ---------------------------------------------------------------------------------------

// The video that a row names.
static uint32_t find_video(rows *r, uint32_t row) {
  gr_video *v = r->video;
  const gr_listed *named = &v->list.file[row];
  uint32_t i;
  if (gr_map_find(&r->files, named->name, &i)) return i;
  i = v->n_files++;
  gr_map_put(&r->files, named->name, i);
  v->file[i] = (gr_video_file){
      .name = named->name, .path = named->path, .key = named->info.key, .loc = named->info.loc};
  return i;
}

// What is wrong with a video is reported once, where the first row names it.
static gr_status report(const rows *r, const gr_video_file *f, gr_status s) {
  if (r->video->list.inputs) return s;
  return gr_unreadable_add(r->request->unreadable, f->loc, s);
}

static gr_status probe_video(void *self, uint32_t i) {
  const rows *r = self;
  const gr_video_file *f = &r->video->file[i];
  return report(r, f, gr_video_probe(f->path));
}

// Before the first is decoded, which may take long.
static gr_status probe_videos(rows *r) {
  if (r->request->unreadable->skip) return GR_OK;
  return gr_files_look(&(gr_files){.verb = "looking for",
                                   .noun = "videos",
                                   .n = r->video->n_files,
                                   .threads = GR_FILES_WAIT,
                                   .look = probe_video,
                                   .self = r});
}

static gr_status add_row(rows *r, uint32_t row) {
  gr_video *v = r->video;
  const gr_video_clip clip = {.row = row, .video = find_video(r, row)};
  gr_video_file *f = &v->file[clip.video];
  GR_TRY(gr_work_step(0));
  if (!f->opened) {
    f->opened = true;
    GR_TRY(report(r, f, gr_video_open_file(v, f)));
  }
  if (!f->pixels) return GR_OK;
  return r->has_frame ? add_around(r, clip) : add_clips(v, r->request, clip);
}

// A folder for each class. The limit is one of clips.
static gr_status list_folders(rows *r) {
  gr_listing *l = &r->video->list;
  const gr_listing_part part = {r->video->spec.path, GR_SPLIT_BY_KEY};
  gr_source_request all = *r->request;
  all.limit = 0;
  GR_TRY(gr_listing_folders(l, &all, &part));
  GR_TRY(gr_listing_number(l, r->request->record));
  return gr_listing_check_several(l, part.path);
}

static gr_status list_rows(rows *r) {
  gr_video *v = r->video;
  gr_file_list list;
  if (v->list.inputs) {
    GR_TRY(gr_classes_recall(&v->list.classes, v->list.arena, r->request->record));
    return gr_listing_inputs(&v->list, r->request);
  }
  if (gr_is_dir(v->spec.path)) return list_folders(r);
  GR_TRY(gr_listing_check_archive(&v->list, v->spec.path));
  GR_TRY(gr_file_list_open(v->list.arena, v->spec.path, v->list.what, "label", "split and frame",
                           &list));
  GR_TRY(find_frames(r, &list));
  GR_TRY(gr_listing_rows(&v->list, r->request, &list, 0));
  GR_TRY(gr_listing_check_labels(&v->list, r->has_frame ? &r->frame : NULL));
  return gr_listing_number(&v->list, r->request->record);
}

gr_status gr_video_list(gr_video *v, const gr_source_request *request) {
  rows r = {.video = v, .request = request, .files = gr_map_make(v->list.arena)};
  GR_TRY(list_rows(&r));
  v->file = GR_NEW(v->list.arena, gr_video_file, v->list.count + 1);
  for (uint32_t row = 0; row < v->list.count && !request->limit; row++) find_video(&r, row);
  GR_TRY(probe_videos(&r));
  for (uint32_t row = 0; row < v->list.count; row++) {
    bool beyond = request->limit && v->count >= request->limit;
    if (!beyond) GR_TRY(add_row(&r, row));
    if (beyond)
      gr_omitted_add(v->list.arena, &request->skipped[GR_VIDEO_ROWS], 1, v->list.file[row].info.loc,
                     NULL);
  }
  return GR_OK;
}
