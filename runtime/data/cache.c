// cache.c - caches loaded samples: each is read once and kept while there is room.
#include <assert.h>
#include <stdlib.h>
#include "base/work.h"
#include "runtime/data/parts.h"

void gr_cache_open(gr_dataset *d) {
  size_t most = d->options.cache_bytes;
  size_t keepable = d->ops->keepable ? d->ops->keepable(d->self) : 0;
  d->cache = (gr_cache){.kept = GR_NEW(d->arena, gr_loaded, d->ops->load ? d->count : 0),
                        .unreadable = GR_NEW(d->arena, bool, d->ops->load ? d->count : 0),
                        .most = most,
                        .spared = keepable < most / 2 ? keepable : most / 2};
  pthread_mutex_init(&d->cache.lock, NULL);
}

void gr_cache_close(gr_dataset *d) {
  for (uint32_t i = 0; d->ops->load && i < d->count; i++) free(d->cache.kept[i].data);
  pthread_mutex_destroy(&d->cache.lock);
}

static gr_status load_sample(const gr_dataset *d, uint32_t sample, gr_loaded *out) {
  const gr_sample *s = d->samples + sample;
  *out = (gr_loaded){0};
  GR_TRY(gr_work_step(0));
  return d->ops->load(d->self, s->index, d->buckets[s->bucket].length, out);
}

// Whether there is room for one more sample. Where not all will have some, by the mean of those
// that are kept, others are loaded again and again, and what the source keeps makes that faster.
static bool has_room(const gr_dataset *d, size_t bytes) {
  const gr_cache *c = &d->cache;
  size_t all = c->bytes + bytes, n = (size_t)c->n_kept + 1;
  bool fits = (double)all / (double)n * (double)d->count <= (double)c->most;
  return all <= c->most - (fits ? 0 : c->spared);
}

// Caches a loaded sample, unless another thread was faster or there is no room.
static void cache_sample(gr_dataset *d, uint32_t sample, gr_loaded *x, bool *kept) {
  gr_cache *c = &d->cache;
  pthread_mutex_lock(&c->lock);
  if (c->kept[sample].data) {
    free(x->data);
    *x = c->kept[sample], *kept = true;
  } else if (has_room(d, x->bytes)) {
    c->kept[sample] = *x, *kept = true;
    c->bytes += x->bytes, c->n_kept++;
    if (d->ops->keep) d->ops->keep(d->self, c->most - c->bytes);
  }
  pthread_mutex_unlock(&c->lock);
}

gr_status gr_cache_try(gr_dataset *d, uint32_t sample) {
  gr_loaded x;
  gr_status s = load_sample(d, sample, &x);
  free(x.data);
  return s;
}

// Marks a sample as unreadable for later epochs and other threads. False: it was marked already.
// *none: no readable sample is left.
static bool mark_unreadable(gr_dataset *d, uint32_t sample, bool *none) {
  gr_cache *c = &d->cache;
  pthread_mutex_lock(&c->lock);
  bool first = !c->unreadable[sample];
  c->unreadable[sample] = true;
  c->n_unreadable += first;
  *none = c->n_unreadable == d->count;
  pthread_mutex_unlock(&c->lock);
  return first;
}

// Single samples are skipped; if all are unreadable, there is nothing to train on, which is an
// error.
static gr_status none_left(const gr_dataset *d, gr_status s) {
  gr_status e = gr_fail(GR_ERR_DATA, d->place, "none of %u %s can be read; the last: %s", d->count,
                        d->unreadable.samples, gr_status_text(s));
  gr_status_drop(s);
  const char *finds = d->unreadable.finds;
  return finds ? gr_hint(e, "%s shows what is wrong with each", finds) : e;
}

gr_status gr_cache_get(gr_dataset *d, uint32_t sample, gr_loaded *out, bool *kept, bool *there) {
  gr_cache *c = &d->cache;
  assert(sample < d->count);
  *out = (gr_loaded){0}, *kept = *there = true;
  if (!d->ops->load) return GR_OK;
  pthread_mutex_lock(&c->lock);
  *out = c->kept[sample], *kept = out->data != NULL, *there = !c->unreadable[sample];
  pthread_mutex_unlock(&c->lock);
  if (*kept || !*there) return GR_OK;
  gr_status s = load_sample(d, sample, out);
  if (!s) {
    cache_sample(d, sample, out, kept);
    return GR_OK;
  }
  if (gr_status_code(s) != GR_ERR_DATA) return s;  // not the sample's fault
  bool none = false;
  *there = false;
  if (d->options.skip_unreadable && !mark_unreadable(d, sample, &none)) {
    gr_status_drop(s);
    return GR_OK;
  }
  if (none) return none_left(d, s);
  return gr_unreadable_add(&d->unreadable, gr_dataset_place(d, sample), s);
}

size_t gr_dataset_cached(gr_dataset *d) {
  pthread_mutex_lock(&d->cache.lock);
  size_t bytes = d->cache.bytes;
  pthread_mutex_unlock(&d->cache.lock);
  return bytes;
}
