// file.c - a video in NumPy's format; see video.h.
#include "runtime/data/npy.h"
#include "runtime/data/video/video.h"

static gr_status check_type(const gr_array *a) {
  if (a->element != GR_ELEMENT_UINT || a->size != 1)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the video '%s' is of %s, not u8", a->file,
                           gr_array_type(a)),
                   "save x.astype('u1')");
  if (a->rank == 3 || a->rank == 4) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the video '%s' has %d dimension%s", a->file,
                         a->rank, a->rank == 1 ? "" : "s"),
                 "videos are [frames, height, width] or [frames, height, width, channels]");
}

// The first video says what size all have.
static gr_status check_size(gr_video *v, const gr_array *a) {
  int64_t channels = a->rank == 4 ? a->dim[3] : 1, most = 1 << 28;
  if (a->dim[0] < v->spec.frames)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the video '%s' has %lld frame%s, a clip has %d",
                         a->file, (long long)a->dim[0], a->dim[0] == 1 ? "" : "s", v->spec.frames),
                 v->inputs ? NULL : "frames"),
        "longer videos, or a smaller data.video.frames");
  if (a->dim[0] > INT32_MAX || !a->count || a->count / a->dim[0] > most / v->spec.frames)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE,
                   "a clip of the video '%s' has no values, or more than 2^28", a->file);
  if (!v->height) v->height = a->dim[1], v->width = a->dim[2], v->channels = channels;
  if (a->dim[1] == v->height && a->dim[2] == v->width && channels == v->channels) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "frames of the video '%s' are [%lld, %lld, %lld], those of others [%lld, %lld, %lld]",
              a->file, (long long)a->dim[1], (long long)a->dim[2], (long long)channels,
              (long long)v->height, (long long)v->width, (long long)v->channels),
      "all videos have the same height, width and channels");
}

gr_status gr_video_open_file(gr_video *v, gr_video_file *f) {
  gr_array a;
  f->at = NULL;
  GR_TRY(gr_mapping_open(f->path, &f->map));
  gr_status s = gr_npy_parse(v->arena, f->path, "video", f->map.at, f->map.bytes, &a);
  s = s ? s : check_type(&a);
  s = s ? s : check_size(v, &a);
  if (s) {
    gr_mapping_close(&f->map);
    return s;
  }
  f->at = a.at, f->frames = a.dim[0];
  return GR_OK;
}
