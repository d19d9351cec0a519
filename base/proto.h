// proto.h - writes Protocol Buffers (protobuf.dev/programming-guides/encoding): each function
// appends one field. A message within a message is written to a text of its own first.
#pragma once
#include "base/text.h"

void gr_proto_int(gr_text *, int field, uint64_t);                // varint
void gr_proto_float(gr_text *, int field, float);                 // 32 bits
void gr_proto_double(gr_text *, int field, double);               // 64 bits
void gr_proto_bytes(gr_text *, int field, const void *, size_t);  // length-delimited
void gr_proto_text(gr_text *, int field, const char *);           // UTF-8, not checked
void gr_proto_message(gr_text *, int field, const gr_text *);     // a complete message, embedded

// Reads a varint (ULEB128) and advances *p past it; false: there is none of 64 bits before `end`.
bool gr_proto_read_varint(const unsigned char **p, const unsigned char *end, uint64_t *out);
