// array.h - a view of an array in a file's bytes: its element type, its shape, and its values.
#pragma once
#include "base/arena.h"

enum { GR_ARRAY_RANK = 6 };

typedef enum gr_element {
  GR_ELEMENT_BOOL,
  GR_ELEMENT_UINT,
  GR_ELEMENT_INT,
  GR_ELEMENT_FLOAT,  // IEEE 754, of 2, 4 or 8 bytes
  GR_ELEMENT_BYTES,  // text of `size` bytes, filled up with NUL
  GR_ELEMENT_CODES,  // text of `size` / 4 code points of UTF-32, filled up with 0
  GR_ELEMENT_TEXTS,  // a pointer to a C string, in memory
} gr_element;

typedef struct gr_array {
  const char *file, *name;  // for messages: where it is from, and what it is called there
  gr_element element;
  size_t size;  // bytes of an element
  int rank;
  int64_t dim[GR_ARRAY_RANK];
  int64_t count;              // the product of dim
  const unsigned char *data;  // [count], little-endian, rows first, at any alignment
  const char *const *names;   // of whole numbers that stand for names: of 0 to n_names - 1; or NULL
  int n_names;
} gr_array;

bool gr_array_is_text(const gr_array *);      // strings of bytes or of UCS-4
bool gr_array_is_whole(const gr_array *);     // integers or booleans
const char *gr_array_type(const gr_array *);  // "u8", "i32", "f64", "text", ...

// Element i as a number; not of text. An integer beyond 2^53 is rounded.
double gr_array_number(const gr_array *, int64_t i);
// Element i as an integer. False: it has a fraction, or does not fit. Not of text.
bool gr_array_integer(const gr_array *, int64_t i, int64_t *out);
// Element i as text, in the arena; numbers as they are written, or the names that they stand for.
const char *gr_array_text(gr_arena *, const gr_array *, int64_t i);
// Elements [first, first + n) as numbers, as gr_array_number has them.
void gr_array_doubles(const gr_array *, int64_t first, int64_t n, double *out);
// Elements [first, first + n) as floats; not of text.
void gr_array_floats(const gr_array *, int64_t first, int64_t n, float *out);
// Elements [first, first + n) as integers of `size` bytes: 1 (unsigned), 4 or 8 (signed); not of
// text. Returns the first that has a fraction or does not fit, -1 where all do.
int64_t gr_array_ints(const gr_array *, int64_t first, int64_t n, size_t size, void *out);
