// fit.c - fills rows with samples, and computes what transforms need of the training samples. See
// parts.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/work.h"
#include "runtime/data/parts.h"

void gr_dataset_fill(const gr_dataset *d, uint32_t sample, const gr_loaded *loaded,
                     const gr_draw *draw, gr_row *row) {
  const gr_sample *s = &d->samples[sample];
  assert(sample < d->count && (d->ops->fill || loaded->bytes));
  if (d->ops->fill)
    d->ops->fill(d->self, s->index, d->ops->load ? loaded : NULL, draw, row);
  else
    memcpy(row->field[0], loaded->data, loaded->bytes);
  if (!d->classes || !s->label) return;
  *(int32_t *)row->field[d->y_field] = s->label - 1;
  *(float *)row->field[d->y_field + 1] = d->classes->weight[s->label - 1];
}

// Memory for all fields of a row, as the source fills them.
static gr_row make_row(gr_arena *a, const gr_dataset *d) {
  gr_batch shapes;
  gr_row row = {.length = d->buckets[d->n_buckets - 1].length};
  gr_contract_shapes(&d->contract, d->n_buckets - 1, 1, &shapes);
  for (int f = 0; f < d->n_fields; f++)
    row.field[f] = gr_arena_alloc(a, gr_type_bytes(&shapes.field[f].type));
  return row;
}

static gr_status add_sample(gr_dataset *d, int which, uint32_t sample, const gr_row *memory) {
  gr_loaded x;
  bool kept, there;
  gr_transform_row r;
  gr_row row = *memory;
  GR_TRY(gr_work_step(1));
  GR_TRY(gr_cache_get(d, sample, &x, &kept, &there));
  if (!there) return GR_OK;
  gr_status s = gr_transforms_begin(d->transforms, &row, &r);
  if (!s) {
    const gr_draw draw = {.number = sample};
    gr_dataset_fill(d, sample, &x, &draw, &row);
    gr_transforms_add(d->transforms, which, &r);
    gr_transforms_drop(&r);
  }
  if (!kept) free(x.data);
  return s;
}

static gr_status fit_one(gr_dataset *d, int which, const gr_row *row) {
  const gr_transform *t = &d->transforms->items[which];
  gr_work work;
  gr_status s = GR_OK;
  gr_work_begin_items(&work, "going through the training samples",
                      gr_dataset_count(d, GR_SPLIT_TRAIN));
  for (uint32_t i = 0; i < d->count && !s; i++)
    if (d->samples[i].split == GR_SPLIT_TRAIN) s = add_sample(d, which, i, row);
  gr_work_end(&work);
  if (s) return s;
  t->ops->finish(t->self);
  return d->ops->check ? d->ops->check(d->self) : GR_OK;
}

static gr_status fit(gr_dataset *d) {
  gr_arena *a = gr_arena_create();
  gr_row row = make_row(a, d);
  gr_status s = GR_OK;
  for (int i = gr_transforms_fitted(d->transforms, -1); i >= 0 && !s;
       i = gr_transforms_fitted(d->transforms, i))
    s = fit_one(d, i, &row);
  return gr_arena_end(a, s);
}

gr_status gr_dataset_fit(gr_dataset *d) {
  if (!d->transforms) return GR_OK;
  pthread_mutex_lock(&d->fitting);
  gr_status s = d->fitted ? GR_OK : fit(d);
  d->fitted = !s;
  pthread_mutex_unlock(&d->fitting);
  return s;
}

bool gr_dataset_fitted(gr_dataset *d) {
  if (gr_transforms_fitted(d->transforms, -1) < 0) return true;
  pthread_mutex_lock(&d->fitting);
  bool fitted = d->fitted;
  pthread_mutex_unlock(&d->fitting);
  return fitted;
}
