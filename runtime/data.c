// data.c - manifests to items with targets, in train and validation parts; see data.h.
#include "runtime/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "runtime/audio.h"
#include "runtime/data_parts.h"

enum { MOST_FRAMES = 1 << 24 };

static gr_status check(const gr_data_spec *s) {
  if (!s->train) return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "no manifest to train on is given");
  if (!(s->validation_fraction >= 0 && s->validation_fraction < 1))
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "a validation part of %g of the data is not in [0, 1)", s->validation_fraction);
  if (s->n_buckets < 1 || s->n_buckets > 64)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there can be 1 to 64 buckets, not %d", s->n_buckets);
  for (int i = 0; s->bounds && i < s->n_buckets; i++)
    if (s->bounds[i] < 1 || (i && s->bounds[i] <= s->bounds[i - 1]))
      return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                     "bounds of buckets must rise and be at least 1: bound %d is %d", i + 1,
                     s->bounds[i]);
  const gr_augment *a = &s->augment;
  if (a->freq_masks < 0 || a->freq_masks > GR_AUGMENT_MASKS || a->time_masks < 0 ||
      a->time_masks > GR_AUGMENT_MASKS || a->freq_width < 0 || a->time_width < 0 ||
      a->time_warp < 0 || !(a->time_share >= 0 && a->time_share <= 1))
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "SpecAugment takes 0 to %d masks of each kind, widths of at least 0 and a share "
                   "of 0 to 1",
                   GR_AUGMENT_MASKS);
  return GR_OK;
}

// The same on any machine and in any order: a hash of the name, against the share.
static gr_data_part part_of(const gr_data *d, const char *name) {
  double place = (double)(gr_hash_text(name) >> 11) * 0x1p-53;
  bool split = !d->spec.validation && place < d->spec.validation_fraction;
  return split ? GR_PART_VALIDATION : GR_PART_TRAIN;
}

// Frames by the duration that is said, or by the recording's head; 0: left out.
static gr_status find_frames(gr_data *d, const gr_manifest *m, const gr_utterance *u,
                             int32_t *frames) {
  const gr_feature_spec *f = &d->spec.features;
  double samples = u->seconds * f->rate;
  *frames = 0;
  if (u->seconds <= 0) {
    gr_audio_info info;
    gr_status s = gr_audio_probe(u->audio, &info);
    if (s && d->spec.skip_unreadable) {
      gr_status_drop(s);
      d->skipped[GR_SKIP_UNREADABLE]++;
      return GR_OK;
    }
    GR_TRY(gr_note(s, (gr_loc){m->path, u->line, 1}, "listed here"));
    samples = (double)gr_audio_samples_at(&info, f->rate);
  }
  double n = floor(round(samples) / f->hop) + 1;
  *frames = n < MOST_FRAMES ? (int32_t)n : MOST_FRAMES;
  return GR_OK;
}

static gr_status unknown_symbol(const gr_manifest *m, const gr_utterance *u, const char *text,
                                const char *bad) {
  int n = gr_utf8_len(bad);
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){m->path, u->line, u->col},
              "the symbol '%.*s' of \"%.200s\" is not in the vocabulary", n ? n : 1, bad, text),
      "add it to the vocabulary, let the text rules drop it, or leave out utterances "
      "with unknown symbols");
}

// Text and targets; *keep is false where the rules leave the utterance out.
static gr_status make_targets(gr_data *d, const gr_manifest *m, gr_item *item, bool *keep) {
  const gr_utterance *u = item->from;
  const char *bad;
  int32_t *ids;
  gr_unknown unknown = d->spec.text.unknown;
  item->text = gr_text_normalise(d->arena, &d->spec.text, u->text);
  gr_vocab_encode(d->arena, d->spec.vocab, item->text, unknown == GR_UNKNOWN_DROP, &ids,
                  &item->n_targets, &bad);
  item->targets = ids;
  *keep = !bad && item->n_targets;
  if (bad && unknown == GR_UNKNOWN_FAIL) return unknown_symbol(m, u, item->text, bad);
  if (!bad && !item->n_targets && unknown == GR_UNKNOWN_FAIL)
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){m->path, u->line, u->col},
                           "the transcript \"%.200s\" is empty%s", u->text,
                           *u->text ? " after the text rules" : ""),
                   "take the line out, or leave out utterances with unknown symbols");
  if (bad) d->skipped[GR_SKIP_UNKNOWN]++;
  if (!bad && !item->n_targets) d->skipped[GR_SKIP_EMPTY]++;
  return GR_OK;
}

