// source.c - the functions of the source `speech`; see speech.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/port.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/shard.h"
#include "runtime/data/speech/speech.h"

// ---- Opening ------------------------------------------------------------------------------------

static gr_status check_augment(const gr_augment *a) {
  GR_TRY(gr_range("augment.freq_masks", a->freq_masks, 0, GR_AUGMENT_MASKS));
  GR_TRY(gr_range("augment.time_masks", a->time_masks, 0, GR_AUGMENT_MASKS));
  GR_TRY(gr_range("augment.freq_width", a->freq_width, 0, GR_MAX_MELS));
  GR_TRY(gr_range("augment.time_width", a->time_width, 0, GR_SPEECH_FRAMES));
  GR_TRY(gr_range("augment.time_warp", a->time_warp, 0, GR_SPEECH_FRAMES));
  if (a->time_share >= 0 && a->time_share <= 1) return GR_OK;
  return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                          "augment.time_share must be from 0 to 1, but is %g", a->time_share),
                  "augment.time_share");
}

static gr_status check_spec(const gr_speech_spec *s) {
  GR_TRY(gr_range("max_seconds", s->max_frames, 0, GR_SPEECH_FRAMES));
  GR_TRY(gr_range("subsampling", s->subsampling, 0, GR_SPEECH_FRAMES));
  int64_t frames = gr_feature_frames(&s->features, 0);
  if (frames > GR_SPEECH_FRAMES)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "recordings of data.speech.features.seconds have %lld frames, "
                                    "and may have %d at most",
                                    (long long)frames, GR_SPEECH_FRAMES),
                            "features.seconds features.hop"),
                   "a smaller features.seconds, or a larger features.hop");
  return check_augment(&s->augment);
}

// The longest recordings and samples that are taken. Samples of recordings that are all cut or
// padded to one length are as long as each other: only the limit of recordings leaves out some.
static void set_limits(gr_speech *d, gr_source_request *r) {
  int32_t most = d->spec.max_frames;
  if (!d->spec.features.length && r->max_length && (!most || r->max_length < most))
    most = r->max_length;
  d->most_hops = most;
  if (!d->spec.features.length)
    r->max_length = most;
  else if (most && !r->max_length)
    r->max_length = (int32_t)gr_feature_frames(&d->spec.features, 0);
}

static gr_status speech_open(gr_source_request *r, void **out) {
  gr_speech *d = *out = GR_NEW(r->arena, gr_speech, 1);
  d->unknown = gr_map_make(r->arena);
  d->arena = r->arena, d->unreadable = r->unreadable, d->skipped = r->skipped;
  d->limited = r->limited;
  d->list = gr_listing_make(r, "recordings");
  d->list.other = GR_SPEECH_OTHER, d->list.except = GR_SPEECH_NOISE;
  if (r->conf)
    GR_TRY(gr_speech_read_spec(r->arena, r->conf, r->tokenizer, &d->spec));
  else
    d->spec = *(const gr_speech_spec *)r->spec;
  if (!d->spec.keys.label)
    d->tokens = r->tokenizer ? *r->tokenizer : gr_tokenizer_of_vocab(d->spec.vocab);
  GR_TRY(gr_source_need_path(r, d->spec.train));
  GR_TRY(check_spec(&d->spec));
  if (r->predicts) d->spec.max_frames = 0;
  GR_TRY(gr_features_make(r->arena, &d->spec.features, &d->features));
  set_limits(d, r);
  d->cache_bytes = r->cache_bytes;
  d->kept = gr_kept_open(r->cache_bytes);
  if (!d->kept) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read recordings");
  if (r->predicts && d->spec.keys.label)
    GR_TRY(gr_classes_recall(&d->list.classes, r->arena, r->record));
  if (r->predicts) return gr_speech_list_inputs(d, r);
  if (!gr_packed_named(d->spec.train) && !gr_is_dir(d->spec.train))
    r->place = (gr_loc){d->spec.train, 1, 1};
  return gr_speech_list(d, r);
}

