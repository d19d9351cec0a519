// texts.h - the source `texts`: texts with a class, or with another text that is to be written, as
// tokens, from the rows of CSV, JSON lines and Parquet.
//
// Fields: x i32, the tokens of a text, padded with 0 to the length of its bucket, and lengths i32,
// unless there is none beside the text to write; with a text to write, those of its tokens
// (target_text.h).
#pragma once
#include "runtime/data/csv_format.h"
#include "runtime/data/labels.h"
#include "runtime/data/target_text.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_texts_spec {
  const char *path, *eval;           // eval: NULL, rows are split by `split` or by hash
  const char *text, *label, *split;  // columns, or NULL; without a text there is a target
  const char *target;                // the column of texts to write, and no classes; or NULL
  gr_target_text around;             // tokens before and after each of them, for decoders
  int32_t max_tokens, max_target_tokens;
  gr_csv_format csv;
} gr_texts_spec;

typedef struct gr_texts_item {
  const int32_t *ids;  // [info.length]
  gr_sample_info info;
  const char *target;  // the text to write; NULL: none
  gr_ids targets;
} gr_texts_item;

typedef enum gr_texts_skip {
  GR_TEXTS_EMPTY,
  GR_TEXTS_UNANSWERED,  // without a text to write
  GR_TEXTS_CUT,         // more than max_tokens
  GR_TEXTS_TARGET_CUT,  // more than max_target_tokens in the text to write
  GR_TEXTS_ENDS_EARLY   // the token that ends a text to write is in the midst of it
} gr_texts_skip;        // of gr_source_ops.skips

typedef struct gr_texts {
  gr_texts_spec spec;
  gr_tokenizer tokens;
  gr_texts_item *item;
  uint32_t count, room;
  gr_classes classes;  // until they are numbered, labels are 1 + places in the order of additions
  bool named;          // a class is a text
  bool inputs;         // texts are to be predicted, and have no labels
} gr_texts;

// Lists the texts of the keys' files, or to predict, as tokens (list.c). GR_ERR_CONFIG,
// GR_ERR_DATA.
GR_MUST_USE gr_status gr_texts_list(gr_texts *, gr_source_request *);
