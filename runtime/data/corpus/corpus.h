// corpus.h - text as one long sequence of tokens, cut into samples of a fixed length: the source
// `corpus` of data (source.h).
#pragma once
#include "runtime/data/labels.h"
#include "runtime/data/mapping.h"
#include "runtime/data/source.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_corpus_spec {
  gr_names paths, eval;  // eval: none, the text's end is for validation
  const char *vocab;     // "bytes", or a file's path; not used with a tokenizer
  int32_t context;       // tokens of a sample
  bool shift;
} gr_corpus_spec;

typedef enum gr_corpus_skip {
  GR_CORPUS_REST,  // tokens
  GR_CORPUS_LONG   // files to predict
} gr_corpus_skip;  // of gr_source_ops.skips

typedef struct gr_corpus_file {
  gr_mapping map;      // tokens are its bytes
  const int32_t *ids;  // or these
  int64_t first, n;    // number of its first token in the text, and of its tokens
} gr_corpus_file;

typedef struct gr_corpus_text {  // files, one after the other
  gr_corpus_file *file;
  int n_files;
  int64_t n;  // tokens
} gr_corpus_text;

typedef struct gr_corpus {
  gr_corpus_spec spec;
  gr_vocab vocab;          // of files of tokens
  gr_tokenizer tokens;     // of the request, of the vocabulary, or of bytes
  gr_corpus_text text[2];  // of training, and what data.corpus.eval_path names
  int64_t border;          // the first token of text[0] that is for validation
  uint32_t count, train;   // samples: of both splits, and of training, which come first
  bool inputs;             // each file of text[0] is a sample, without targets
} gr_corpus;

// Reads the section data.corpus; the configuration must outlive the specification. tokenizer: the
// data has one, and the key of a vocabulary is not read. GR_ERR_CONFIG.
GR_MUST_USE gr_status gr_corpus_read_spec(gr_arena *, gr_conf *section, bool tokenizer,
                                          gr_corpus_spec *out);
// Opens the files of a text, which borrows the paths. Tokens that are bytes are those of the file,
// whatever it is. GR_ERR_DATA about `key`.
GR_MUST_USE gr_status gr_corpus_open_text(gr_arena *, const gr_tokenizer *, const gr_names *paths,
                                          const char *key, gr_corpus_text *out);
void gr_corpus_close_text(gr_corpus_text *);  // also one that could not be opened as a whole
GR_MUST_USE gr_status gr_corpus_check_text(const gr_corpus_text *);  // files that were cut short
// Copies n tokens from the token number `first` on.
void gr_corpus_tokens(const gr_corpus_text *, int64_t first, int64_t n, int32_t *out);
