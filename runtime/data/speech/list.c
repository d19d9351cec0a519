// list.c - builds the list of utterances and their targets from manifests; see speech.h.
#include <math.h>
#include <string.h>
#include "base/port.h"
#include "base/work.h"
#include "runtime/data/files.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/shard.h"
#include "runtime/data/speech/speech.h"

// Durations in manifests are rounded, so a difference of one percent and two frames is accepted;
// frames that do not fit into the bucket are cut. A larger difference means a different recording.
gr_status gr_speech_check_length(const gr_utterance *u, const gr_feature_spec *f, int64_t expected,
                                 int64_t hops) {
  int64_t apart = hops > expected ? hops - expected : expected - hops;
  if (apart <= 2 + expected / 100) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' lasts %.2f seconds, the manifest says %.2f",
              u->audio, (double)(hops - 1) * f->hop / f->rate,
              u->seconds > 0 ? u->seconds : (double)(expected - 1) * f->hop / f->rate),
      "correct \"duration\", or leave it out");
}

// Refuses sizes that are too large before anything is allocated for them.
static gr_status check_size(const gr_utterance *u, double seconds, double frames) {
  const char *hint =
      "cut it into utterances, or leave out long recordings with data.speech.max_seconds";
  if (u->seconds > 0) hint = "correct \"duration\", or leave it out";
  if (seconds > GR_SPEECH_SECONDS)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "recording '%s' lasts %.0f seconds, and may last %d at most", u->audio,
                           seconds, GR_SPEECH_SECONDS),
                   "%s", hint);
  if (frames > GR_SPEECH_FRAMES)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has %.0f frames, and may have %d at most",
                u->audio, frames, GR_SPEECH_FRAMES),
        "%s; a larger data.speech.features.hop makes fewer", hint);
  return GR_OK;
}

// A recording's head, which is read once.
typedef struct head {
  bool read;
  gr_audio_info info;
  size_t bytes;     // of a recording in a Parquet file
  gr_status error;  // until it is reported with its sample
} head;

static gr_status read_head(head *h, const gr_utterance *u, gr_audio_info *out) {
  if (!h->read) h->error = gr_recording_probe(u, &h->info);
  gr_status s = h->error;
  h->read = true, h->error = GR_OK;
  *out = h->info;
  return s;
}

static bool is_too_long(const gr_speech *d, double hops) {
  return d->most_hops && hops > d->most_hops;
}

// The numbers of frames, from the duration in the manifest or else from the recording's header. A
// long duration would determine the size of every batch, so it is checked against the recording,
// unless the recording is skipped as too long.
static gr_status find_frames(gr_speech *d, const gr_utterance *u, head *h, gr_speech_item *item) {
  enum { DOUBTFUL = 60 };  // seconds
  const gr_feature_spec *f = &d->spec.features;
  gr_audio_info info;
  double samples = u->seconds * f->rate;
  item->hops = item->frames = GR_SPEECH_FRAMES + 1;
  if (u->seconds <= 0) {
    GR_TRY(read_head(h, u, &info));
    samples = (double)gr_audio_samples_at(&info, f->rate);
  }
  double hops = floor(round(samples) / f->hop) + 1;
  if (hops <= GR_SPEECH_FRAMES) item->hops = (int32_t)hops;
  if (is_too_long(d, hops)) return GR_OK;
  GR_TRY(check_size(u, samples / f->rate, hops));
  item->frames = (int32_t)gr_feature_frames(f, (uint64_t)round(samples));
  if (u->seconds <= DOUBTFUL) return GR_OK;
  GR_TRY(read_head(h, u, &info));
  return gr_speech_check_length(u, f, item->hops,
                                gr_feature_hops(f, gr_audio_samples_at(&info, f->rate)));
}

static gr_status unknown_symbol(const gr_speech *d, const gr_utterance *u, const char *text,
                                const char *bad) {
  int n = gr_utf8_len(bad);
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){u->file, u->line, u->col},
              "the symbol '%.*s' of \"%.200s\" is not %s", n ? n : 1, bad, text, d->tokens.lacks),
      "add it to data.speech.vocab, let data.speech.text.drops or .spaces remove it, or leave out "
      "such recordings: data.speech.text.unknown=skip");
}

static void count_one(gr_speech *d, gr_speech_skip why, const gr_utterance *u) {
  gr_omitted_add(d->arena, &d->skipped[why], 1, (gr_loc){u->file, u->line, u->col}, u->name);
}

// Counts the symbols of a transcript that have no token, each once.
static gr_status count_unknown(gr_speech *d, const char *text, const char *bad) {
  const gr_encode_options how = {.around = false};
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  while (!s && bad) {
    int n = gr_utf8_len(bad);
    const char *symbol = gr_arena_strndup(d->arena, bad, n ? (size_t)n : 1);
    uint32_t before = 0;
    if (strstr(text, symbol) == bad) {
      gr_map_find(&d->unknown, symbol, &before);
      gr_map_put(&d->unknown, symbol, before + 1);
    }
    gr_tokens ignored = {.arena = scratch};
    s = gr_tokenizer_encode(&d->tokens, bad + (n ? n : 1), &how, &ignored, &bad);
  }
  return gr_arena_end(scratch, s);
}

