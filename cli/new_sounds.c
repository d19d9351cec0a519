// new_sounds.c - see new_sounds.h.
#include "cli/new_sounds.h"
#include <stdlib.h>
#include <string.h>
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
  if (keys->root)
    gr_new_add(o, "manifest",
               gr_arena_printf(o->arena, "root: %s   # of the list's paths",
                               gr_new_quoted(o, keys->root)));
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

// The folder that paths are relative to, by the first of them; NULL: that of the list.
static const char *find_root(gr_arena *a, const char *list, const char *name) {
  static const char *const folders[] = {"audio", "wavs", "clips", "../audio"};
  const char *slash = strrchr(list, '/');
  const char *dir = slash ? gr_arena_strndup(a, list, (size_t)(slash - list)) : ".";
  if (*name == '/' || gr_is_file(gr_arena_printf(a, "%s/%s", dir, name))) return NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const char *root = gr_arena_printf(a, "%s/%s", dir, folders[i]);
    if (gr_is_file(gr_arena_printf(a, "%s/%s", root, name))) return root;
  }
  return NULL;
}

static gr_status check_list(const gr_csv *t, int name) {
  const char *called = t->columns[name].name;
  bool path = gr_file_list_is_path(called);
  char usual = gr_ends_in(t->path, ".tsv") ? '\t' : ',';
  if (t->typed || (path && t->format.delimiter == usual && t->format.header)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                         "the column '%s' names recordings, and this is no list of them", called),
                 "a list of recordings with classes has the columns path and label, with commas "
                 "between them, or tabs in a .tsv");
}

gr_status gr_new_sound_list(gr_new_own *o, const gr_csv *t, bool *found) {
  int name = gr_new_find_names(t), label = gr_csv_find(t, o->label ? o->label : "label");
  bool said = false;
  for (int c = 0; c < t->n_columns; c++) said |= gr_new_is_said(t->columns[c].name);
  *found = name >= 0 && label >= 0 && label != name && (o->label || !said);
  if (!*found) return GR_OK;
  GR_TRY(check_list(t, name));
  uint32_t rows, classes = gr_csv_distinct(t, label, &rows);
  const char *root = t->typed ? NULL : find_root(o->arena, t->path, t->columns[name].texts[0]);
  gr_text_printf(&o->said, "a list of %u recordings; to predict: '%s', %u classes\n", t->rows,
                 t->columns[label].name, classes);
  GR_TRY(begin(o, t->path, &(gr_manifest_keys){.label = t->columns[label].name, .root = root}));
  gr_new_set_classes(o, classes);
  return GR_OK;
}
