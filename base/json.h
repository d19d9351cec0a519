// json.h - a strict reader of JSON (RFC 8259), for files that may be damaged or hostile.
//
// Stricter than the standard: no two members of one name, no NUL in text, valid UTF-8 only, at
// most 32 levels, 4096 members an object, 4 million values. Wider: NaN, Infinity, -Infinity.
#pragma once
#include "base/arena.h"

typedef enum gr_json_kind {
  GR_JSON_NULL,
  GR_JSON_BOOL,   // i
  GR_JSON_INT,    // i, and f as near as it comes
  GR_JSON_FLOAT,  // f: written with a point or an exponent, or too large for i
  GR_JSON_TEXT,   // text
  GR_JSON_ARRAY,  // first, n
  GR_JSON_OBJECT,
} gr_json_kind;

typedef struct gr_json {
  gr_json_kind kind;
  int64_t i;
  double f;
  const char *text;  // UTF-8
  const char *name;  // of a member of an object, else NULL
  const struct gr_json *first, *next;
  int n;
  int at;  // of its first byte, from the start of the text
} gr_json;

typedef struct gr_json_error {
  int line, col;    // 1-based; columns are bytes
  const char *why;  // "expected a value"
  char found[16];   // what is there: "'x'", "the byte 0x01", "the end"
} gr_json_error;

// Reads text[0 .. len) into the arena; a NUL or a line break must follow. False: *why says where
// and why.
bool gr_json_read(gr_arena *, const char *text, size_t len, const gr_json **out,
                  gr_json_error *why);
// The member of that name and kind; NULL when it is not there. A float may be written as int.
const gr_json *gr_json_get(const gr_json *object, const char *name, gr_json_kind);
