// file.c - a video in NumPy's format, or compressed; see video.h.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/module.h"
#include "runtime/data/npy.h"
#include "runtime/data/video/module.h"
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
                 v->list.inputs ? NULL : "frames"),
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
      "all videos have the same height, width and channels; data.video.size scales those that are "
      "compressed");
}

// ---- Compressed ---------------------------------------------------------------------------------

#ifdef GR_HAVE_LIBAV
static gr_status probe_compressed(const char *path) {
  const gr_video_module *libav;
  GR_TRY(gr_module_open("libav", &libav));
  return libav->probe(path);
}

static gr_status decode(const gr_video_spec *s, const char *path, gr_video_frames *out) {
  const gr_video_module *libav;
  GR_TRY(gr_module_open("libav", &libav));
  return libav->decode(path, s->height, s->width, s->gray ? 1 : 3, out);
}
#else
static gr_status probe_compressed(const char *path) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the video '%s' is no .npy file, the one kind that this build reads", path),
      "build with FFmpeg's libraries (libavformat-dev, libavcodec-dev, libswscale-dev), or "
      "save its frames by numpy.save");
}

static gr_status decode(const gr_video_spec *s, const char *path, gr_video_frames *out) {
  (void)s, (void)out;
  return probe_compressed(path);
}
#endif

static gr_status open_compressed(gr_video *v, gr_video_file *f, gr_array *a) {
  gr_video_frames d = {0};
  GR_TRY(decode(&v->spec, f->path, &d));
  f->decoded = d.pixels;
  *a = (gr_array){.file = f->path,
                  .name = "video",
                  .element = GR_ELEMENT_UINT,
                  .size = 1,
                  .rank = 4,
                  .dim = {d.frames, d.height, d.width, d.channels},
                  .count = d.frames * d.height * d.width * d.channels,
                  .data = d.pixels};
  return GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

// By its name, so that a damaged array is reported as one; or by its first bytes.
static bool is_npy(const gr_mapping *m, const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot && !strcasecmp(dot, ".npy")) return true;
  return m->bytes > 5 && !memcmp(m->data, "\x93NUMPY", 6);
}

gr_status gr_video_probe(const char *path) {
  gr_mapping map;
  gr_array a;
  GR_TRY(gr_mapping_open(path, &map));
  gr_mapping_expect_few(&map);
  gr_status s = is_npy(&map, path) ? gr_npy_head(path, "video", map.data, map.bytes, &a)
                                   : probe_compressed(path);
  gr_mapping_close(&map);
  return s;
}

gr_status gr_video_open_file(gr_video *v, gr_video_file *f) {
  gr_array a;
  f->pixels = NULL, f->decoded = NULL;
  GR_TRY(gr_mapping_open(f->path, &f->map));
  bool npy = is_npy(&f->map, f->path);
  if (!npy) gr_mapping_close(&f->map);
  gr_status s = npy ? gr_npy_parse(v->list.arena, f->path, "video", f->map.data, f->map.bytes, &a)
                    : open_compressed(v, f, &a);
  s = s ? s : check_type(&a);
  s = s ? s : check_size(v, &a);
  if (s) {
    gr_mapping_close(&f->map);
    free(f->decoded);
    f->decoded = NULL;
    return s;
  }
  f->pixels = a.data, f->frames = a.dim[0];
  return GR_OK;
}
