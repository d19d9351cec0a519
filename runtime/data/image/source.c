// source.c - the functions of the source `image`; see image.h.
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

// ---- Opening ------------------------------------------------------------------------------------

static gr_status read_values(gr_conf *section, gr_image_spec *s) {
  gr_conf *values = gr_conf_find(section, "mask_values");
  bool list = values->kind == GR_CONF_LIST;
  gr_conf_mark(values);
  memset(s->class_of, GR_IMAGE_NO_CLASS, sizeof s->class_of);
  s->n_values = list ? values->n : values->kind == GR_CONF_INT ? (int)values->integer : 0;
  s->pictures = values->kind == GR_CONF_TEXT;
  if (!s->n_values)
    return gr_source_refuse(
        section,
        &(gr_source_unused){
            "mask_ignore", "255",
            s->pictures ? "all pixels of masks that are images count" : "images have no masks",
            "data.image.mask_values says which values of masks are classes"});
  gr_conf *ignore = gr_conf_find(section, "mask_ignore");
  gr_conf_mark(ignore);
  if (ignore->kind == GR_CONF_INT) s->class_of[ignore->integer] = GR_IMAGE_IGNORED;
  for (int i = 0; i < s->n_values; i++) {
    unsigned char *class = &s->class_of[list ? values->items[i]->integer : i];
    if (i == GR_IMAGE_NO_CLASS || *class < i)
      return gr_hint(gr_fail(GR_ERR_CONFIG, values->loc, "data.image.mask_values %s",
                             *class < i ? "has a value twice" : "has more than 254 values"),
                     "each value is of one class: [0,255] are the classes 0 and 1");
    if (*class == GR_IMAGE_IGNORED && !ignore->is_default && ignore->integer != 255)
      return gr_hint(gr_fail(GR_ERR_CONFIG, ignore->loc,
                             "pixels of the value %lld are not to be counted, and are the class %d "
                             "of data.image.mask_values",
                             (long long)ignore->integer, i),
                     "leave the value out of data.image.mask_values, as a list, or "
                     "data.image.mask_ignore=null");
    *class = (unsigned char)i;
  }
  return GR_OK;
}

// Of images with masks, or without labels.
static gr_status refuse_labels(gr_conf *section, const char *why, const char *hint) {
  static const char *const keys[][2] = {
      {"label", NULL}, {"label_is", "auto"}, {"label_separator", "|"}, {"label_missing", NULL}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    GR_TRY(gr_source_refuse(section, &(gr_source_unused){keys[i][0], keys[i][1], why, hint}));
  return GR_OK;
}

static gr_status read_labels(gr_arena *a, gr_conf *section, gr_image_spec *s) {
  const gr_conf *label = gr_conf_find(section, "label");
  s->unlabelled = label->kind == GR_CONF_NULL && !gr_image_has_masks(s);
  if (gr_image_has_masks(s))
    return refuse_labels(section, "data.image.mask_values makes masks the labels",
                         "remove one of them");
  if (s->unlabelled)
    return refuse_labels(section, "data.image.label=null says that images have no labels",
                         "remove it, or name the column of labels");
  return gr_table_read_labels(a, section, &s->labels);
}

static gr_status image_read_spec(gr_arena *a, gr_conf *section, gr_image_spec *s) {
  const char *resize, *color, *decode;
  *s = (gr_image_spec){0};
  GR_TRY(gr_conf_text(section, "path", NULL, &s->path));
  GR_TRY(gr_conf_text(section, "eval_path", NULL, &s->eval_path));
  GR_TRY(gr_conf_text(section, "masks", NULL, &s->masks));
  GR_TRY(gr_conf_text(section, "eval_masks", NULL, &s->eval_masks));
  GR_TRY(read_values(section, s));
  GR_TRY(read_labels(a, section, s));
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

// What is given of masks fits.
static gr_status check_masks(const gr_image_spec *s) {
  bool masks = gr_image_has_masks(s);
  if (masks && s->reduced)
    return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                            "images with masks are not decoded at a fraction of their size"),
                    "decode");
  if (masks && s->eval_masks && !s->eval_path)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "masks for validation are given, and no images"),
                            "eval_masks"),
                   "data.image.eval_path=FOLDER has their images; without it a share of "
                   "data.image.path is for validation");
  if (masks || (!s->masks && !s->eval_masks)) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "which values of masks are classes is not given"),
               "masks eval_masks"),
      "data.image.mask_values=21 for 0 to 20, or all of them: [0,255]; `pixels` where masks are "
      "images "
      "to be made of images");
}

