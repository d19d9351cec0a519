// new_sounds.c - see new_sounds.h.
#include "cli/new_sounds.h"
#include <stdlib.h>
#include <string.h>
#include "cli/new_columns.h"
#include "cli/new_listed.h"
#include "cli/new_recordings.h"
#include "runtime/data/dataset.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/speech.h"

// ---- Lengths and rates --------------------------------------------------------------------------

enum { TICKS = 100, USUAL_RATE = 16000 };  // of a second, in which recordings are measured

static int by_size(const void *x, const void *y) {
  int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
  return (a > b) - (a < b);
}

// How much longer than a minute recordings are: a few, which are left out, or many, which are cut.
typedef enum lengths { ALL_SHORT, FEW_LONG, MANY_LONG } lengths;
enum { LONG = 60, CUT = 10 };  // seconds

static lengths look_at_lengths(gr_arena *a, const gr_speech *d) {
  int32_t *hops = GR_NEW(a, int32_t, d->count + 1);
  for (uint32_t i = 0; i < d->count; i++) hops[i] = d->items[i].hops;
  qsort(hops, d->count, sizeof *hops, by_size);
  if (!d->count || hops[d->count - 1] <= LONG * TICKS + 1) return ALL_SHORT;
  return hops[(uint64_t)d->count * 98 / 100] <= LONG * TICKS + 1 ? FEW_LONG : MANY_LONG;
}

// That of the first recording, up to the usual one: what is above it is resampled.
static int usual_rate(const gr_speech *d) {
  gr_audio_info info;
  const gr_utterance *u = d->count ? d->items[0].utterance : NULL;
  if (!u || u->shard) return USUAL_RATE;
  gr_status s = gr_audio_probe(u->audio, &info);
  int rate = s || info.rate > USUAL_RATE ? USUAL_RATE : info.rate;
  gr_status_drop(s);
  return rate;
}

// Above 8 kHz frames of 25 ms each 10 ms, as speech usually has them.
static void set_features(gr_new_own *o, lengths length, int rate) {
  gr_arena *a = o->arena;
  const char *frames = "mels: 32, n_fft: 256, window: 256, hop: 128";
  if (rate > 8000)
    frames =
        gr_arena_printf(a, "mels: 40, n_fft: 512, window: %d, hop: %d", rate / 40, rate / TICKS);
  if (length == MANY_LONG) frames = gr_arena_printf(a, "seconds: %d, %s", CUT, frames);
  gr_new_set(o, "sample_rate", gr_arena_printf(a, "%d", rate));
  gr_new_set(
      o, "features",
      gr_arena_printf(a, "{%s, normalize: false, level: log10, range: 8, offset: 4, scale: 0.25}",
                      frames));
  if (length == FEW_LONG)
    gr_new_add(o, "sample_rate",
               gr_arena_printf(a, "max_seconds: %d   # longer recordings are left out", LONG));
  if (length == MANY_LONG)
    gr_text_printf(&o->said, "recordings are cut or padded to %d seconds\n", CUT);
}

// Reads the heads of all recordings.
static gr_status begin(gr_new_own *o, const char *path, const gr_manifest_keys *keys) {
  const gr_speech_spec spec = {
      .train = path,
      .keys = *keys,
      .features = {USUAL_RATE, 400, USUAL_RATE / TICKS, 512, 40, 0, 0, true}};
  gr_dataset *d;
  GR_TRY(gr_dataset_create(&gr_source_speech, &spec, &(gr_dataset_options){.n_buckets = 1}, &d));
  lengths length = look_at_lengths(o->arena, gr_dataset_source(d));
  int rate = usual_rate(gr_dataset_source(d));
  gr_new_begin(o, "audio", "manifest", path);
  gr_new_name(o, "label", keys->label);
  set_features(o, length, rate);
  gr_dataset_close(d);
  return GR_OK;
}

static gr_status begin_folder(gr_new_own *o, const char *path) {
  return begin(o, path, &(gr_manifest_keys){.label = "label"});
}

const gr_new_files gr_new_sound_files = {&gr_source_speech, "recordings", GR_SPEECH_NOISE,
                                         begin_folder};

gr_status gr_new_sound_manifest(gr_new_own *o, const char *path, const char *label) {
  return begin(o, path, &(gr_manifest_keys){.label = label});
}

// ---- Lists --------------------------------------------------------------------------------------

// The column of classes; -1: there is none, or what is said is to be predicted.
static int find_label(const gr_new_own *o, const gr_csv *t, int name) {
  int label = o->label ? gr_csv_find(t, o->label) : gr_new_find_usual(t, true);
  for (int c = 0; c < t->n_columns && !o->label; c++)
    if (gr_new_is_said(t->columns[c].name)) return -1;
  return label == name ? -1 : label;
}

gr_status gr_new_sound_list(gr_new_own *o, const gr_new_index *x, gr_new_sheets sheets, gr_csv *t,
                            bool *found) {
  int name = gr_new_find_listed(x, t), label = name < 0 ? -1 : find_label(o, t, name);
  uint32_t rows;
  *found = label >= 0;
  if (!*found) return GR_OK;
  const char *called = t->columns[label].name;
  GR_TRY(gr_new_relist(o, x, "files.csv", sheets.validation, t, &name));
  if (!t->typed && !gr_new_is_list(t, name))
    return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                           "the column '%s' names recordings, and this is no list of them",
                           t->columns[name].name),
                   "a list of recordings with classes has the columns path and label, with commas "
                   "between them, or tabs in a .tsv");
  uint32_t classes = gr_csv_distinct(t, gr_csv_find(t, called), &rows);
  gr_text_printf(&o->said, "a list of %u recordings; to predict: '%s', %u classes\n", t->rows,
                 called, classes);
  GR_TRY(begin(o, t->path, &(gr_manifest_keys){.label = called}));
  gr_new_set_classes(o, classes);
  return gr_new_relist_validation(o, x, sheets.validation, "manifest");
}
