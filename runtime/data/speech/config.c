// config.c - reads the keys of the source `speech` in the section data.speech (the schema has
// filled in every default); see speech.h.
#include <limits.h>
#include <string.h>
#include "base/file.h"
#include "base/log.h"
#include "base/port.h"
#include "runtime/data/labels.h"
#include "runtime/data/speech/speech.h"

static int choice(const char *value, const char *const names[], int n) {
  for (int i = 0; i < n; i++)
    if (!strcmp(value, names[i])) return i;
  return 0;  // the schema admits no other value
}

static gr_status read_text_rules(gr_conf *section, gr_text_rules *out) {
  static const char *const cases[] = {"keep", "upper", "lower"};
  static const char *const unknown[] = {"fail", "skip", "drop"};
  const char *letters, *how;
  GR_TRY(gr_conf_text(section, "text.case", "", &letters));
  GR_TRY(gr_conf_text(section, "text.spaces", "", &out->spaces));
  GR_TRY(gr_conf_text(section, "text.drops", "", &out->drops));
  GR_TRY(gr_conf_text(section, "text.unknown", "", &how));
  out->letters = (gr_letters)choice(letters, cases, 3);
  out->unknown = (gr_unknown)choice(how, unknown, 3);
  return GR_OK;
}

// What a value of features is, by the keys that say so.
static gr_status read_values(gr_conf *section, gr_feature_spec *f) {
  const char *scale, *norm, *level;
  GR_TRY(gr_conf_text(section, "features.mel_scale", "", &scale));
  GR_TRY(gr_conf_text(section, "features.mel_norm", "", &norm));
  GR_TRY(gr_conf_text(section, "features.level", "", &level));
  f->mel_scale = strcmp(scale, "slaney") ? GR_MEL_HTK : GR_MEL_SLANEY;
  f->area_norm = !strcmp(norm, "slaney");
  f->log10 = !strcmp(level, "log10");
  GR_TRY(gr_conf_float(section, "features.range", 0, &f->range));
  GR_TRY(gr_conf_float(section, "features.offset", 0, &f->offset));
  GR_TRY(gr_conf_float(section, "features.scale", 1, &f->scale));
  return gr_conf_bool(section, "features.normalize", false, &f->normalise);
}

// How much of a recording frames are made of.
static gr_status read_extent(gr_conf *section, gr_feature_spec *f) {
  double seconds;
  bool last;
  GR_TRY(gr_conf_float(section, "features.seconds", 0, &seconds));
  GR_TRY(gr_conf_bool(section, "features.last_frame", true, &last));
  f->length = (int64_t)(seconds * f->rate + 0.5);
  f->drop_last = !last;
  return GR_OK;
}

static gr_status read_features(gr_conf *section, gr_feature_spec *f) {
  GR_TRY(gr_source_read_int(section, "sample_rate", &f->rate));
  GR_TRY(gr_source_read_int(section, "features.n_fft", &f->fft));
  GR_TRY(gr_source_read_int(section, "features.window", &f->window));
  GR_TRY(gr_source_read_int(section, "features.hop", &f->hop));
  GR_TRY(gr_source_read_int(section, "features.mels", &f->mels));
  GR_TRY(gr_conf_float(section, "features.fmin", 0, &f->f_min));
  GR_TRY(gr_conf_float(section, "features.fmax", 0, &f->f_max));
  GR_TRY(read_values(section, f));
  return read_extent(section, f);
}

static gr_status read_augment(gr_conf *section, gr_augment *a) {
  GR_TRY(gr_source_read_int(section, "augment.freq_masks", &a->freq_masks));
  GR_TRY(gr_source_read_int(section, "augment.freq_width", &a->freq_width));
  GR_TRY(gr_source_read_int(section, "augment.time_masks", &a->time_masks));
  GR_TRY(gr_source_read_int(section, "augment.time_width", &a->time_width));
  GR_TRY(gr_source_read_int(section, "augment.time_warp", &a->time_warp));
  return gr_conf_float(section, "augment.time_share", 0, &a->time_share);
}

static gr_status read_vocab(gr_arena *arena, gr_conf *section, gr_vocab *out) {
  const char *symbols;
  int blank;
  GR_TRY(gr_conf_text(section, "vocab", "", &symbols));
  GR_TRY(gr_source_read_int(section, "blank", &blank));
  // A folder may have the same name as the list of symbols; any other non-file is refused by name.
  bool file = gr_is_file(symbols) || (gr_file_kind(symbols) && !gr_is_dir(symbols));
  return file ? gr_vocab_read(arena, symbols, blank, out)
              : gr_vocab_make(arena, symbols, blank, out);
}