// Computes the text and the targets; *keep is false if the rules skip the utterance.
static gr_status make_targets(gr_speech *d, gr_speech_item *item, bool *keep) {
  const gr_utterance *u = item->utterance;
  const char *bad;
  gr_tokens ids = {.arena = d->arena};
  gr_unknown unknown = d->spec.text.unknown;
  item->text = gr_text_normalise(d->arena, &d->spec.text, u->text);
  gr_encode_options how = {.around = true};
  GR_TRY(gr_tokenizer_encode(&d->tokens, item->text, &how, &ids, &bad));
  bool lost = bad && unknown == GR_UNKNOWN_DROP;
  if (lost) {
    GR_TRY(count_unknown(d, item->text, bad));
    ids.n = 0, how.drop = true;
    GR_TRY(gr_tokenizer_encode(&d->tokens, item->text, &how, &ids, &bad));
  }
  item->targets = (gr_ids){ids.id, (int32_t)ids.n};
  *keep = !bad && item->targets.n;
  if (bad && unknown == GR_UNKNOWN_FAIL) return unknown_symbol(d, u, item->text, bad);
  if (!bad && !item->targets.n && unknown == GR_UNKNOWN_FAIL)
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){u->file, u->line, u->col},
                           "the transcript \"%.200s\" is empty%s", u->text,
                           *u->text ? " after the text rules" : ""),
                   "take the line out, or leave out utterances with unknown symbols");
  if (lost && item->targets.n) count_one(d, GR_SPEECH_LOST, u);
  if (bad) count_one(d, GR_SPEECH_UNKNOWN, u);
  if (bad) GR_TRY(count_unknown(d, item->text, bad));
  if (!bad && !item->targets.n) count_one(d, GR_SPEECH_EMPTY, u);
  return GR_OK;
}

int64_t gr_speech_alignment(const gr_speech_item *item) {
  int64_t need = item->targets.n;
  for (int32_t i = 1; i < item->targets.n; i++)
    need += item->targets.items[i] == item->targets.items[i - 1];
  return need;
}

static bool fits(const gr_speech *d, const gr_speech_item *item) {
  return d->spec.subsampling <= 0 ||
         gr_speech_alignment(item) <=
             (item->frames + d->spec.subsampling - 1) / d->spec.subsampling;
}

// Every batch has room for the longest transcript, so an implausibly long one is refused.
static gr_status check_text(const gr_speech_item *item) {
  if (item->targets.n <= item->frames) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the transcript has %d symbols, and recording '%s' no more than %d frame%s",
              item->targets.n, item->utterance->audio, item->frames, gr_text_s(item->frames)),
      "correct its transcript, or use a smaller data.speech.features.hop");
}

// Frames of a recording as long as data.speech.features.seconds.
static int64_t most_hops(const gr_feature_spec *f) {
  return gr_feature_hops(f, (uint64_t)f->length);
}

static gr_status add_item(gr_speech *d, const gr_utterance *u, head *h, uint32_t listed,
                          bool validation) {
  bool keep = true;
  GR_TRY(gr_work_step(0));
  gr_speech_item item = {.utterance = u,
                         .listed = listed,
                         .manifest = u->file,
                         .text = u->text,
                         .validation = validation};
  if (!d->spec.keys.label) GR_TRY(make_targets(d, &item, &keep));
  if (!keep) return GR_OK;
  int col = u->seconds > 0 ? u->seconds_col : u->audio_col;
  gr_status s = find_frames(d, u, h, &item);
  item.headed = h->read, item.bytes = h->bytes;
  if (s) return gr_unreadable_add(d->unreadable, (gr_loc){u->file, u->line, col}, s);
  bool dense = !fits(d, &item);
  s = dense || is_too_long(d, item.hops) ? GR_OK : check_text(&item);
  if (s) return gr_unreadable_add(d->unreadable, (gr_loc){u->file, u->line, u->col}, s);
  if (dense)
    count_one(d, GR_SPEECH_DENSE, u);
  else
    d->items[d->count++] = item;
  if (!dense && d->spec.features.length && item.hops > most_hops(&d->spec.features))
    count_one(d, GR_SPEECH_CUT, u);
  return GR_OK;
}

typedef struct heads {
  const gr_manifest *manifest;
  const gr_utterance *items;
  head *list;
} heads;

static gr_status read_one(void *self, uint32_t i) {
  heads *h = self;
  head *one = &h->list[i];
  if (h->items[i].seconds > 0) return GR_OK;
  one->error = gr_recording_probe(&h->items[i], &one->info);
  one->read = true;
  return GR_OK;
}

