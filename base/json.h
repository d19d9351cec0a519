// json.h - strict JSON parser (RFC 8259) for files that may be damaged or hostile.
//
// Stricter than the standard: no duplicate member names, no NUL in strings, valid UTF-8 only, at
// most 32 levels and 4 million values. Extension: the words NaN, Infinity and -Infinity, which
// Python writes; this program writes them as strings (gr_text_json_float).
#pragma once
#include "base/text.h"

typedef enum gr_json_kind {
  GR_JSON_NULL,
  GR_JSON_BOOL,    // in i
  GR_JSON_INT,     // in i, and rounded in f
  GR_JSON_FLOAT,   // in f: has a point or an exponent, or does not fit i
  GR_JSON_TEXT,    // in text; "NaN", "Infinity" and "-Infinity" are numbers too, in f
  GR_JSON_ARRAY,   // elements: a list of n from first by next
  GR_JSON_OBJECT,  // members: likewise, each with a name
} gr_json_kind;

typedef struct gr_json {
  gr_json_kind kind;
  int64_t i;
  double f;
  const char *text;  // UTF-8
  const char *name;  // if it is a member of an object, else NULL
  const struct gr_json *first, *next;
  int n;
  int offset;  // of its first byte, from the start of the text
} gr_json;

typedef struct gr_json_error {
  int line, col;    // 1-based; columns are bytes
  const char *why;  // "expected a value"
  char found[16];   // what is there: "'x'", "the byte 0x01", "the end"
} gr_json_error;

// Parses text[0] to text[len - 1], which must be followed by a NUL or a line break. The tree is in
// the arena. On failure returns false, *out is NULL, and *why holds the place, what was expected (a
// static message) and what was found.
bool gr_json_read(gr_arena *, const char *text, size_t len, const gr_json **out,
                  gr_json_error *why);
// Whether f is the value of a number: an integer, a float, or a text that gr_text_json_float writes
// for one that is not finite.
bool gr_json_is_number(const gr_json *);
// The member with that name and kind, or NULL; GR_JSON_FLOAT accepts every number.
const gr_json *gr_json_get(const gr_json *object, const char *name, gr_json_kind);
// Appends a value as JSON on one line, its members in their order. What gr_json_read has read gives
// the same value again; a text that stands for a number that is not finite stays a text.
void gr_json_put(gr_text *, const gr_json *);
