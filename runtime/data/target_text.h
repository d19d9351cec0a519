// target_text.h - texts that a model is to write: what sources of samples with such a text share.
//
// Their fields, in this order: targets i32 [u], the tokens of the text, and target_lengths i32. For
// decoders, where there are tokens before each text, two more: of the sequence of these, the text
// and the tokens after it, decoder_inputs i32 [w] are all but the last, and labels i32 [w] all but
// the first, GR_NO_LABEL beyond the sequence.
#pragma once
#include "runtime/data/source.h"

typedef struct gr_ids {
  const int32_t *items;
  int32_t n;
} gr_ids;

// The tokens around each text; no prefix: there is no decoder.
typedef struct gr_target_text {
  gr_ids prefix, suffix;
} gr_target_text;

typedef enum gr_target_text_field {
  GR_TARGET_TOKENS,
  GR_TARGET_LENGTHS,
  GR_TARGET_INPUTS,
  GR_TARGET_LABELS
} gr_target_text_field;

// The keys of a section that list the tokens.
typedef struct gr_target_text_keys {
  const char *section;  // "data.speech", for errors
  const char *prefix, *suffix;
  const char *is_none, *hint;  // of a token that there is none of: "in the vocabulary"
} gr_target_text_keys;
// GR_ERR_CONFIG about a key.
GR_MUST_USE gr_status gr_target_text_read(gr_arena *, gr_conf *section, const gr_target_text_keys *,
                                          const gr_tokenizer *, gr_target_text *out);

// Writes the fields; returns how many.
int gr_target_text_fields(const gr_target_text *, gr_field_spec out[GR_TARGET_LABELS + 1]);
// Writes, for a decoder, the number of tokens before a text, the first of these, and the first
// after it (-1: none), as prefix, start and end; returns how many.
int gr_target_text_metadata(const gr_target_text *, gr_metadata out[3]);
// Whether the first token after a text is within it, too: a text that is written ends there.
bool gr_target_text_ends_early(const gr_target_text *, const gr_ids *text);
// How much of a field a text of n tokens takes.
int32_t gr_target_text_extent(const gr_target_text *, int32_t n, gr_target_text_field);
// Writes a text's tokens into the row's fields, of which field[0] is targets.
void gr_target_text_fill(const gr_target_text *, const gr_ids *text, void *const *field);