static void speech_close(void *self) {
  gr_speech *d = self;
  gr_kept_close(d->kept);
  for (int i = 0; i < d->n_manifests; i++) gr_shards_close(&d->manifests[i]);
}

static void speech_notes(const void *self, gr_text *out) {
  const gr_speech *d = self;
  for (int i = 0; i < d->n_manifests; i++) gr_shards_notes(&d->manifests[i], d->cache_bytes, out);
  gr_speech_unknown(d, out);
}

static void speech_keep(const void *self, size_t bytes) {
  gr_kept_limit(((const gr_speech *)self)->kept, bytes);
}

static size_t speech_keepable(const void *self) {
  const gr_speech *d = self;
  size_t all = 0;
  for (int i = 0; i < d->n_manifests; i++)
    all += gr_packed_bytes(d->manifests[i].shards, d->manifests[i].n_shards);
  return all;
}

// ---- Metadata ------------------------------------------------------------------------------

enum { X, LENGTHS, TRANSCRIPT };  // TRANSCRIPT: the first field of target_text.h

static int speech_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_speech *d = self;
  out[X] = (gr_field_spec){"x", GR_F32, 2, {GR_DIM_LENGTH, d->spec.features.mels}};
  out[LENGTHS] = (gr_field_spec){.name = "lengths", .dtype = GR_I32};
  if (d->spec.keys.label) return TRANSCRIPT;
  return TRANSCRIPT + gr_target_text_fields(&d->spec.around, out + TRANSCRIPT);
}

static int speech_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_speech *d = self;
  bool classes = d->spec.keys.label;
  out[0] =
      classes ? (gr_metadata){"classes", d->list.classes.n} : (gr_metadata){"vocab", d->tokens.n};
  out[1] = (gr_metadata){"mels", d->spec.features.mels};
  if (classes) return 2;
  out[2] = (gr_metadata){"blank", d->tokens.blank};
  out[3] = (gr_metadata){"space", d->tokens.space};
  return 4 + gr_target_text_metadata(&d->spec.around, out + 4);
}

static const gr_speech_item *item_of(const void *self, uint32_t sample) {
  const gr_speech *d = self;
  assert(sample < d->count);
  return d->items + sample;
}

static gr_classes *speech_classes(void *self) {
  gr_speech *d = self;
  return d->spec.keys.label ? &d->list.classes : NULL;
}

static uint32_t speech_count(const void *self) { return ((const gr_speech *)self)->count; }

static gr_sample_info speech_info(const void *self, uint32_t sample) {
  const gr_speech *d = self;
  const gr_speech_item *item = item_of(self, sample);
  int col = item->utterance->audio_col > 0 ? item->utterance->audio_col : 1;
  if (d->list.count) {
    gr_sample_info info = d->list.file[item->listed].info;
    info.length = item->frames;
    return info;
  }
  return (gr_sample_info){.key = gr_hash_text(item->utterance->name),
                          .split = item->validation     ? GR_SPLIT_VALIDATION
                                   : d->spec.validation ? GR_SPLIT_TRAIN
                                                        : GR_SPLIT_BY_KEY,
                          .length = item->frames,
                          .loc = {item->manifest, item->utterance->line, col}};
}

static int64_t speech_alignment(const void *self, uint32_t sample) {
  return gr_speech_alignment(item_of(self, sample));
}

static int32_t speech_extent(const void *self, uint32_t sample, int field) {
  return gr_target_text_extent(&((const gr_speech *)self)->spec.around,
                               item_of(self, sample)->targets.n,
                               (gr_target_text_field)(field - TRANSCRIPT));
}

// ---- A sample -----------------------------------------------------------------------------------

static gr_status compute(const gr_speech *d, const gr_speech_item *item, const float *samples,
                         uint64_t n, int32_t most, gr_loaded *out) {
  const gr_feature_spec *f = &d->spec.features;
  int64_t t = gr_feature_frames(f, n);
  float *x = malloc((size_t)t * (size_t)f->mels * sizeof *x);
  if (!x)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the features of '%s'",
                   item->utterance->audio);
  gr_status s = gr_features_compute(&d->features, samples, n, x);
  if (s) {
    free(x);
    return s;
  }
  int32_t used = (int32_t)(t < most ? t : most);
  *out = (gr_loaded){x, (size_t)used * (size_t)f->mels * sizeof *x, used};
  return GR_OK;
}

