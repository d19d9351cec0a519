// source.c - the functions of the source `image`; see image.h.
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

enum { X, Y, CLASS_WEIGHT };

// ---- Opening ------------------------------------------------------------------------------------

static void read_size(gr_conf *own, gr_image_spec *s) {
  const gr_conf *c = gr_conf_find(own, "size");
  if (c->kind == GR_CONF_INT) s->height = s->width = c->integer;
  if (c->kind != GR_CONF_LIST) return;
  gr_conf_find(own, "size[0]"), gr_conf_find(own, "size[1]");  // they are read
  s->height = c->items[0]->integer, s->width = c->items[1]->integer;
}

static gr_status read_spec(gr_conf *own, gr_image_spec *s) {
  const char *resize, *color;
  *s = (gr_image_spec){0};
  GR_TRY(gr_conf_text(own, "path", NULL, &s->path));
  GR_TRY(gr_conf_text(own, "eval_path", NULL, &s->eval_path));
  GR_TRY(gr_conf_text(own, "resize", NULL, &resize));
  GR_TRY(gr_conf_text(own, "color", NULL, &color));
  read_size(own, s);
  s->resize = !strcmp(resize, "cover")  ? GR_PICTURE_COVER
              : !strcmp(resize, "crop") ? GR_PICTURE_CROP
                                        : GR_PICTURE_STRETCH;
  s->channels = !strcmp(color, "gray") ? 1 : !strcmp(color, "rgb") ? 3 : 4;
  return GR_OK;
}

static gr_status check_spec(const gr_image_spec *s, const gr_source_request *r) {
  if (!s->path && !r->n_inputs)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.image.path is not given"), "path"),
        "a folder with a folder for each class, or a CSV file with the columns path and "
        "label");
  if (!s->height)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.image.size is not given"), "size"),
        "all samples have one height and width: data.image.size=[48,64]");
  if (r->n_inputs && !r->record)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the run's data.json, which names its classes, is not there"),
                   "every run writes it into its folder: copy the whole folder");
  return GR_OK;
}

static gr_status open_source(gr_source_request *r, void **out) {
  gr_image *m = GR_NEW(r->arena, gr_image, 1);
  *m = (gr_image){.arena = r->arena,
                  .inputs = r->n_inputs > 0,
                  .skipped = {[GR_IMAGE_OTHER] = {
                                  .why = "files that are no images by their names",
                                  .hint = "images are .png, .jpg, .jpeg, .ppm, .pgm and .npy"}}};
  if (r->conf)
    GR_TRY(read_spec(r->conf, &m->spec));
  else
    m->spec = *(const gr_image_spec *)r->spec;
  GR_TRY(check_spec(&m->spec, r));
  GR_TRY(gr_image_list(m, r));
  if (!m->inputs && !gr_is_dir(m->spec.path)) r->place = (gr_loc){m->spec.path, 1, 1};
  *out = m;
  return GR_OK;
}

// ---- Metadata -----------------------------------------------------------------------------------

static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  out[X] = (gr_field_spec){
      .name = "x", .dtype = GR_U8, .rank = 3, .dim = {s->height, s->width, s->channels}};
  out[Y] = (gr_field_spec){.name = "y", .dtype = GR_I32};
  out[CLASS_WEIGHT] = (gr_field_spec){.name = "class_weight", .dtype = GR_F32};
  return 3;
}

static int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_image *m = self;
  out[0] = (gr_metadata){"classes", m->classes.n};
  out[1] = (gr_metadata){"height", m->spec.height};
  out[2] = (gr_metadata){"width", m->spec.width};
  out[3] = (gr_metadata){"channels", m->spec.channels};
  return 4;
}

static uint32_t count(const void *self) { return ((const gr_image *)self)->count; }

static gr_sample_info info(const void *self, uint32_t sample) {
  const gr_image *m = self;
  const gr_image_file *f = &m->file[sample];
  return (gr_sample_info){.key = gr_hash_text(f->name),
                          .split = (gr_split)f->split,
                          .length = 1,
                          .loc = f->loc,
                          .label = m->inputs ? 0 : f->label + 1,
                          .has_weight = f->has_weight,
                          .weight = f->weight};
}

