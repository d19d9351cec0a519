// encodings.h - how values are written in the pages of a Parquet file (Encodings.md of the
// repository apache/parquet-format). All read from bytes in memory, whatever these are, and say
// whether they were of that form.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gr_span {
  const unsigned char *next, *end;
} gr_span;

// A value of variable length.
typedef struct gr_bytes {
  const unsigned char *first;
  size_t n;
} gr_bytes;

// n whole numbers of `bits` bits (0 to 32): runs of one value and packed bits (RLE).
bool gr_span_hybrid(gr_span *, int bits, size_t n, uint32_t *out);
// n truth values as bytes, from packed bits (PLAIN).
bool gr_span_bits(gr_span *, size_t n, unsigned char *out);
// n values of `size` bytes (PLAIN).
bool gr_span_fixed(gr_span *, size_t size, size_t n, unsigned char *out);
// n values of `size` bytes, the first bytes of all before the second ones (BYTE_STREAM_SPLIT).
bool gr_span_split(gr_span *, size_t size, size_t n, unsigned char *out);
// n values after their lengths (PLAIN), which stay where they are.
bool gr_span_texts(gr_span *, size_t n, gr_bytes *out);
// n integers by their differences (DELTA_BINARY_PACKED); those of 32 bits wrap, too.
bool gr_span_delta(gr_span *, size_t n, int64_t *out);
// n values after all their lengths (DELTA_LENGTH_BYTE_ARRAY), which stay where they are; `lengths`
// has room for n.
bool gr_span_delta_lengths(gr_span *, size_t n, int64_t *lengths, gr_bytes *out);
// n values without what they begin with as the one before (DELTA_BYTE_ARRAY): fills `suffixes`, and
// in `prefixes` how many bytes of the one before come first; *total is the bytes of all values,
// which no 64 bits exceed. `lengths` has room for n.
bool gr_span_delta_parts(gr_span *, size_t n, int64_t *lengths, int64_t *prefixes,
                         gr_bytes *suffixes, size_t *total);
// Writes those values to `room` of `total` bytes.
void gr_join_parts(size_t n, const int64_t *prefixes, const gr_bytes *suffixes, unsigned char *room,
                   gr_bytes *out);