static gr_status read_decoder(gr_arena *arena, gr_conf *section, const gr_tokenizer *tokenizer,
                              gr_speech_spec *s) {
  static const gr_target_text_keys of_tokenizer = {
      "data.speech", "text.prefix", "text.suffix", "one token",
      "a token of data.tokenizer, such as <|endoftext|>"};
  static const gr_target_text_keys of_vocab = {
      "data.speech", "text.prefix", "text.suffix", "in the vocabulary",
      "a symbol of data.speech.vocab; one of several characters is a line of a file"};
  if (tokenizer) return gr_target_text_read(arena, section, &of_tokenizer, tokenizer, &s->around);
  gr_tokenizer symbols = gr_tokenizer_of_vocab(s->vocab);
  return gr_target_text_read(arena, section, &of_vocab, &symbols, &s->around);
}

static bool is_among(const gr_ids *ids, int32_t id) {
  for (int32_t i = 0; i < ids->n; i++)
    if (ids->items[i] == id) return true;
  return false;
}

// Symbols that no transcript can contain are outputs that the model never learns.
static void warn_unreachable(gr_arena *arena, const gr_speech_spec *s) {
  const gr_vocab *v = s->vocab;
  gr_text list = gr_text_make(arena);
  int n = 0;
  for (int32_t i = 0; i < v->n; i++) {
    if (i == v->blank || gr_text_gives(&s->text, v->symbols[i])) continue;
    if (is_among(&s->around.prefix, i) || is_among(&s->around.suffix, i)) continue;
    if (n++ < 10) gr_text_printf(&list, "%s'%s'", n > 1 ? ", " : "", v->symbols[i]);
  }
  if (n && !gr_log_rank())
    gr_log(GR_WARN,
           "%d symbol%s of data.speech.vocab cannot occur, since data.speech.text changes or drops "
           "%s: %s%s",
           n, n > 1 ? "s" : "", n > 1 ? "them" : "it", list.chars, n > 10 ? ", ..." : "");
}

// The number of frames in data.speech.max_seconds, at most GR_SPEECH_FRAMES; 0: no limit.
static gr_status find_most_frames(double seconds, gr_speech_spec *s) {
  GR_TRY(gr_range("features.hop", s->features.hop, 1, INT_MAX));
  double frames = seconds * s->features.rate / s->features.hop + 1;
  s->max_frames = seconds <= 0 ? 0 : frames < GR_SPEECH_FRAMES ? (int32_t)frames : GR_SPEECH_FRAMES;
  return GR_OK;
}

// What says how transcripts become symbols, beside classes.
static gr_status refuse_transcripts(gr_conf *section, const gr_tokenizer *tokenizer) {
  static const char *const keys[][2] = {{"vocab", "ABCDEFGHIJKLMNOPQRSTUVWXYZ '"},
                                        {"blank", "-1"},
                                        {"subsampling", "0"},
                                        {"text.column", NULL},
                                        {"text.case", "upper"},
                                        {"text.spaces", "-/_"},
                                        {"text.drops", ".,!?:;\"()"},
                                        {"text.unknown", "skip"},
                                        {"text.prefix", NULL},
                                        {"text.suffix", NULL}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    GR_TRY(gr_source_refuse(
        section, &(gr_source_unused){
                     keys[i][0], keys[i][1],
                     "data.speech.label says that recordings have classes, and no transcript "
                     "becomes symbols",
                     "remove one of them"}));
  if (!tokenizer) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                  "data.tokenizer makes tokens of transcripts, and "
                                  "data.speech.label says that recordings have classes"),
                          "tokenizer"),
                 "remove one of them");
}

static gr_status read_transcripts(gr_arena *arena, gr_conf *section, const gr_tokenizer *tokenizer,
                                  gr_speech_spec *s) {
  gr_vocab *vocab = tokenizer ? NULL : GR_NEW(arena, gr_vocab, 1);
  s->vocab = vocab;
  GR_TRY(gr_conf_text(section, "text.column", NULL, &s->keys.column));
  GR_TRY(gr_source_read_int(section, "subsampling", &s->subsampling));
  if (vocab) GR_TRY(read_vocab(arena, section, vocab));
  GR_TRY(read_text_rules(section, &s->text));
  GR_TRY(read_decoder(arena, section, tokenizer, s));
  if (vocab) warn_unreachable(arena, s);
  return GR_OK;
}

gr_status gr_speech_read_spec(gr_arena *arena, gr_conf *section, const gr_tokenizer *tokenizer,
                              gr_speech_spec *s) {
  double seconds;
  *s = (gr_speech_spec){0};
  GR_TRY(gr_conf_text(section, "manifest", NULL, &s->train));
  GR_TRY(gr_conf_text(section, "eval_manifest", NULL, &s->validation));
  GR_TRY(gr_conf_text(section, "root", NULL, &s->keys.root));
  GR_TRY(gr_conf_text(section, "label", NULL, &s->keys.label));
  GR_TRY(gr_conf_float(section, "max_seconds", 0, &seconds));
  GR_TRY(s->keys.label ? refuse_transcripts(section, tokenizer)
                       : read_transcripts(arena, section, tokenizer, s));
  GR_TRY(read_features(section, &s->features));
  GR_TRY(read_augment(section, &s->augment));
  return find_most_frames(seconds, s);
}