static int skipped(const void *self, const gr_skipped **out) {
  *out = ((const gr_image *)self)->skipped;
  return GR_IMAGE_SKIPS;
}

static gr_status fit(void *self, gr_arena *a, const gr_sample *all, uint32_t n) {
  gr_image *m = self;
  if (!m->inputs) gr_classes_weigh(&m->classes, a, gr_classes_count(&m->classes, a, all, n));
  return GR_OK;
}

// ---- A sample -----------------------------------------------------------------------------------

// What is cropped is not scaled.
static gr_picture_use use_of(const gr_image_spec *s) {
  return s->resize == GR_PICTURE_CROP ? (gr_picture_use){0, 0}
                                      : (gr_picture_use){s->height, s->width};
}

static gr_status read_image(const gr_image_spec *s, const char *path, unsigned char *out) {
  gr_picture p;
  const gr_picture_use use = use_of(s);
  GR_TRY(gr_picture_read(path, &use, &p));
  gr_status e = gr_picture_convert(path, &p, s->channels);
  e = e ? e : gr_picture_fit(&p, s->resize, s->height, s->width, out);
  free(p.at);
  return e;
}

static gr_status probe(const void *self, uint32_t sample) {
  const gr_image *m = self;
  const gr_picture_use use = use_of(&m->spec);
  return gr_picture_probe(m->file[sample].path, &use);
}

static gr_status load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  const char *path = ((const gr_image *)self)->file[sample].path;
  (void)most;
  out->bytes = (size_t)(s->height * s->width * s->channels), out->length = 1;
  out->at = malloc(out->bytes);
  if (!out->at)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the image '%s' (%zu bytes)", path,
                   out->bytes);
  gr_status e = read_image(s, path, out->at);
  if (!e) return GR_OK;
  free(out->at);
  *out = (gr_loaded){0};
  return e;
}

static void fill(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *draw,
                 gr_row *row) {
  const gr_image *m = self;
  int32_t label = m->file[sample].label;
  (void)draw;
  memcpy(row->at[X], loaded->at, loaded->bytes);
  if (m->inputs) return;
  *(int32_t *)row->at[Y] = label;
  *(float *)row->at[CLASS_WEIGHT] = m->classes.weight[label];
}

// ---- Texts --------------------------------------------------------------------------------------

static void name_of(const void *self, uint32_t sample, gr_text *out) {
  gr_text_put(out, ((const gr_image *)self)->file[sample].name);
}

static void reference(const void *self, uint32_t sample, gr_text *out) {
  const gr_image *m = self;
  if (!m->inputs) gr_text_put(out, m->classes.names[m->file[sample].label]);
}

static void decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  gr_classes_decode(&((const gr_image *)self)->classes, ids, n, out);
}

static void inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_image *m = self;
  (void)all, (void)n;
  gr_text_printf(out, "images of [%lld, %lld, %d]\n", (long long)m->spec.height,
                 (long long)m->spec.width, m->spec.channels);
}

static void classes(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_image *m = self;
  gr_classes_put(&m->classes, gr_classes_count(&m->classes, out->arena, all, n), out);
}

static void record(const void *self, gr_text *json) {
  gr_classes_record(&((const gr_image *)self)->classes, json);
}

const gr_source_ops gr_source_image = {.name = "image",
                                       .sample = "image",
                                       .inputs = "PNG, JPEG, PPM, PGM and .npy files",
                                       .open = open_source,
                                       .fields = fields,
                                       .count = count,
                                       .info = info,
                                       .load = load,
                                       .probe = probe,
                                       .fill = fill,
                                       .metadata = metadata,
                                       .skipped = skipped,
                                       .fit = fit,
                                       .name_of = name_of,
                                       .reference = reference,
                                       .decode = decode,
                                       .inspect = inspect,
                                       .classes = classes,
                                       .record = record};
