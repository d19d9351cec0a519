// pickle_value.h - values that Python has pickled: None, booleans, integers, floats, texts, bytes,
// tuples, lists, dictionaries, and arrays of NumPy.
#pragma once
#include "runtime/data/array.h"

typedef enum gr_pickle_kind {
  GR_PICKLE_NONE,
  GR_PICKLE_BOOL,  // in i
  GR_PICKLE_INT,   // in i
  GR_PICKLE_FLOAT,
  GR_PICKLE_TEXT,    // UTF-8, `len` bytes and a NUL
  GR_PICKLE_BYTES,   // `len` bytes
  GR_PICKLE_TUPLE,   // items
  GR_PICKLE_LIST,    // items
  GR_PICKLE_DICT,    // items: key, value, key, value, ...
  GR_PICKLE_ARRAY,   // array; its items if its elements are objects
  GR_PICKLE_GLOBAL,  // a function or class: its name in text
  GR_PICKLE_DTYPE,   // its name in text, its byte order in i
} gr_pickle_kind;

typedef struct gr_pickle {
  gr_pickle_kind kind;
  int64_t i;
  double f;
  const char *text;
  size_t len;
  struct gr_pickle **items;
  size_t n, room;
  gr_array array;  // without `file` until it is complete
} gr_pickle;
