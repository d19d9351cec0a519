// source.c - see source.h.
#include "ops/source.h"

gr_status gr_source_shape(gr_site *s, const gr_ints *shape, gr_dtype dtype) {
  s->out[0] = (gr_type){.dtype = dtype, .rank = (int)shape->n};
  for (int d = 0; d < s->out[0].rank; d++) s->out[0].dim[d] = shape->at[d];
  return GR_OK;
}

typedef struct work {
  const gr_launch *l;
  const gr_rng *rng;
  gr_draw at;
} work;

static void part(void *arg, int64_t from, int64_t to) {
  const work *w = arg;
  const gr_launch *l = w->l;
  for (int64_t i = from; i < to; i++)
    OUT(0, i, w->at(w->rng, l->attr, (uint64_t)gr_global_index(l, 0, i)));
}

void gr_source_draw(const gr_launch *l, const gr_rng *rng, gr_draw at) {
  gr_parallel(l, gr_type_count(l->out_type), 4096, part, &(work){l, rng, at});
}
