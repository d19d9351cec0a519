// source.c - the functions of the source `video`; see video.h.
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "runtime/data/video/video.h"

enum { X, Y, CLASS_WEIGHT };

// ---- Opening ------------------------------------------------------------------------------------

static gr_status read_spec(gr_conf *own, gr_video_spec *s) {
  int64_t frames, stride;
  *s = (gr_video_spec){0};
  GR_TRY(gr_conf_text(own, "path", NULL, &s->path));
  GR_TRY(gr_conf_int(own, "frames", 0, &frames));
  GR_TRY(gr_conf_int(own, "stride", 0, &stride));
  s->frames = (int32_t)frames, s->stride = (int32_t)stride;
  const gr_conf *size = gr_conf_find(own, "size");
  const char *color;
  if (size->kind == GR_CONF_INT) s->height = s->width = size->integer;
  if (size->kind == GR_CONF_LIST) {
    GR_TRY(gr_conf_int(own, "size[0]", 0, &s->height));
    GR_TRY(gr_conf_int(own, "size[1]", 0, &s->width));
  }
  GR_TRY(gr_conf_text(own, "color", "rgb", &color));
  s->gray = !strcmp(color, "gray");
  return GR_OK;
}

static gr_status check(const void *self) {
  const gr_video *v = self;
  for (uint32_t i = 0; i < v->n_files; i++)
    GR_TRY(gr_about(gr_mapping_check(&v->file[i].map), v->inputs ? NULL : "path"));
  return GR_OK;
}

static gr_status set_up(gr_video *v, gr_source_request *r) {
  if (!v->inputs && !v->spec.path)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.video.path is not given"), "path"),
        "a CSV file with the columns path and label, and optionally split and frame");
  if (v->inputs && !r->record)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the run's data.json, which names its classes, is not there"),
                   "every run writes it into its folder: copy the whole folder");
  if (!v->inputs) r->place = (gr_loc){v->spec.path, 1, 1};
  return gr_about(gr_video_list(v, r), v->inputs ? NULL : "path");
}

static void close_video(void *self) {
  gr_video *v = self;
  for (uint32_t i = 0; i < v->n_files; i++) {
    gr_mapping_close(&v->file[i].map);
    free(v->file[i].decoded);
  }
}

static gr_status open_source(gr_source_request *r, void **out) {
  gr_video *v = GR_NEW(r->arena, gr_video, 1);
  *v = (gr_video){
      .arena = r->arena,
      .inputs = r->n_inputs > 0,
      .skipped = {[GR_VIDEO_BEYOND] = {.why = "clips that begin before or end after their video",
                                       .hint = "a smaller data.video.frames, or other frames"}}};
  if (r->conf)
    GR_TRY(read_spec(r->conf, &v->spec));
  else
    v->spec = *(const gr_video_spec *)r->spec;
  gr_status s = set_up(v, r), cut = check(v);
  if (cut) {  // it is why anything else may be wrong
    gr_status_drop(s);
    s = cut;
  }
  if (s)
    close_video(v);
  else
    *out = v;
  return s;
}

// ---- Metadata -----------------------------------------------------------------------------------

static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_video *v = self;
  out[X] = (gr_field_spec){.name = "x",
                           .dtype = GR_U8,
                           .rank = 4,
                           .dim = {v->spec.frames, v->height, v->width, v->channels}};
  out[Y] = (gr_field_spec){.name = "y", .dtype = GR_I32};
  out[CLASS_WEIGHT] = (gr_field_spec){.name = "class_weight", .dtype = GR_F32};
  return 3;
}

static int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_video *v = self;
  out[0] = (gr_metadata){"classes", v->classes.n};
  out[1] = (gr_metadata){"frames", v->spec.frames};
  out[2] = (gr_metadata){"height", v->height};
  out[3] = (gr_metadata){"width", v->width};
  out[4] = (gr_metadata){"channels", v->channels};
  return 5;
}

static uint32_t count(const void *self) { return ((const gr_video *)self)->count; }

static gr_sample_info info(const void *self, uint32_t sample) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  uint32_t key[4];
  gr_philox(v->file[c->video].key, (uint64_t)c->start << 32 | (uint32_t)c->label, 0, key);
  return (gr_sample_info){.key = (uint64_t)key[0] << 32 | key[1],
                          .split = (gr_split)c->split,
                          .length = 1,
                          .loc = {v->inputs ? NULL : v->list.csv.path, c->line, 1},
                          .label = v->inputs ? 0 : c->label + 1,
                          .has_weight = c->has_weight,
                          .weight = c->weight};
}

static int skipped(const void *self, const gr_skipped **out) {
  *out = ((const gr_video *)self)->skipped;
  return GR_VIDEO_SKIPS;
}

static gr_status fit(void *self, gr_arena *a, const gr_sample *all, uint32_t n) {
  gr_video *v = self;
  if (!v->inputs) gr_classes_weigh(&v->classes, a, gr_classes_count(&v->classes, a, all, n));
  return GR_OK;
}

// ---- A sample -----------------------------------------------------------------------------------

static void fill(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *draw,
                 gr_row *row) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  size_t frame = (size_t)(v->height * v->width * v->channels);
  (void)loaded, (void)draw;
  memcpy(row->at[X], v->file[c->video].at + c->start * frame, (size_t)v->spec.frames * frame);
  if (v->inputs) return;
  *(int32_t *)row->at[Y] = c->label;
  *(float *)row->at[CLASS_WEIGHT] = v->classes.weight[c->label];
}

// ---- Texts --------------------------------------------------------------------------------------

// By the frame at its centre.
static void name_of(const void *self, uint32_t sample, gr_text *out) {
  const gr_video *v = self;
  const gr_video_clip *c = &v->clip[sample];
  gr_text_printf(out, "%s[%u]", v->file[c->video].name, c->start + (uint32_t)v->spec.frames / 2);
}

static void reference(const void *self, uint32_t sample, gr_text *out) {
  const gr_video *v = self;
  if (!v->inputs) gr_text_put(out, v->classes.names[v->clip[sample].label]);
}

static void decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  gr_classes_decode(&((const gr_video *)self)->classes, ids, n, out);
}

static void inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_video *v = self;
  (void)all, (void)n;
  int64_t frames = 0;
  for (uint32_t i = 0; i < v->n_files; i++) frames += v->file[i].frames;
  gr_text_printf(out, "%u videos of %lld frames in all, each frame [%lld, %lld, %lld]\n",
                 v->n_files, (long long)frames, (long long)v->height, (long long)v->width,
                 (long long)v->channels);
}

static void classes(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_video *v = self;
  gr_classes_put(&v->classes, gr_classes_count(&v->classes, out->arena, all, n), out);
}

static void record(const void *self, gr_text *json) {
  gr_classes_record(&((const gr_video *)self)->classes, json);
}

const gr_source_ops gr_source_video = {.name = "video",
                                       .sample = "clip",
                                       .inputs = "files of videos: .npy, or compressed",
                                       .open = open_source,
                                       .close = close_video,
                                       .fields = fields,
                                       .count = count,
                                       .info = info,
                                       .fill = fill,
                                       .check = check,
                                       .metadata = metadata,
                                       .skipped = skipped,
                                       .fit = fit,
                                       .name_of = name_of,
                                       .reference = reference,
                                       .decode = decode,
                                       .inspect = inspect,
                                       .classes = classes,
                                       .record = record};
