// cache.c - features of utterances: computed once, kept while there is room.
#include <pthread.h>
#include <stdlib.h>
#include "runtime/data/parts.h"
#include "runtime/data/speech/audio.h"

void gr_cache_open(gr_data *d) {
  d->cache = (gr_cache){.features = GR_NEW(d->arena, float *, d->count),
                        .frames = GR_NEW(d->arena, int32_t, d->count),
                        .most = d->spec.cache_bytes};
  pthread_mutex_init(&d->cache.lock, NULL);
}

void gr_cache_close(gr_data *d) {
  for (uint32_t i = 0; i < d->count; i++) free(d->cache.features[i]);
  pthread_mutex_destroy(&d->cache.lock);
}

// Durations in manifests are rounded, so a hundredth and two frames are let be; what then does
// not fit into the bucket is cut. Anything else is another recording than the one listed.
gr_status gr_data_check_length(const gr_utterance *u, const gr_feature_spec *f, int64_t said,
                               int64_t frames) {
  int64_t apart = frames > said ? frames - said : said - frames;
  if (apart <= 2 + said / 100) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' lasts %.2f seconds, the manifest says %.2f",
              u->audio, (double)(frames - 1) * f->hop / f->rate,
              u->seconds > 0 ? u->seconds : (double)(said - 1) * f->hop / f->rate),
      "correct \"duration\", or leave it out");
}

static gr_status compute_from(gr_data *d, const gr_item *item, const float *samples, uint64_t n,
                              float **out, int32_t *frames) {
  const gr_feature_spec *f = &d->spec.features;
  int64_t t = gr_feature_frames(f, n), most = d->buckets[item->bucket].frames;
  float *x = malloc((size_t)t * (size_t)f->mels * sizeof *x);
  if (!x)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the features of '%s'",
                   item->from->audio);
  gr_status s = gr_features_compute(&d->features, samples, n, x);
  if (s) {
    free(x);
    return s;
  }
  *out = x, *frames = (int32_t)(t < most ? t : most);
  return GR_OK;
}

// The head is read first, so that a recording far longer than it should be is not read at all.
static gr_status compute(gr_data *d, const gr_item *item, float **out, int32_t *frames) {
  const gr_feature_spec *f = &d->spec.features;
  gr_audio_info info;
  float *samples;
  uint64_t n;
  GR_TRY(gr_audio_probe(item->from->audio, &info));
  GR_TRY(gr_data_check_length(item->from, f, item->frames,
                              gr_feature_frames(f, gr_audio_samples_at(&info, f->rate))));
  GR_TRY(gr_audio_read(item->from->audio, f->rate, info.samples, &samples, &n));
  gr_status s = compute_from(d, item, samples, n, out, frames);
  free(samples);
  return s;
}

// Keeps what was computed, unless another thread was faster or there is no room.
static void keep(gr_data *d, uint32_t utterance, float **x, int32_t *frames, bool *kept) {
  gr_cache *c = &d->cache;
  size_t bytes = (size_t)*frames * (size_t)d->spec.features.mels * sizeof(float);
  pthread_mutex_lock(&c->lock);
  if (c->features[utterance]) {
    free(*x);
    *x = c->features[utterance], *kept = true;
  } else if (c->bytes + bytes <= c->most) {
    c->features[utterance] = *x, c->frames[utterance] = *frames, *kept = true;
    c->bytes += bytes;
  }
  pthread_mutex_unlock(&c->lock);
}

gr_status gr_cache_try(gr_data *d, uint32_t utterance) {
  float *x = NULL;
  int32_t frames;
  gr_status s = compute(d, d->items + utterance, &x, &frames);
  free(x);
  return s;
}

// Later epochs know, and so do other threads. False: it is known already. *none: it was the last.
static bool mark_unreadable(gr_data *d, uint32_t utterance, bool *none) {
  gr_cache *c = &d->cache;
  pthread_mutex_lock(&c->lock);
  bool first = c->frames[utterance] >= 0;
  c->frames[utterance] = -1;
  c->unreadable += first;
  *none = c->unreadable == d->count;
  pthread_mutex_unlock(&c->lock);
  return first;
}

// What one recording is skipped for, all are not: there would be nothing to train on.
static gr_status none_left(const gr_data *d, const gr_item *item, gr_status s) {
  gr_status e =
      gr_fail(GR_ERR_DATA, (gr_loc){item->manifest, 1, 1},
              "none of %u recordings can be read; the last: %s", d->count, gr_status_text(s));
  gr_status_drop(s);
  return gr_hint(e, "data.root is the folder of relative paths; without it, it is the manifest's");
}

gr_status gr_cache_get(gr_data *d, uint32_t utterance, float **out, int32_t *frames, bool *kept) {
  gr_cache *c = &d->cache;
  pthread_mutex_lock(&c->lock);
  *out = c->features[utterance], *frames = c->frames[utterance], *kept = *out;
  pthread_mutex_unlock(&c->lock);
  if (*out || *frames < 0) return GR_OK;
  const gr_item *item = d->items + utterance;
  gr_status s = compute(d, item, out, frames);
  if (!s) {
    keep(d, utterance, out, frames, kept);
    return GR_OK;
  }
  bool none = false;
  if (d->spec.skip_unreadable && !mark_unreadable(d, utterance, &none)) {
    gr_status_drop(s);
    return GR_OK;
  }
  if (none) return none_left(d, item, s);
  return gr_data_leave_out(d, item->manifest, item->from, item->from->audio_col, true, s);
}

size_t gr_data_cached(gr_data *d) {
  pthread_mutex_lock(&d->cache.lock);
  size_t bytes = d->cache.bytes;
  pthread_mutex_unlock(&d->cache.lock);
  return bytes;
}
