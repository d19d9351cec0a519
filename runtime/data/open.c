// open.c - manifests to items with targets, in train and validation parts; see data.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/log.h"
#include "runtime/data/data.h"
#include "runtime/data/parts.h"
#include "runtime/data/speech/audio.h"

static gr_status check_buckets(const gr_data_spec *s) {
  GR_TRY(gr_hint(gr_range("buckets", s->n_buckets, 1, GR_DATA_BUCKETS),
                 "every bucket has a plan of its own"));
  for (int i = 0; s->bounds && i < s->n_buckets; i++) {
    GR_TRY(gr_range("buckets", s->bounds[i], 1, GR_DATA_FRAMES));
    if (i && s->bounds[i] <= s->bounds[i - 1])
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "bounds of buckets must rise, but %d is followed by %d",
                                      s->bounds[i - 1], s->bounds[i]),
                              "buckets"),
                     "sort them, each once");
  }
  return gr_range("frame_multiple", s->frame_multiple, 0, GR_DATA_MULTIPLE);
}

static gr_status check_augment(const gr_augment *a) {
  GR_TRY(gr_range("augment.freq_masks", a->freq_masks, 0, GR_AUGMENT_MASKS));
  GR_TRY(gr_range("augment.time_masks", a->time_masks, 0, GR_AUGMENT_MASKS));
  GR_TRY(gr_range("augment.freq_width", a->freq_width, 0, GR_MAX_MELS));
  GR_TRY(gr_range("augment.time_width", a->time_width, 0, GR_DATA_FRAMES));
  GR_TRY(gr_range("augment.time_warp", a->time_warp, 0, GR_DATA_FRAMES));
  if (a->time_share >= 0 && a->time_share <= 1) return GR_OK;
  return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                          "augment.time_share must be from 0 to 1, but is %g", a->time_share),
                  "augment.time_share");
}

static gr_status check(const gr_data_spec *s) {
  if (!s->train)
    return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "no manifest to train on is given"),
                    "manifest");
  if (!(s->validation_fraction >= 0 && s->validation_fraction < 1))
    return gr_about(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                "validation_fraction must be from 0 to below 1, but is %g", s->validation_fraction),
        "validation_fraction");
  GR_TRY(gr_range("max_seconds", s->max_frames, 0, GR_DATA_FRAMES));
  GR_TRY(gr_range("subsampling", s->subsampling, 0, GR_DATA_FRAMES));
  GR_TRY(check_buckets(s));
  return check_augment(&s->augment);
}

// The same on any machine and in any order: a hash of the name, against the share.
static gr_data_part part_of(const gr_data *d, const char *name) {
  double place = (double)(gr_hash_text(name) >> 11) * 0x1p-53;
  bool split = !d->spec.validation && place < d->spec.validation_fraction;
  return split ? GR_PART_VALIDATION : GR_PART_TRAIN;
}

// Refused before anything is allocated for them.
static gr_status check_size(const gr_utterance *u, double seconds, double frames) {
  const char *cure = "cut it into utterances, or leave out long recordings with data.max_seconds";
  if (u->seconds > 0) cure = "correct \"duration\", or leave it out";
  if (seconds > GR_DATA_SECONDS)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "recording '%s' lasts %.0f seconds, and may last %d at most", u->audio,
                           seconds, GR_DATA_SECONDS),
                   "%s", cure);
  if (frames > GR_DATA_FRAMES)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has %.0f frames, and may have %d at most",
                u->audio, frames, GR_DATA_FRAMES),
        "%s; a larger data.features.hop makes fewer", cure);
  return GR_OK;
}