// The head of a recording, which must be of about the length that is listed.
static gr_status check_head(const gr_speech *d, const gr_speech_item *item, gr_audio_info *out) {
  const gr_feature_spec *f = &d->spec.features;
  GR_TRY(gr_recording_probe(item->utterance, out));
  return gr_speech_check_length(item->utterance, f, item->hops,
                                gr_feature_hops(f, gr_audio_samples_at(out, f->rate)));
}

static gr_status speech_probe(const void *self, uint32_t sample) {
  const gr_speech_item *item = item_of(self, sample);
  gr_audio_info ignored;
  return item->headed ? GR_OK : check_head(self, item, &ignored);
}

// The head is read first, so that a recording that is much too long is not read.
static gr_status speech_load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  const gr_speech *d = self;
  const gr_speech_item *item = item_of(self, sample);
  const gr_feature_spec *f = &d->spec.features;
  gr_audio_info audio;
  float *samples;
  uint64_t n;
  if (item->utterance->shard) {
    GR_TRY(gr_shard_load(item->utterance, f->rate, &samples, &n));
  } else {
    GR_TRY(check_head(d, item, &audio));
    GR_TRY(gr_recording_read(item->utterance, f->rate, audio.samples, &samples, &n));
  }
  gr_status s = compute(d, item, samples, n, most, out);
  free(samples);
  return s;
}

static void speech_fill(const void *self, uint32_t sample, const gr_loaded *x, const gr_draw *draw,
                        gr_row *row) {
  const gr_speech *d = self;
  const gr_speech_item *item = item_of(self, sample);
  memcpy(row->field[X], x->data, x->bytes);
  if (draw->augment)
    gr_augment_apply(&d->spec.augment, draw->seed, (uint32_t)draw->epoch, draw->number,
                     row->field[X], x->length, d->spec.features.mels);
  *(int32_t *)row->field[LENGTHS] = x->length;
  if (d->spec.keys.label) return;
  gr_target_text_fill(&d->spec.around, &item->targets, row->field + TRANSCRIPT);
}

// ---- Summaries and identity -----------------------------------------------------------------

static void speech_name_of(const void *self, uint32_t sample, gr_text *out) {
  gr_text_put(out, item_of(self, sample)->utterance->name);
}
static void speech_reference(const void *self, uint32_t sample, gr_text *out) {
  gr_text_put(out, item_of(self, sample)->text);
}
static void speech_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_speech *d = self;
  if (d->spec.keys.label)
    gr_classes_decode(&d->list.classes, ids, n, out);
  else
    gr_tokenizer_decode(&d->tokens, ids, n, out);
}

// Of recordings in Parquet files and archives names do not say which they are.
static const char *speech_file(const void *self, uint32_t sample) {
  const gr_utterance *u = item_of(self, sample)->utterance;
  return u->shard || u->member.archive ? NULL : u->audio;
}

// The size of the recording in bytes; -1: the file is missing. No audio is read.
static int64_t size_of(const gr_speech_item *item) {
  struct stat s;
  if (item->utterance->shard) return (int64_t)item->bytes;
  if (item->utterance->member.archive) return (int64_t)item->utterance->member.bytes;
  return stat(item->utterance->audio, &s) ? -1 : (int64_t)s.st_size;
}

static uint64_t speech_fingerprint(const void *self, uint32_t sample, bool with_file) {
  const gr_speech_item *item = item_of(self, sample);
  int64_t size = with_file ? size_of(item) : 0;
  uint64_t h = gr_hash_bytes(gr_hash_text(item->utterance->name), &size, sizeof size);
  return gr_hash_bytes(h, item->text, strlen(item->text) + 1);
}

