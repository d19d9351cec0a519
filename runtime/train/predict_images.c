// predict_images.c - see predict_images.h.
#include "runtime/train/predict_images.h"
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "base/output.h"
#include "base/port.h"
#include "ops/kernels/cpu.h"
#include "runtime/report/png.h"

bool gr_predict_is_folder(const char *out) { return out && *out && out[strlen(out) - 1] == '/'; }

// The name of the sample's file, without folders and ending.
static const char *stem_of(gr_arena *a, const gr_dataset *d, uint32_t sample) {
  const char *name = gr_dataset_sample_name(a, d, sample), *slash = strrchr(name, '/');
  name = slash ? slash + 1 : name;
  const char *dot = strrchr(name, '.');
  return gr_arena_strndup(a, name, dot > name ? (size_t)(dot - name) : strlen(name));
}

gr_predict_images gr_predict_images_make(gr_arena *a, const gr_dataset *d, const char *folder) {
  uint32_t n = gr_dataset_samples(d);
  gr_predict_images m = {folder, GR_NEW(a, const char *, n + 1), d};
  gr_map taken = gr_map_make(a);
  for (uint32_t i = 0; i < n; i++) {
    m.names[i] = stem_of(a, d, i);
    while (gr_map_find(&taken, m.names[i], NULL))  // of files in several folders
      m.names[i] = gr_arena_printf(a, "%s-%u", m.names[i], i);
    gr_map_put(&taken, m.names[i], i);
  }
  return m;
}

bool gr_predict_is_image(const gr_type *t) {
  bool channels = t->rank == 4 && (t->dim[3] == 1 || t->dim[3] == 3);
  return (t->rank == 3 || channels) && t->dtype != GR_I32 && t->dtype != GR_I64;
}

static gr_status write_png(const gr_predict_images *m, const char *output,
                           const gr_source_picture *p, uint32_t sample, gr_text *json) {
  gr_arena *a = json->arena;
  gr_text png = gr_text_make(a);
  gr_png_put(&png, p->height, p->width, p->channels, p->pixels);
  const char *dir = gr_arena_printf(a, "%s%s", m->folder, output);
  const char *name = gr_arena_printf(a, "%s.png", m->names[sample]);
  gr_text_json(json, gr_arena_printf(a, "%s/%s", dir, name));
  GR_TRY(gr_make_dirs(dir));
  return gr_output_write(dir, name, png.chars, png.len);
}

gr_status gr_predict_image(const gr_predict_images *m, const char *output, const gr_type *t,
                           const void *values, int64_t row, uint32_t sample, gr_text *json) {
  int channels = t->rank == 4 ? (int)t->dim[3] : 1;
  int64_t n = t->dim[1] * t->dim[2] * channels;
  gr_source_picture p = {.height = t->dim[1],
                         .width = t->dim[2],
                         .channels = channels,
                         .classes = t->dtype == GR_U8 && channels == 1,
                         .pixels = calloc((size_t)n + GR_SOURCE_SPARE, 1)};
  if (!p.pixels)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for an image of %lld bytes", (long long)n);
  for (int64_t i = 0; i < n; i++) {
    double v = gr_get(values, t->dtype, row * n + i) * (t->dtype == GR_U8 ? 1 : 255);
    p.pixels[i] = (unsigned char)(v > 0 ? (v < 255 ? v + 0.5 : 255) : 0);
  }
  gr_status s = gr_dataset_resize_back(m->data, sample, &p);
  s = s ? s : write_png(m, output, &p, sample, json);
  free(p.pixels);
  return s;
}