// CTC puts a blank between equal neighbours.
static bool fits(const gr_data *d, const gr_item *item) {
  if (d->spec.subsampling <= 0) return true;
  int32_t need = item->n_targets;
  for (int32_t i = 1; i < item->n_targets; i++) need += item->targets[i] == item->targets[i - 1];
  return need <= (item->frames + d->spec.subsampling - 1) / d->spec.subsampling;
}

static gr_status add_item(gr_data *d, const gr_manifest *m, const gr_utterance *u,
                          bool validation) {
  bool keep;
  gr_item item = {.from = u, .manifest = m->path};
  item.part = validation ? GR_PART_VALIDATION : part_of(d, u->name);
  GR_TRY(make_targets(d, m, &item, &keep));
  if (!keep) return GR_OK;
  GR_TRY(find_frames(d, m, u, &item.frames));
  if (!item.frames) return GR_OK;
  if (!fits(d, &item)) {
    d->skipped[GR_SKIP_DENSE]++;
    return GR_OK;
  }
  d->items[d->count++] = item;
  return GR_OK;
}

static gr_status fill(gr_data *d) {
  const char *paths[2] = {d->spec.train, d->spec.validation};
  gr_manifest *m = GR_NEW(d->arena, gr_manifest, 2);
  for (int i = 0; i < 2; i++) {
    if (paths[i]) GR_TRY(gr_manifest_read(d->arena, paths[i], d->spec.root, m + i));
    if (d->spec.limit && m[i].n > d->spec.limit) m[i].n = d->spec.limit;
    d->listed += m[i].n;
  }
  d->items = GR_NEW(d->arena, gr_item, d->listed);
  for (int i = 0; i < 2; i++)
    for (uint32_t k = 0; k < m[i].n; k++) GR_TRY(add_item(d, m + i, m[i].items + k, i == 1));
  return gr_data_make_buckets(d);
}

static gr_status set_up(gr_data *d) {
  GR_TRY(check(&d->spec));
  GR_TRY(gr_features_make(d->arena, &d->spec.features, &d->features));
  return fill(d);
}

gr_status gr_data_open(const gr_data_spec *spec, gr_data **out) {
  gr_arena *a = gr_arena_create();
  gr_data *d = GR_NEW(a, gr_data, 1);
  *out = NULL;
  d->arena = a, d->spec = *spec;
  gr_status s = set_up(d);
  if (s) {
    gr_arena_destroy(a);
    return s;
  }
  gr_cache_open(d);
  *out = d;
  return GR_OK;
}

void gr_data_close(gr_data *d) {
  if (!d) return;
  gr_cache_close(d);
  gr_arena_destroy(d->arena);
}

const gr_data_bucket *gr_data_buckets(const gr_data *d, int *n) {
  *n = d->n_buckets;
  return d->buckets;
}

uint32_t gr_data_count(const gr_data *d) { return d->count; }
const gr_item *gr_data_item(const gr_data *d, uint32_t utterance) { return d->items + utterance; }

uint64_t gr_data_skipped(gr_data *d, gr_skip why) {
  pthread_mutex_lock(&d->cache.lock);
  uint64_t n = d->skipped[why] + (why == GR_SKIP_UNREADABLE ? d->cache.unreadable : 0);
  pthread_mutex_unlock(&d->cache.lock);
  return n;
}
