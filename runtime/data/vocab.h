// vocab.h - text to symbols and back.
#pragma once
#include "base/map.h"
#include "base/text.h"

// A list of symbols, one of them CTC's blank. Text is cut into the longest symbols that match,
// from left to right; with one symbol per character that is one id per character.
typedef struct gr_vocab {
  const char *const *symbols;  // UTF-8; the blank's is "<blank>"
  int32_t n;                   // with the blank
  int32_t blank;
  gr_map index;  // symbol -> id
  size_t longest;
} gr_vocab;

// One symbol per line; a line of one space, or "<space>", is the space. The blank is the line
// "<blank>" where there is one, else it is put at `blank` (-1: after the last). Fails naming
// file:line:col: empty line, symbol twice, not UTF-8; else about (gr_about) "vocab" or "blank".
GR_MUST_USE gr_status gr_vocab_read(gr_arena *, const char *path, int32_t blank, gr_vocab *out);
// Each character of `symbols` is one; the blank is put at `blank` (-1: after the last). Fails about
// "vocab" or "blank", and on what is the path of a file that is not there.
GR_MUST_USE gr_status gr_vocab_make(gr_arena *, const char *symbols, int32_t blank, gr_vocab *out);

// Appends the text of n ids; blanks are left out, ids out of range show as U+FFFD.
void gr_vocab_decode(const gr_vocab *, const int32_t *ids, size_t n, gr_text *out);

typedef enum gr_letters { GR_LETTERS_KEEP, GR_LETTERS_UPPER, GR_LETTERS_LOWER } gr_letters;
// What happens at a symbol that is not in the vocabulary, or to an empty transcript.
typedef enum gr_unknown {
  GR_UNKNOWN_FAIL,  // stop, naming file, line, column and symbol
  GR_UNKNOWN_SKIP,  // leave the utterance out, counted
  GR_UNKNOWN_DROP,  // leave the symbol out (an utterance that ends up empty is left out)
} gr_unknown;
// How a transcript becomes the text that is learnt. Runs of blanks become one space, blanks at
// the ends go.
typedef struct gr_text_rules {
  gr_letters letters;  // of all of Unicode, one to one
  const char *spaces;  // characters that become a space ("-/"); NULL: none
  const char *drops;   // characters that go (".,!?"); NULL: none
  gr_unknown unknown;
} gr_text_rules;
// Whether the rules leave a symbol as it is, so that it can occur in what is learnt.
bool gr_text_gives(const gr_text_rules *, const char *symbol);
// The text after the rules, in the arena. Bytes that are not UTF-8 are kept as they are.
char *gr_text_normalise(gr_arena *, const gr_text_rules *, const char *text);

// Ids of a text; *out in the arena. Where a symbol is unknown: with `drop` it is left out, else
// *bad points at it in `text` and *n is what came before. *bad is NULL on success.
void gr_vocab_encode(gr_arena *, const gr_vocab *, const char *text, bool drop, int32_t **out,
                     int32_t *n, const char **bad);
