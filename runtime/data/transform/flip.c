// flip.c - mirrors images and videos, or reverses time.
#include <string.h>
#include "runtime/data/transform.h"

typedef struct flip {
  double p;
  int64_t outer, n, inner;  // x as [outer, n, bytes of inner], reversed along n
} flip;

static const gr_schema_key params[] = {
    {"p", "float >= 0 <= 1", "0.5", "", "probability with which a sample is flipped"},
    {"axis", "width | height | time", "width", "",
     "what is reversed: the columns or rows of images and videos, or the order of frames and of "
     "the "
     "moments of a series"},
    {0}};

static gr_status flip_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  flip *f = *self = GR_NEW(a, flip, 1);
  const char *axis;
  GR_TRY(gr_conf_float(conf, "p", 0, &f->p));
  GR_TRY(gr_conf_text(conf, "axis", NULL, &axis));
  int dim = !strcmp(axis, "width") ? x->rank - 2 : !strcmp(axis, "height") ? x->rank - 3 : 0;
  if (!strcmp(axis, "time") ? x->rank == 3 : x->rank == 2)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, gr_conf_find(conf, "axis")->loc, "this x has no %s", axis),
        x->rank == 2 ? "a series has only the axis time" : "an image has no time");
  f->outer = 1, f->n = x->dim[dim], f->inner = gr_dtypes[x->dtype].size;
  for (int i = 0; i < dim; i++) f->outer *= x->dim[i];
  for (int i = dim + 1; i < x->rank; i++) f->inner *= x->dim[i];
  return GR_OK;
}

static void flip_apply(const void *self, const gr_type *type, const void *x, void *y,
                       const gr_transform_draw *draw) {
  const flip *f = self;
  bool flipped = draw && gr_transform_uniform(draw, 0) < f->p;
  if (!flipped) {
    memcpy(y, x, gr_type_bytes(type));
    return;
  }
  for (int64_t o = 0; o < f->outer; o++)
    for (int64_t i = 0; i < f->n; i++)
      memcpy((char *)y + (o * f->n + i) * f->inner,
             (const char *)x + (o * f->n + f->n - 1 - i) * f->inner, (size_t)f->inner);
}

const gr_transform_ops gr_transform_flip = {.name = "flip",
                                            .doc = "mirrors a sample, or reverses its time",
                                            .params = params,
                                            .mask = GR_MASK_MOVED,
                                            .least_rank = 2,
                                            .most_rank = 4,
                                            .open = flip_open,
                                            .apply = flip_apply};
