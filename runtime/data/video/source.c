// source.c - the functions of the source `video`; see video.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "base/rng.h"
#include "runtime/data/video/video.h"

// ---- Opening ------------------------------------------------------------------------------------

static gr_status video_read_spec(gr_conf *section, gr_video_spec *s) {
  int64_t frames, stride;
  const char *color;
  *s = (gr_video_spec){0};
  GR_TRY(gr_conf_text(section, "path", NULL, &s->path));
  GR_TRY(gr_conf_int(section, "frames", 0, &frames));
  GR_TRY(gr_conf_int(section, "stride", 0, &stride));
  GR_TRY(gr_source_read_size(section, "size", &s->height, &s->width));
  GR_TRY(gr_conf_text(section, "color", "rgb", &color));
  s->frames = (int32_t)frames, s->stride = (int32_t)stride;
  s->gray = !strcmp(color, "gray");
  return GR_OK;
}

static gr_status video_check(const void *self) {
  const gr_video *v = self;
  for (uint32_t i = 0; i < v->n_files; i++)
    GR_TRY(gr_about(gr_mapping_check(&v->file[i].map), v->list.inputs ? NULL : "path"));
  return GR_OK;
}

static void video_close(void *self) {
  gr_video *v = self;
  for (uint32_t i = 0; i < v->n_files; i++) {
    gr_mapping_close(&v->file[i].map);
    free(v->file[i].decoded);
  }
}

static gr_status video_open(gr_source_request *r, void **out) {
  gr_video *v = *out = GR_NEW(r->arena, gr_video, 1);
  v->list = gr_listing_make(r, "videos");
  v->list.other = GR_VIDEO_OTHER;
  if (r->conf)
    GR_TRY(video_read_spec(r->conf, &v->spec));
  else
    v->spec = *(const gr_video_spec *)r->spec;
  GR_TRY(gr_source_need_path(r, v->spec.path));
  if (!v->list.inputs && !gr_is_dir(v->spec.path)) r->place = (gr_loc){v->spec.path, 1, 1};
  return gr_about(gr_video_list(v, r), v->list.inputs ? NULL : "path");
}

// ---- Metadata -----------------------------------------------------------------------------------

static int video_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_video *v = self;
  out[0] = (gr_field_spec){.name = "x",
                           .dtype = GR_U8,
                           .rank = 4,
                           .dim = {v->spec.frames, v->height, v->width, v->channels}};
  return 1;
}

static int video_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_video *v = self;
  out[0] = (gr_metadata){"classes", v->list.classes.n};
  out[1] = (gr_metadata){"frames", v->spec.frames};
  out[2] = (gr_metadata){"height", v->height};
  out[3] = (gr_metadata){"width", v->width};
  out[4] = (gr_metadata){"channels", v->channels};
  return 5;
}

static uint32_t video_count(const void *self) { return ((const gr_video *)self)->count; }

// Of the row that lists the clip, but for the key: clips of one video differ in it.
static gr_sample_info video_info(const void *self, uint32_t sample) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  assert(sample < v->count && c->row < v->list.count && c->video < v->n_files);
  gr_sample_info info = v->list.file[c->row].info;
  uint32_t label = info.label ? (uint32_t)info.label - 1 : 0, key[4];
  gr_philox(v->file[c->video].key, (uint64_t)c->start << 32 | label, 0, key);
  info.key = (uint64_t)key[0] << 32 | key[1];
  return info;
}

// ---- A sample -----------------------------------------------------------------------------------

static void video_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                       const gr_draw *draw, gr_row *row) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  size_t frame = (size_t)(v->height * v->width * v->channels);
  (void)loaded, (void)draw;
  memcpy(row->field[0], v->file[c->video].pixels + c->start * frame,
         (size_t)v->spec.frames * frame);
}

static const char *video_file(const void *self, uint32_t sample) {
  const gr_video *v = self;
  return v->file[v->clip[sample].video].path;
}

// By the frame at its centre.
static void video_name_of(const void *self, uint32_t sample, gr_text *out) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  gr_text_printf(out, "%s[%u]", v->file[c->video].name, c->start + (uint32_t)v->spec.frames / 2);
}

static void video_inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_video *v = self;
  (void)all, (void)n;
  int64_t frames = 0;
  for (uint32_t i = 0; i < v->n_files; i++) frames += v->file[i].frames;
  gr_text_printf(out, "%u videos of %lld frames in all, each frame [%lld, %lld, %lld]\n",
                 v->n_files, (long long)frames, (long long)v->height, (long long)v->width,
                 (long long)v->channels);
}

static void video_preprocessing(const void *self, gr_text *out) {
  const gr_video *v = self;
  gr_text_printf(out, "bytes 0 to 255 of %d frames that follow each other", v->spec.frames);
}

const gr_source_ops gr_source_video = {
    .name = "video",
    .sample = "clip",
    .inputs = "files of videos: .npy, or compressed",
    .path_key = "path",
    .project = "video",
    .path_hint =
        "a folder with a folder of videos for each class, or a CSV file with the columns "
        "path and label, and optionally split and frame",
    .one_path = true,
    .endings = {{".mp4", "a video", .in_lists = true},
                {".mkv", "a video", .in_lists = true},
                {".avi", "a video", .in_lists = true},
                {".mov", "a video", .in_lists = true},
                {".webm", "a video", .in_lists = true},
                {".npy", .in_lists = true},
                {".csv", .text = true},
                {".tsv", .text = true},
                {".jsonl", .text = true}},
    .skips = {[GR_VIDEO_BEYOND] = {.why = "clips that begin before or end after their video",
                                   .hint = "a smaller data.video.frames, or other frames"},
              [GR_VIDEO_BETWEEN] = {.why = "clips that do not begin at a multiple of "
                                           "data.video.stride",
                                    .hint = "data.video.stride=1, or other frames"},
              [GR_VIDEO_REST] = {.why = "frames behind the last clip of their video",
                                 .of = GR_OMITTED_OTHER},
              [GR_VIDEO_ROWS] = {.why = "videos of the data set that data.limit leaves out",
                                 .of = GR_OMITTED_OTHER},
              [GR_VIDEO_OTHER] = {.why = "files that are no videos by their names",
                                  .hint = "videos are .mp4, .mkv, .avi, .mov, .webm and .npy"}},
    .open = video_open,
    .close = video_close,
    .fields = video_fields,
    .count = video_count,
    .info = video_info,
    .classes = gr_listing_classes,
    .fill = video_fill,
    .file = video_file,
    .check = video_check,
    .metadata = video_metadata,
    .name_of = video_name_of,
    .inspect = video_inspect,
    .preprocessing = video_preprocessing};
