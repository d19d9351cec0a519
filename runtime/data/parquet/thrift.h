// thrift.h - Thrift's compact protocol, in which Parquet's metadata are written
// (thrift-compact-protocol.md of Apache Thrift): numbers, strings, lists and structs of bytes in
// memory.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where reading is. The first mistake is kept and ends it: everything read after it is 0 or empty.
typedef struct gr_thrift {
  const unsigned char *next, *end;
  const char *wrong;  // what is wrong at `next`; NULL: nothing yet
} gr_thrift;

typedef enum gr_thrift_type {  // of a field or of a list's elements
  GR_THRIFT_STOP,
  GR_THRIFT_TRUE,
  GR_THRIFT_FALSE,
  GR_THRIFT_I8,
  GR_THRIFT_I16,
  GR_THRIFT_I32,
  GR_THRIFT_I64,
  GR_THRIFT_DOUBLE,
  GR_THRIFT_BINARY,
  GR_THRIFT_LIST,
  GR_THRIFT_SET,
  GR_THRIFT_MAP,
  GR_THRIFT_STRUCT,
  GR_THRIFT_UUID,
} gr_thrift_type;

// A field of a struct, whose value is next. Before the first field of a struct all is 0.
typedef struct gr_thrift_field {
  int id;
  gr_thrift_type type;
} gr_thrift_field;

// Goes to the next field of a struct. False: there is none, or something is wrong.
bool gr_thrift_next(gr_thrift *, gr_thrift_field *);
// Passes over a field's value, of at most 16 structs and lists within each other.
void gr_thrift_skip(gr_thrift *, gr_thrift_type);
// A field's value as an integer; other types are wrong.
int64_t gr_thrift_int(gr_thrift *, gr_thrift_type);
// A field's value as a truth value; other types are wrong.
bool gr_thrift_bool(gr_thrift *, gr_thrift_type);
// A field's value as bytes, which stay where they are; other types are wrong. Returns how many.
size_t gr_thrift_bytes(gr_thrift *, gr_thrift_type, const unsigned char **out);
// The number of elements of a field's value that is a list of such elements, of which the first is
// next: at most as many as there are bytes. Other types are wrong.
size_t gr_thrift_list(gr_thrift *, gr_thrift_type, gr_thrift_type elements);
