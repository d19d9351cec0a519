// tokenizer.h - text to tokens and back, by one interface: bytes, a list of symbols (vocab.h), or
// byte-level BPE from a file (bpe.h).
#pragma once
#include "compose/tree/conf.h"
#include "runtime/data/vocab.h"

typedef struct gr_tokens {  // a list of ids that grows in its arena; {.arena = a} is empty
  gr_arena *arena;
  int32_t *id;
  int64_t n, cap;
} gr_tokens;
void gr_tokens_put(gr_tokens *, int32_t id);  // appends one

typedef struct gr_encode_options {
  bool drop;    // leave out what has no token, instead of stopping there
  bool around;  // put the tokens around the text that the tokenizer's template names
} gr_encode_options;

typedef struct gr_tokenizer gr_tokenizer;
typedef struct gr_tokenizer_ops {
  gr_status (*encode)(const gr_tokenizer *, const char *text, const gr_encode_options *,
                      gr_tokens *out, const char **bad);
  void (*decode)(const gr_tokenizer *, const int32_t *ids, int64_t n, gr_text *out);
  void (*close)(const gr_tokenizer *);  // or NULL
} gr_tokenizer_ops;

struct gr_tokenizer {
  const gr_tokenizer_ops *ops;
  const void *self;
  int32_t n;             // all ids are below it
  int32_t blank, space;  // CTC's blank and the space, where each is a token; else -1
  const char *kind;      // what its tokens are, of a text: "bytes in UTF-8"
  const char *lacks;  // what *bad of gr_tokenizer_encode is not: "UTF-8"; NULL: any text has tokens
  const char *file;   // what was read, for a copy: a name, and the file's bytes; NULL: no file
  const char *bytes;
  size_t n_bytes;
};

// Tokens are bytes: 256 of them. Decoding gives the bytes, which may be no UTF-8.
gr_tokenizer gr_tokenizer_of_bytes(void);
// Tokens are the symbols of a vocabulary, which is borrowed.
gr_tokenizer gr_tokenizer_of_vocab(const gr_vocab *);

// Reads data.tokenizer and the keys beside it. *out is NULL where none is given; else it is in the
// arena, and the caller closes it before the arena's end. GR_ERR_DATA with the place in the file,
// GR_ERR_CONFIG about a key of the section.
GR_MUST_USE gr_status gr_tokenizer_read(gr_arena *, gr_conf *data, const gr_tokenizer **out);
void gr_tokenizer_close(const gr_tokenizer *);  // NULL is fine

// Appends the tokens of a text to *out. *bad is NULL, or the place in the text that has no token,
// and the tokens are of no use. Safe from any thread. GR_ERR_DATA: a pattern of the tokenizer
// cannot be matched; GR_ERR_STOPPED.
GR_MUST_USE gr_status gr_tokenizer_encode(const gr_tokenizer *, const char *text,
                                          const gr_encode_options *, gr_tokens *out,
                                          const char **bad);
// Appends the text of n ids. Blanks and special tokens are left out; an id out of range, and bytes
// that are not UTF-8, also those of a character whose end is missing, show as U+FFFD.
void gr_tokenizer_decode(const gr_tokenizer *, const int32_t *ids, int64_t n, gr_text *out);