static gr_status image_open(gr_source_request *r, void **out) {
  gr_image *m = *out = GR_NEW(r->arena, gr_image, 1);
  m->list = gr_listing_make(r, "images");
  m->list.other = GR_IMAGE_OTHER;
  if (r->conf)
    GR_TRY(image_read_spec(r->arena, r->conf, &m->spec));
  else
    m->spec = *(const gr_image_spec *)r->spec;
  GR_TRY(gr_source_need_path(r, m->spec.path));
  m->cache_bytes = r->cache_bytes, m->kept = gr_kept_open(r->cache_bytes);
  if (!m->kept) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read images");
  if (!m->spec.height)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.image.size is not given"), "size"),
        "all samples have one height and width: data.image.size=[48,64]");
  GR_TRY(check_masks(&m->spec));
  m->values = (gr_table){
      .arena = r->arena, .spec = m->spec.labels, .section = "data.image", .inputs = m->list.inputs};
  if (!m->values.spec.label) m->values.spec.label = "label";
  GR_TRY(gr_image_list(m, r));
  bool text = !m->list.inputs && !gr_is_dir(m->spec.path) && !gr_packed_named(m->spec.path);
  if (text) r->place = (gr_loc){m->spec.path, 1, 1};
  return GR_OK;
}

static void image_close(void *self) { gr_image_close_files(self); }

static void image_keep(const void *self, size_t bytes) {
  gr_kept_limit(((const gr_image *)self)->kept, bytes);
}

static size_t image_keepable(const void *self) { return gr_image_file_bytes(self); }

static void image_notes(const void *self, gr_text *out) { gr_image_note_files(self, out); }

// Of images in Parquet files and archives names do not say which they are.
static const char *image_file(const void *self, uint32_t sample) {
  const gr_listed *file = &((const gr_image *)self)->list.file[sample];
  return file->packed || file->member.archive ? NULL : file->path;
}

// ---- Metadata -----------------------------------------------------------------------------------

static int image_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  out[0] = (gr_field_spec){
      .name = "x", .dtype = GR_U8, .rank = 3, .dim = {s->height, s->width, s->channels}};
  if (((const gr_image *)self)->has_values) {
    gr_table_target_field(&((const gr_image *)self)->values, &out[1]);
    return 2;
  }
  if (!gr_image_has_masks(s)) return 1;
  out[1] = (gr_field_spec){.name = "y",
                           .dtype = GR_I32,
                           .rank = 2,
                           .dim = {s->height, s->width},
                           .pad = GR_NO_LABEL,
                           .mask = true};
  if (s->pictures) out[1] = out[0], out[1].name = "y", out[1].mask = true;
  return 2;
}

// Those of pixels are no labels of samples.
static bool has_classes(const gr_image *m) {
  return !gr_image_has_masks(&m->spec) && !m->has_values && !m->spec.unlabelled;
}

static gr_classes *image_classes(void *self) {
  gr_image *m = self;
  return has_classes(m) ? &m->list.classes : NULL;
}

static int image_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_image *m = self;
  int64_t classes = m->spec.n_values ? m->spec.n_values : m->list.classes.n;
  int n = 0;
  if (m->spec.n_values || has_classes(m)) out[n++] = (gr_metadata){"classes", classes};
  if (m->values.n_targets) out[n++] = (gr_metadata){"targets", m->values.n_targets};
  out[n++] = (gr_metadata){"height", m->spec.height};
  out[n++] = (gr_metadata){"width", m->spec.width};
  out[n++] = (gr_metadata){"channels", m->spec.channels};
  return n;
}