// Frames by the duration that is said, or by the recording's head. A duration that is so long that
// every batch would be sized by it has to be true. What is left out as too long can be anything.
static gr_status find_frames(gr_data *d, const gr_utterance *u, int32_t *frames) {
  enum { DOUBTFUL = 60 };  // seconds
  const gr_feature_spec *f = &d->spec.features;
  gr_audio_info info;
  double samples = u->seconds * f->rate;
  *frames = GR_DATA_FRAMES + 1;
  if (u->seconds <= 0) {
    GR_TRY(gr_audio_probe(u->audio, &info));
    samples = (double)gr_audio_samples_at(&info, f->rate);
  }
  double n = floor(round(samples) / f->hop) + 1;
  if (n <= GR_DATA_FRAMES) *frames = (int32_t)n;
  if (d->most_frames && n > d->most_frames) return GR_OK;
  GR_TRY(check_size(u, samples / f->rate, n));
  if (u->seconds <= DOUBTFUL) return GR_OK;
  GR_TRY(gr_audio_probe(u->audio, &info));
  return gr_data_check_length(u, f, *frames,
                              gr_feature_frames(f, gr_audio_samples_at(&info, f->rate)));
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
  int64_t need = item->n_targets;
  for (int32_t i = 1; i < item->n_targets; i++) need += item->targets[i] == item->targets[i - 1];
  return need <= (item->frames + d->spec.subsampling - 1) / d->spec.subsampling;
}

// Every batch has room for the longest transcript, so one that cannot be true is refused.
static gr_status check_text(const gr_item *item) {
  if (item->n_targets <= item->frames) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "the transcript has %d symbols, and recording '%s' no more than %d frames",
                         item->n_targets, item->from->audio, item->frames),
                 "it is not what is said there, or data.features.hop is too large");
}

static gr_status add_item(gr_data *d, const gr_manifest *m, const gr_utterance *u,
                          bool validation) {
  bool keep;
  gr_item item = {.from = u, .manifest = m->path};
  item.part = validation ? GR_PART_VALIDATION : part_of(d, u->name);
  GR_TRY(make_targets(d, m, &item, &keep));
  if (!keep) return GR_OK;
  bool log = gr_log_rank() == 0;  // all ranks read the same manifests
  int col = u->seconds > 0 ? u->seconds_col : u->audio_col;
  gr_status s = find_frames(d, u, &item.frames);
  if (s) return gr_data_leave_out(d, m->path, u, col, log, s);
  bool dense = !fits(d, &item);
  s = dense || (d->most_frames && item.frames > d->most_frames) ? GR_OK : check_text(&item);
  if (s) return gr_data_leave_out(d, m->path, u, u->col, log, s);
  if (dense)
    d->skipped[GR_SKIP_DENSE]++;
  else
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
  d->most_frames = d->spec.max_frames;
  if (d->spec.bounds && (!d->most_frames || d->spec.bounds[d->spec.n_buckets - 1] < d->most_frames))
    d->most_frames = d->spec.bounds[d->spec.n_buckets - 1];
  for (int i = 0; i < 2; i++)
    for (uint32_t k = 0; k < m[i].n; k++) GR_TRY(add_item(d, m + i, m[i].items + k, i == 1));
  return gr_data_make_buckets(d);
}

static gr_status set_up(gr_data *d) {
  GR_TRY(check(&d->spec));
  GR_TRY(gr_features_make(d->arena, &d->spec.features, &d->features));
  return fill(d);
}

static void free_data(gr_data *d) {
  gr_unreadable_free(d);
  pthread_mutex_destroy(&d->lock);
  gr_arena_destroy(d->arena);
}

gr_status gr_data_open(const gr_data_spec *spec, gr_data **out) {
  gr_arena *a = gr_arena_create();
  gr_data *d = GR_NEW(a, gr_data, 1);
  *out = NULL;
  d->arena = a, d->spec = *spec;
  pthread_mutex_init(&d->lock, NULL);
  gr_status s = set_up(d);
  if (s) {
    free_data(d);
    return s;
  }
  gr_cache_open(d);
  *out = d;
  return GR_OK;
}

void gr_data_close(gr_data *d) {
  if (!d) return;
  gr_cache_close(d);
  free_data(d);
}

const gr_data_bucket *gr_data_buckets(const gr_data *d, int *n) {
  *n = d->n_buckets;
  return d->buckets;
}

uint32_t gr_data_count(const gr_data *d) { return d->count; }
const gr_item *gr_data_item(const gr_data *d, uint32_t utterance) { return d->items + utterance; }