// The heads of the recordings of one page of a Parquet file.
static gr_status read_page(void *self, uint32_t i) {
  heads *h = self;
  gr_shard_page page;
  GR_TRY(gr_shard_page_open(h->manifest, i, &page));
  for (uint32_t k = 0; k < page.n && page.first + k < h->manifest->n; k++) {
    head *one = &h->list[page.first + k];
    one->error = gr_shard_page_probe(&page, &h->items[page.first + k], k, &one->info, &one->bytes);
    one->read = true;
  }
  gr_shard_page_close(&page);
  return GR_OK;
}

// The heads of recordings whose duration the manifest does not say.
static gr_status read_heads(heads *h, const gr_manifest *m) {
  bool any = false;
  if (m->n_shards)
    return gr_files_look(&(gr_files){.verb = "measuring",
                                     .noun = "pages of recordings",
                                     .n = gr_shards_pages(m),
                                     .look = read_page,
                                     .self = h});
  for (uint32_t i = 0; i < m->n; i++) any |= m->items[i].seconds <= 0;
  if (!any) return GR_OK;
  return gr_files_look(&(gr_files){.verb = "measuring",
                                   .noun = "recordings",
                                   .n = m->n,
                                   .threads = GR_FILES_WAIT,
                                   .look = read_one,
                                   .self = h});
}

static gr_status add_items(gr_speech *d, const gr_manifest *m, bool validation) {
  gr_arena *scratch = gr_arena_create();
  heads h = {m, m->items, GR_NEW(scratch, head, m->n + 1)};
  gr_status s = read_heads(&h, m);
  for (uint32_t i = 0; i < m->n; i++) {
    if (!s) s = add_item(d, &m->items[i], &h.list[i], m->first + i, validation);
    gr_status_drop(h.list[i].error);
  }
  return gr_arena_end(scratch, s);
}

gr_status gr_speech_list(gr_speech *d, const gr_source_request *r) {
  gr_manifest *m = d->manifests = GR_NEW(d->arena, gr_manifest, 2);
  GR_TRY(gr_speech_read_lists(d, r));
  d->items = GR_NEW(d->arena, gr_speech_item, (size_t)m[0].n + m[1].n);
  for (int i = 0; i < 2; i++) GR_TRY(add_items(d, m + i, i == 1));
  return GR_OK;
}

// ---- Recordings to predict ----------------------------------------------------------------------

static gr_status add_input(gr_speech *d, const gr_utterance *u, head *h) {
  gr_speech_item *item = &d->items[d->count];
  GR_TRY(gr_work_step(0));
  *item =
      (gr_speech_item){.utterance = u, .manifest = u->file, .text = u->text, .validation = true};
  bool there = u->file || gr_is_file(u->audio);
  gr_status s =
      there ? find_frames(d, u, h, item)
            : gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no recording '%s'", u->audio),
                      "correct the path");
  gr_loc loc = u->file ? (gr_loc){u->file, u->line, u->audio_col} : GR_NOWHERE;
  item->headed = h->read, item->bytes = h->bytes;
  d->count += !s;
  return gr_unreadable_add(d->unreadable, loc, s);
}

static gr_status add_inputs(gr_speech *d, const gr_manifest *m) {
  gr_arena *scratch = gr_arena_create();
  heads h = {m, m->items, GR_NEW(scratch, head, m->n + 1)};
  gr_status s = m->n_shards ? read_heads(&h, m) : GR_OK;
  for (uint32_t k = 0; k < m->n; k++) {
    if (!s) s = add_input(d, m->items + k, &h.list[k]);
    gr_status_drop(h.list[k].error);
  }
  return gr_arena_end(scratch, s);
}

static bool is_manifest(const char *path) {
  const gr_source_ending *e = gr_source_reads(&gr_source_speech, path);
  return e && !e->in_lists;
}

gr_status gr_speech_list_inputs(gr_speech *d, const gr_source_request *r) {
  const char *const *paths = r->inputs;
  int n = r->n_inputs;
  gr_manifest *m = d->manifests = GR_NEW(d->arena, gr_manifest, n), *ignored;
  size_t all = 0;
  d->spec.keys.inputs = true;
  for (int i = 0; i < n; i++) {
    gr_utterance *recording = GR_NEW(d->arena, gr_utterance, 1);
    *recording = (gr_utterance){.name = paths[i], .audio = paths[i], .text = ""};
    if (gr_speech_is_table(paths[i]))
      GR_TRY(gr_speech_list_table(d, r, paths[i]));
    else if (is_manifest(paths[i]))
      GR_TRY(gr_speech_read_manifest(d, paths[i], 0, &ignored));
    else
      m[d->n_manifests++] = (gr_manifest){.items = recording, .n = 1};
    all += m[i].n;
  }
  d->items = GR_NEW(d->arena, gr_speech_item, all);
  for (int i = 0; i < n; i++) GR_TRY(add_inputs(d, &m[i]));
  return GR_OK;
}
