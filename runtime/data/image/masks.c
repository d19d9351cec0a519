// masks.c - reads masks, whose values are classes of pixels, or which are images. See image.h.
#include <stdlib.h>
#include "base/port.h"
#include "runtime/data/image/image.h"

static gr_picture_use use_of_mask(const gr_image_spec *s) {
  return (gr_picture_use){.values = !s->pictures};
}

// The values become classes.
static gr_status read_classes(const gr_image_spec *s, const char *path, gr_picture *p) {
  if (p->channels > 1)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the mask '%s' has %d channels", path, p->channels),
        "the value of a pixel is its class: gray, or a PNG with a palette");
  for (int64_t i = 0; i < p->height * p->width; i++) {
    unsigned char value = p->pixels[i];
    p->pixels[i] = s->class_of[value];
    if (p->pixels[i] == GR_IMAGE_NO_CLASS)
      return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                             "the mask '%s' has the value %d in row %lld, column %lld, which is of "
                             "no class",
                             path, value, (long long)(i / p->width), (long long)(i % p->width)),
                     "data.image.mask_values are those of classes, data.image.mask_ignore that of "
                     "pixels which do not count");
  }
  return GR_OK;
}

gr_status gr_image_read_mask(const gr_image_spec *s, const gr_listed *file, gr_picture *out) {
  const gr_picture_use use = use_of_mask(s);
  GR_TRY(gr_image_read_mask_file(file, &use, out));
  gr_status e = s->pictures ? gr_picture_convert(file->mask, out, s->channels)
                            : read_classes(s, file->mask, out);
  if (e) free(out->pixels);
  return e;
}

gr_status gr_image_name_mask(const gr_image *m, const gr_listed *file, gr_status s) {
  bool folder = m->spec.masks || m->spec.eval_masks;
  if (!s || !folder || file->packed_mask || gr_is_file(file->mask)) return s;
  return gr_hint(s,
                 "it is the mask of '%s', and is called as the image, with .png, _mask.png, .pgm%s "
                 "or .npy behind it",
                 file->path, m->spec.pictures ? ", .jpg, .jpeg, .ppm" : "");
}

gr_status gr_image_fit_mask(const gr_image_spec *s, const gr_listed *file, const gr_picture *image,
                            unsigned char *out) {
  gr_picture p;
  GR_TRY(gr_image_read_mask(s, file, &p));
  gr_status e = GR_OK;
  if (p.height != image->height || p.width != image->width)
    e = gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "the mask '%s' has %lld x %lld pixels, its image %lld x %lld", file->mask,
                (long long)p.width, (long long)p.height, (long long)image->width,
                (long long)image->height);
  if (!e && s->pictures) e = gr_picture_fit(&p, s->resize, s->height, s->width, out);
  if (!e && !s->pictures)
    gr_picture_nearest(&p, s->resize, s->height, s->width, GR_IMAGE_IGNORED, out);
  free(p.pixels);
  return e;
}

gr_status gr_image_probe_mask(const gr_image *m, const gr_listed *file) {
  const gr_picture_use use = use_of_mask(&m->spec);
  return gr_image_name_mask(m, file, gr_image_read_mask_file(file, &use, NULL));
}