// ---- A sample -----------------------------------------------------------------------------------

// A mean of means is another value than the mean, so only who asks for it gets it. What is cropped
// is not scaled.
static gr_picture_use use_of(const gr_image_spec *s) {
  bool fraction = s->reduced && s->resize != GR_PICTURE_CROP;
  return fraction ? (gr_picture_use){s->height, s->width} : (gr_picture_use){0, 0};
}

// The image, and behind it its mask.
static gr_status read_image(const gr_image_spec *s, const gr_listed *file, unsigned char *out) {
  gr_picture p;
  const gr_picture_use use = use_of(s);
  GR_TRY(gr_image_read_file(file, &use, &p));
  gr_status e = gr_picture_convert(file->path, &p, s->channels);
  if (!e && file->mask)
    e = gr_image_fit_mask(s, file, &p, out + s->height * s->width * s->channels);
  e = e ? e : gr_picture_fit(&p, s->resize, s->height, s->width, out);
  free(p.pixels);
  return e;
}

static gr_status image_probe(const void *self, uint32_t sample) {
  const gr_image *m = self;
  const gr_listed *file = &m->list.file[sample];
  const gr_picture_use use = use_of(&m->spec);
  GR_TRY(gr_image_read_file(file, &use, NULL));
  return file->mask ? gr_image_probe_mask(m, file) : GR_OK;
}

static gr_status image_load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  const gr_image_spec *s = &((const gr_image *)self)->spec;
  const gr_listed *file = &((const gr_image *)self)->list.file[sample];
  (void)most;
  int mask = !file->mask ? 0 : s->pictures ? s->channels : 1;
  out->bytes = (size_t)(s->height * s->width * (s->channels + mask));
  out->length = 1;
  out->data = malloc(out->bytes);
  if (!out->data)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the image '%s' (%zu bytes)", file->path,
                   out->bytes);
  gr_status e = read_image(s, file, out->data);
  if (!e) return GR_OK;
  free(out->data);
  *out = (gr_loaded){0};
  return file->mask ? gr_image_name_mask(self, file, e) : e;
}

// The value that marks pixels which masks do not count.
static unsigned char ignored_value(const gr_image_spec *s) {
  for (int v = 255; v > 0 && s->n_values; v--)
    if (s->class_of[v] == GR_IMAGE_IGNORED) return (unsigned char)v;
  return 0;
}

_Static_assert((int)GR_SOURCE_SPARE >= (int)GR_PICTURE_SPARE, "gr_picture_back reads behind it");

// Only what has the size of x has its geometry.
static gr_status image_resize_back(const void *self, uint32_t sample, gr_source_picture *p) {
  const gr_image *m = self;
  const gr_image_spec *s = &m->spec;
  gr_picture file;
  if (p->height != s->height || p->width != s->width) return GR_OK;
  GR_TRY(gr_image_read_file(&m->list.file[sample], &(gr_picture_use){0}, &file));
  free(file.pixels);
  if (file.height == p->height && file.width == p->width) return GR_OK;
  gr_picture of = {p->height, p->width, p->channels, p->pixels};
  GR_TRY(gr_picture_back(&of, s->resize, p->classes, file.height, file.width, ignored_value(s)));
  *p = (gr_source_picture){of.height, of.width, of.channels, p->classes, of.pixels};
  return GR_OK;
}

