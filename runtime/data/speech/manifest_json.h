// manifest_json.h - one line of a manifest: a JSON object of which some keys are wanted.
#pragma once
#include "base/arena.h"

typedef enum gr_json_kind { GR_JSON_STRING, GR_JSON_NUMBER } gr_json_kind;
typedef struct gr_json_want {
  const char *key;
  gr_json_kind kind;
  const char *text;  // out, in the arena; NULL where the key is missing (or null)
  double number;     // out
  int col;           // out: of the value, 1-based; 0 where the key is missing
} gr_json_want;

// Reads `len` bytes at `line`, which must be one object (RFC 8259, UTF-8, no key twice among
// the wanted). Other keys are checked and let be. Fails with GR_ERR_DATA at `at` + column.
GR_MUST_USE gr_status gr_json_line(gr_arena *, gr_loc at, const char *line, size_t len,
                                   gr_json_want *, int n);