static void speech_describe(const void *self, uint32_t sample, gr_text *out) {
  const gr_speech_item *item = item_of(self, sample);
  int64_t size = size_of(item);
  gr_text_json(out, item->utterance->audio);
  if (size < 0)
    gr_text_put(out, ", which is not there");
  else
    gr_text_printf(out, " of %lld bytes", (long long)size);
  gr_text_printf(out, ", %d frames, ", item->frames);
  gr_text_json(out, item->text);
}

static const char *speech_advice(const void *self, const char *field) {
  bool classes = ((const gr_speech *)self)->spec.keys.label;
  bool of_class = !strcmp(field, "y") || !strcmp(field, "class_weight");
  if (of_class && !classes)
    return "data.speech.label names the key or the column of classes, which make a y";
  if (classes && !strncmp(field, "target", strlen("target")))
    return "without data.speech.label recordings have transcripts, which make targets";
  return NULL;
}

static void speech_preprocessing(const void *self, gr_text *out) {
  const gr_speech *s = self;
  gr_text_printf(out,
                 "features of recordings, [frames, %d], as data.speech.features of its metadata "
                 "graphrun.config says",
                 s->spec.features.mels);
}

const gr_source_ops gr_source_speech = {
    .name = "speech",
    .sample = "utterance",
    .unit = "frame",
    .tokens = true,
    .inputs =
        "recordings (.wav, .flac, .mp3, .ogg, .opus), and lists of them (.jsonl, .csv, .parquet, "
        ".tar)",
    .path_key = "manifest",
    .project = "speech",
    .path_hint =
        "a file of JSON lines, or Parquet or .tar files; `graphrun data import asterisk "
        "data/speech.jsonl` "
        "makes one from Debian's recordings; of classes (data.speech.label) also a folder with a "
        "folder for each class, or a CSV file with the columns path and label",
    .endings = {{".jsonl", "a manifest of recordings", .text = true},
                {".parquet"},
                {".tar"},
                {".csv", .text = true},
                {".tsv", .text = true},
                {".wav", "a recording", .in_lists = true},
                {".flac", "a recording", .in_lists = true},
                {".mp3", "a recording", .in_lists = true},
                {".ogg", "a recording", .in_lists = true},
                {".opus", "a recording", .in_lists = true}},
    .skips = {[GR_SPEECH_DENSE] = {.why = "with more text than their frames hold",
                                   .hint = "a smaller data.speech.subsampling or "
                                           "data.speech.features.hop"},
              [GR_SPEECH_UNKNOWN] = {.why = "with a symbol that is not in the vocabulary",
                                     .hint = "give data.speech.vocab the characters that "
                                             "data.speech.text leaves of the transcripts"},
              [GR_SPEECH_EMPTY] = {.why = "with an empty transcript",
                                   .hint = "data.speech.text leaves nothing of the transcripts: "
                                           "see data.speech.text.drops"},
              [GR_SPEECH_LOST] = {.why = "lose symbols that are not in the vocabulary "
                                         "(data.speech.text.unknown=drop)",
                                  .of = GR_OMITTED_CHANGED},
              [GR_SPEECH_CUT] = {.why = "are cut to data.speech.features.seconds",
                                 .of = GR_OMITTED_CHANGED},
              [GR_SPEECH_OTHER] = {.why = "files that are no recordings by their names, and "
                                          "folders of background noise",
                                   .hint = "recordings are .wav, .flac, .mp3, .ogg and .opus",
                                   .of = GR_OMITTED_OTHER}},
    .open = speech_open,
    .close = speech_close,
    .fields = speech_fields,
    .count = speech_count,
    .info = speech_info,
    .classes = speech_classes,
    .alignment = speech_alignment,
    .extent = speech_extent,
    .load = speech_load,
    .file = speech_file,
    .probe = speech_probe,
    .keep = speech_keep,
    .keepable = speech_keepable,
    .notes = speech_notes,
    .preprocessing = speech_preprocessing,
    .fill = speech_fill,
    .metadata = speech_metadata,
    .name_of = speech_name_of,
    .advice = speech_advice,
    .reference = speech_reference,
    .decode = speech_decode,
    .summary = gr_speech_summary,
    .inspect = gr_speech_inspect,
    .fingerprint = speech_fingerprint,
    .describe = speech_describe};
