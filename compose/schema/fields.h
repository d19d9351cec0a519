// fields.h - the types of fields that the rows of schema.def make (fields.def). It knows nothing of
// how configurations are composed: any room may include it.
//
// A key with a fixed set of words has an enum whose constants end in the words: gr_strategy_fsdp
// for distributed.strategy=fsdp.
#pragma once
#include "base/status.h"
#include "compose/schema/words.h"

// A number that may be left out: null.
typedef struct gr_optional {
  bool given;
  double value;
} gr_optional;

// A list of n strings, and where each was given.
typedef struct gr_texts {
  const char *const *text;
  const gr_loc *loc;
  int n;
} gr_texts;

// The kinds of a row; `auto` of an INT is 0, and null of a TEXT is NULL.
#define GR_TYPE_OF_INT int64_t
#define GR_TYPE_OF_FLOAT double
#define GR_TYPE_OF_OPTIONAL gr_optional
#define GR_TYPE_OF_BOOL bool
#define GR_TYPE_OF_TEXT const char *
#define GR_TYPE_OF_TEXTS gr_texts

#define GR_WORD_CONSTANT(field, word) gr_##field##_##word,
#define GR_WORDS(part, field, path, default_value, unit, doc, ...) \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__)} gr_##field;
#define GR_WORDS_OR(part, field, path, type, default_value, unit, doc, ...)  \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__) \
                              gr_##field##_text} gr_##field;
#include "compose/schema/schema.def"