static void image_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                       const gr_draw *draw, gr_row *row) {
  const gr_image *m = self;
  int64_t pixels = m->spec.height * m->spec.width, n = pixels * m->spec.channels;
  const unsigned char *class = (const unsigned char *)loaded->data + n;
  (void)draw;
  memcpy(row->field[0], loaded->data, (size_t)n);
  if (m->has_values && !m->list.inputs) {
    const gr_table_part *p;
    int64_t r = gr_image_row(m, sample, &p);
    gr_table_targets(&m->values, p, r, row->field[1]);
  }
  bool mask = m->list.file[sample].mask;
  if (mask && m->spec.pictures) memcpy(row->field[1], class, (size_t)n);
  for (int64_t i = 0; mask && !m->spec.pictures && i < pixels; i++)
    ((int32_t *)row->field[1])[i] = class[i] == GR_IMAGE_IGNORED ? GR_NO_LABEL : class[i];
}

static void image_reference(const void *self, uint32_t sample, gr_text *out) {
  const gr_image *m = self;
  const gr_table_part *p;
  if (!m->has_values || m->list.inputs) return;
  int64_t row = gr_image_row(m, sample, &p);
  gr_table_put_targets(&m->values, p, row, out);
}

// The names of classes or targets by their numbers.
static void image_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_image *m = self;
  gr_classes_decode(m->has_values ? &m->values.targets : &m->list.classes, ids, n, out);
}

static void image_record(const void *self, gr_text *out) {
  const gr_image *m = self;
  if (m->list.classes.n) gr_classes_record(&m->list.classes, out);
  if (m->values.n_targets) gr_classes_record_as(&m->values.targets, "targets", out);
}

static const char *image_advice(const void *self, const char *field) {
  const gr_image *m = self;
  if (strcmp(field, "y") != 0 && strcmp(field, "class_weight") != 0) return NULL;
  if (m->spec.unlabelled) return "data.image.label=COLUMN makes that column of a list y";
  if (m->has_values) return "data.image.label_is=class makes a y of i32 of whole numbers or text";
  return m->values.n_parts ? "data.image.label_is=value makes a y of f32 of numbers" : NULL;
}

static void image_inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_image *m = self;
  gr_text_printf(out, "images of [%lld, %lld, %d]\n", (long long)m->spec.height,
                 (long long)m->spec.width, m->spec.channels);
  if (m->has_values) gr_table_inspect_labels(&m->values, out);
  if (m->spec.pictures) gr_text_put(out, "masks that are images\n");
  if (m->spec.n_values) gr_text_printf(out, "masks of %d classes\n", m->spec.n_values);
  if (m->spec.n_values) gr_image_inspect_masks(m, all, n, out);
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
    .inputs = "PNG, JPEG, PPM, PGM and .npy files, and Parquet and .tar files of these",
    .path_key = "path",
    .project = "image",
    .path_hint =
        "a folder with a folder for each class, a CSV file with the columns path and label, or "
        "Parquet or .tar files",
    .endings = {{".png", "an image", .in_lists = true},
                {".jpg", "an image", .in_lists = true},
                {".jpeg", "an image", .in_lists = true},
                {".ppm", "an image", .in_lists = true},
                {".pgm", "an image", .in_lists = true},
                {".npy", .in_lists = true},
                {".csv", .text = true},
                {".tsv", .text = true},
                {".jsonl", .text = true},
                {".parquet"},
                {".tar"}},
    .skips = {[GR_IMAGE_OTHER] = {.why = "files that are no images by their names",
                                  .hint = "images are .png, .jpg, .jpeg, .ppm, .pgm and .npy"},
              [GR_IMAGE_MASKS] = {.why = "masks that are of no image", .of = GR_OMITTED_OTHER}},
    .open = image_open,
    .close = image_close,
    .fields = image_fields,
    .count = gr_listing_count,
    .info = gr_listing_info,
    .classes = image_classes,
    .load = image_load,
    .fill = image_fill,
    .file = image_file,
    .keep = image_keep,
    .keepable = image_keepable,
    .notes = image_notes,
    .probe = image_probe,
    .metadata = image_metadata,
    .name_of = gr_listing_name_of,
    .reference = image_reference,
    .decode = image_decode,
    .record = image_record,
    .advice = image_advice,
    .inspect = image_inspect,
    .resize_back = image_resize_back,
    .preprocessing = image_preprocessing};
