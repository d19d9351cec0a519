// bpe.h - byte-level byte-pair encoding (Sennrich et al., 2016; Radford et al., 2019): a text is
// split into words by patterns, and the bytes of a word are merged pair by pair, the pair of the
// lowest rank first.
//
// Tokens are held in the spelling of Hugging Face's tokenizer.json: each byte is one printable
// character (spelling.c), so that a token is a string without NUL.
#pragma once
#include "runtime/data/tokenizer/cache.h"
#include "runtime/data/tokenizer/split.h"
#include "runtime/data/tokenizer/tokenizer.h"

// Ids are below; bytes of an added token at most. An id is also below the number of bytes of its
// file, so that memory is in proportion to the file.
enum { GR_BPE_TOKENS = 1 << 24, GR_BPE_ADDED = 255 };

// ---- Spelling (spelling.c) ----------------------------------------------------------------------

// The characters of n bytes, to `out`, which has room for 2 n + 1; returns its length.
size_t gr_bpe_spell(const char *bytes, size_t n, char *out);
// The bytes of a spelling, to `out`, which has room for as many bytes as the spelling has. -1: a
// character is not of the alphabet.
int64_t gr_bpe_unspell(const char *spelling, char *out);

// ---- The model ----------------------------------------------------------------------------------

typedef struct gr_bpe_pair {
  int32_t left, right;  // tokens that are merged
  int32_t rank, id;     // id: of what they become; -1: the slot is empty
} gr_bpe_pair;

typedef struct gr_bpe_added {  // a token that is found in a text before words are
  const char *text;
  int32_t id;
  bool special;                  // not a part of decoded text
  bool normalized;               // found in the normalized text
  bool single_word;              // not beside letters and digits
  bool strip_left, strip_right;  // takes white space beside it along
} gr_bpe_added;

typedef struct gr_bpe_finder {  // finds added tokens, the longest that starts first
  const gr_bpe_added **token;
  int n;
  gr_map index;  // text -> number in token
  bool begins[256];
  size_t *lengths;  // of their texts, each once, falling
  int n_lengths;
} gr_bpe_finder;

typedef struct gr_bpe {
  gr_arena *arena;
  gr_map index;             // spelling -> id
  int32_t n, n_room;        // ids are below n; there is room for n_room
  const char **spelling;    // [n]; NULL: no token has the id
  const char **token;       // [n] bytes, with a NUL after them; NULL: no token has the id
  size_t *bytes;            // [n] their number
  bool *special;            // [n]
  int32_t byte[256];        // token of a single byte; -1: there is none
  int32_t unknown;          // stands for such bytes; -1: they are left out
  bool whole;               // a word that is a token is not merged from its bytes
  bool space_first;         // a text that does not begin with a space is given one
  gr_bpe_pair *pair;        // hash table
  uint32_t n_pairs, slots;  // slots: a power of two, or 0
  gr_bpe_added *added;
  int n_added;
  gr_bpe_finder find[2];             // in the text as it is; in the normalized one
  gr_normal_forms forms;             // of normalization, in order
  gr_splitter split[GR_MAX_SPLITS];  // into words, in order
  int n_splits;
  gr_tokens before, after;  // of the template
  gr_bpe_cache *cache;
} gr_bpe;

// An empty model in the arena.
gr_bpe *gr_bpe_make(gr_arena *);
// Adds a token. False: another has the id or the spelling. `spelling` lives as long as the model.
bool gr_bpe_add(gr_bpe *, const char *spelling, int32_t id);
// The id of a spelling, or -1.
int32_t gr_bpe_find(const gr_bpe *, const char *spelling);
// Adds the rule that two tokens become a third; one that is there takes the new rank.
void gr_bpe_merge(gr_bpe *, int32_t left, int32_t right, int32_t rank, int32_t id);
// The rule for two tokens, or NULL.
const gr_bpe_pair *gr_bpe_pair_of(const gr_bpe *, int32_t left, int32_t right);
// Once all tokens, rules and added tokens are there: what encoding and decoding look up.
void gr_bpe_finish(gr_bpe *);
void gr_bpe_free(gr_bpe *);  // what is not in the arena; also of a model that is not finished

// ---- Texts --------------------------------------------------------------------------------------

// As gr_tokenizer_encode (encode.c).
GR_MUST_USE gr_status gr_bpe_encode(const gr_bpe *, const char *text, const gr_encode_options *,
                                    gr_tokens *out, const char **bad);
// As gr_tokenizer_decode.
void gr_bpe_decode(const gr_bpe *, const int32_t *ids, int64_t n, gr_text *out);

// ---- Files --------------------------------------------------------------------------------------

// Reads a tokenizer.json of Hugging Face's tokenizers (bpe_json.c). The text ends in a NUL.
// GR_ERR_DATA with the place; GR_ERR_UNSUPPORTED: it is of another kind.
GR_MUST_USE gr_status gr_bpe_read_json(const char *path, const char *text, size_t n, gr_bpe *out);
// Reads a file of tiktoken: a token in Base64 and its rank on a line (bpe_ranks.c). Words and added
// tokens are the caller's. GR_ERR_DATA with the place.
GR_MUST_USE gr_status gr_bpe_read_ranks(const char *path, const char *text, size_t n, gr_bpe *out);
