// source.c - the functions of the source `image`; see image.h.
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

// ---- Opening ------------------------------------------------------------------------------------

static gr_status image_read_spec(gr_conf *section, gr_image_spec *s) {
  const char *resize, *color, *decode;
  *s = (gr_image_spec){0};
  GR_TRY(gr_conf_text(section, "path", NULL, &s->path));
  GR_TRY(gr_conf_text(section, "eval_path", NULL, &s->eval_path));
  GR_TRY(gr_conf_text(section, "resize", NULL, &resize));
  GR_TRY(gr_conf_text(section, "color", NULL, &color));
  GR_TRY(gr_conf_text(section, "decode", NULL, &decode));
  GR_TRY(gr_source_read_size(section, "size", &s->height, &s->width));
  s->resize = !strcmp(resize, "cover")  ? GR_PICTURE_COVER
              : !strcmp(resize, "crop") ? GR_PICTURE_CROP
                                        : GR_PICTURE_STRETCH;
  s->channels = !strcmp(color, "gray") ? 1 : !strcmp(color, "rgb") ? 3 : 4;
  s->reduced = !strcmp(decode, "reduced");
  return GR_OK;
}

static gr_status image_open(gr_source_request *r, void **out) {
  gr_image *m = *out = GR_NEW(r->arena, gr_image, 1);
  m->list = gr_listing_make(r, "images");
  if (r->conf)
    GR_TRY(image_read_spec(r->conf, &m->spec));
  else
    m->spec = *(const gr_image_spec *)r->spec;
  GR_TRY(gr_source_need_path(r, m->spec.path));
  if (!m->spec.height)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.image.size is not given"), "size"),
        "all samples have one height and width: data.image.size=[48,64]");
  GR_TRY(gr_image_list(m, r));
  if (!m->list.inputs && !gr_is_dir(m->spec.path)) r->place = (gr_loc){m->spec.path, 1, 1};
  return GR_OK;
}

// ---- Metadata -----------------------------------------------------------------------------------

static int image_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  out[0] = (gr_field_spec){
      .name = "x", .dtype = GR_U8, .rank = 3, .dim = {s->height, s->width, s->channels}};
  return 1;
}

static int image_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_image *m = self;
  out[0] = (gr_metadata){"classes", m->list.classes.n};
  out[1] = (gr_metadata){"height", m->spec.height};
  out[2] = (gr_metadata){"width", m->spec.width};
  out[3] = (gr_metadata){"channels", m->spec.channels};
  return 4;
}

// ---- A sample -----------------------------------------------------------------------------------

// A mean of means is another value than the mean, so only who asks for it gets it. What is cropped
// is not scaled.
static gr_picture_use use_of(const gr_image_spec *s) {
  bool fraction = s->reduced && s->resize != GR_PICTURE_CROP;
  return fraction ? (gr_picture_use){s->height, s->width} : (gr_picture_use){0, 0};
}

static gr_status read_image(const gr_image_spec *s, const char *path, unsigned char *out) {
  gr_picture p;
  const gr_picture_use use = use_of(s);
  GR_TRY(gr_picture_read(path, &use, &p));
  gr_status e = gr_picture_convert(path, &p, s->channels);
  e = e ? e : gr_picture_fit(&p, s->resize, s->height, s->width, out);
  free(p.pixels);
  return e;
}

static gr_status image_probe(const void *self, uint32_t sample) {
  const gr_image *m = self;
  const gr_picture_use use = use_of(&m->spec);
  return gr_picture_probe(m->list.file[sample].path, &use);
}

static gr_status image_load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  const char *path = ((const gr_image *)self)->list.file[sample].path;
  (void)most;
  out->bytes = (size_t)(s->height * s->width * s->channels), out->length = 1;
  out->data = malloc(out->bytes);
  if (!out->data)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the image '%s' (%zu bytes)", path,
                   out->bytes);
  gr_status e = read_image(s, path, out->data);
  if (!e) return GR_OK;
  free(out->data);
  *out = (gr_loaded){0};
  return e;
}

static void image_inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_image *m = self;
  (void)all, (void)n;
  gr_text_printf(out, "images of [%lld, %lld, %d]\n", (long long)m->spec.height,
                 (long long)m->spec.width, m->spec.channels);
}

// As PIL up to version 12 does it, to the last bit, but for gray of 16 bits (png.c).
static void image_preprocessing(const void *self, gr_text *out) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  const char *mode = s->channels == 1 ? "L" : s->channels == 3 ? "RGB" : "RGBA";
  int w = (int)s->width, h = (int)s->height;
  gr_text_printf(out, "bytes 0 to 255 of an image; with PIL ");
  if (s->resize == GR_PICTURE_STRETCH)
    gr_text_printf(out, "Image.open(FILE).convert('%s').resize((%d, %d), Image.BILINEAR)", mode, w,
                   h);
  else if (s->resize == GR_PICTURE_COVER)
    gr_text_printf(out, "ImageOps.fit(Image.open(FILE).convert('%s'), (%d, %d), Image.BILINEAR)",
                   mode, w, h);
  else
    gr_text_printf(out, "the middle %d x %d of Image.open(FILE).convert('%s'), zeros around it", w,
                   h, mode);
}

const gr_source_ops gr_source_image = {
    .name = "image",
    .sample = "image",
    .inputs = "PNG, JPEG, PPM, PGM and .npy files",
    .path_key = "path",
    .project = "image",
    .path_hint =
        "a folder with a folder for each class, or a CSV file with the columns path and label",
    .endings = {{".png", "an image", .in_lists = true},
                {".jpg", "an image", .in_lists = true},
                {".jpeg", "an image", .in_lists = true},
                {".ppm", "an image", .in_lists = true},
                {".pgm", "an image", .in_lists = true},
                {".npy", .in_lists = true}},
    .skips = {[GR_IMAGE_OTHER] = {.why = "files that are no images by their names",
                                  .hint = "images are .png, .jpg, .jpeg, .ppm, .pgm and .npy"}},
    .open = image_open,
    .fields = image_fields,
    .count = gr_listing_count,
    .info = gr_listing_info,
    .classes = gr_listing_classes,
    .load = image_load,
    .file = gr_listing_file,
    .probe = image_probe,
    .metadata = image_metadata,
    .name_of = gr_listing_name_of,
    .inspect = image_inspect,
    .preprocessing = image_preprocessing};
