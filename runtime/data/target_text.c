// target_text.c - see target_text.h.
#include "runtime/data/target_text.h"
#include <string.h>
#include "runtime/data/labels.h"

// ---- Keys ---------------------------------------------------------------------------------------

// The numbers of the tokens that a key lists.
static gr_status read_ids(gr_arena *arena, gr_conf *section, const char *key,
                          const gr_target_text_keys *keys, const gr_tokenizer *tokenizer,
                          gr_ids *out) {
  gr_names names = gr_names_read(arena, section, key);
  int32_t *ids = GR_NEW(arena, int32_t, names.n);
  for (int i = 0; i < names.n; i++) {
    gr_tokens one = {.arena = arena};
    const char *bad;
    GR_TRY(gr_tokenizer_encode(tokenizer, names.items[i], &(gr_encode_options){0}, &one, &bad));
    if (bad || one.n != 1)
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the symbol '%s' is not %s",
                                      names.items[i], keys->is_none),
                              key),
                     "%s", keys->hint);
    ids[i] = one.id[0];
  }
  *out = (gr_ids){ids, names.n};
  return GR_OK;
}

gr_status gr_target_text_read(gr_arena *arena, gr_conf *section, const gr_target_text_keys *keys,
                              const gr_tokenizer *tokenizer, gr_target_text *out) {
  GR_TRY(read_ids(arena, section, keys->prefix, keys, tokenizer, &out->prefix));
  GR_TRY(read_ids(arena, section, keys->suffix, keys, tokenizer, &out->suffix));
  if (!out->suffix.n || out->prefix.n) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%s.%s needs %s.%s", keys->section,
                                  keys->suffix, keys->section, keys->prefix),
                          keys->suffix),
                 "the symbol that a decoder starts with, such as prefix: [<s>]");
}

// ---- Fields -------------------------------------------------------------------------------------

int gr_target_text_fields(const gr_target_text *s, gr_field_spec out[GR_TARGET_LABELS + 1]) {
  gr_field_spec tokens = {.dtype = GR_I32, .rank = 1, .dim = {GR_DIM_EXTENT}};
  out[GR_TARGET_TOKENS] = tokens, out[GR_TARGET_TOKENS].name = "targets";
  out[GR_TARGET_LENGTHS] = (gr_field_spec){.name = "target_lengths", .dtype = GR_I32};
  if (!s->prefix.n) return GR_TARGET_INPUTS;
  out[GR_TARGET_INPUTS] = tokens, out[GR_TARGET_INPUTS].name = "decoder_inputs";
  out[GR_TARGET_LABELS] = tokens, out[GR_TARGET_LABELS].name = "labels";
  out[GR_TARGET_LABELS].pad = GR_NO_LABEL;
  return GR_TARGET_LABELS + 1;
}

int gr_target_text_metadata(const gr_target_text *s, gr_metadata out[3]) {
  if (!s->prefix.n) return 0;
  out[0] = (gr_metadata){"prefix", s->prefix.n};
  out[1] = (gr_metadata){"start", s->prefix.items[0]};
  out[2] = (gr_metadata){"end", s->suffix.n ? s->suffix.items[0] : -1};
  return 3;
}

// A template of a tokenizer may put the token behind each text: there it is not missed.
bool gr_target_text_ends_early(const gr_target_text *s, const gr_ids *text) {
  for (int32_t i = 0; s->suffix.n && i + 1 < text->n; i++)
    if (text->items[i] == s->suffix.items[0]) return true;
  return false;
}

int32_t gr_target_text_extent(const gr_target_text *s, int32_t n, gr_target_text_field field) {
  return field == GR_TARGET_TOKENS ? n : s->prefix.n + n + s->suffix.n - 1;
}

// ---- A text -------------------------------------------------------------------------------------

// Writes tokens that begin at `position` of a sequence to both fields of decoders.
static void put(void *const *field, int32_t total, int32_t position, const gr_ids *ids) {
  int32_t *inputs = field[GR_TARGET_INPUTS], *labels = field[GR_TARGET_LABELS];
  for (int32_t i = 0; i < ids->n; i++) {
    if (position + i < total - 1) inputs[position + i] = ids->items[i];
    if (position + i > 0) labels[position + i - 1] = ids->items[i];
  }
}

void gr_target_text_fill(const gr_target_text *s, const gr_ids *text, void *const *field) {
  int32_t behind = s->prefix.n + text->n, total = behind + s->suffix.n;
  if (text->n) memcpy(field[GR_TARGET_TOKENS], text->items, (size_t)text->n * sizeof *text->items);
  *(int32_t *)field[GR_TARGET_LENGTHS] = text->n;
  if (!s->prefix.n) return;
  put(field, total, 0, &s->prefix);
  put(field, total, s->prefix.n, text);
  put(field, total, behind, &s->suffix);
}
