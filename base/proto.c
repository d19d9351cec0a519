// proto.c - see proto.h.
#include "base/proto.h"
#include <assert.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };  // wire types

static void put_varint(gr_text *t, uint64_t v) {
  for (; v > 127; v >>= 7) gr_text_putn(t, &(char){(char)(v | 128)}, 1);
  gr_text_putn(t, &(char){(char)v}, 1);
}

static void put_tag(gr_text *t, int field, int wire) {
  put_varint(t, (uint64_t)field << 3 | (uint64_t)wire);
}

static void put_little(gr_text *t, uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; i++) gr_text_putn(t, &(char){(char)(bits >> (8 * i))}, 1);
}

void gr_proto_int(gr_text *t, int field, uint64_t v) {
  assert(field >= 1);
  put_tag(t, field, VARINT);
  put_varint(t, v);
}

void gr_proto_float(gr_text *t, int field, float v) {
  assert(field >= 1);
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_tag(t, field, FIXED32);
  put_little(t, bits, 4);
}

void gr_proto_double(gr_text *t, int field, double v) {
  assert(field >= 1);
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_tag(t, field, FIXED64);
  put_little(t, bits, 8);
}

void gr_proto_bytes(gr_text *t, int field, const void *data, size_t bytes) {
  assert(field >= 1 && (data || !bytes));
  put_tag(t, field, LENGTH);
  put_varint(t, bytes);
  gr_text_putn(t, data, bytes);
}

void gr_proto_text(gr_text *t, int field, const char *s) { gr_proto_bytes(t, field, s, strlen(s)); }

void gr_proto_message(gr_text *t, int field, const gr_text *m) {
  assert(field >= 1 && m != t);
  gr_proto_bytes(t, field, m->chars, m->len);
}

bool gr_proto_read_varint(const unsigned char **p, const unsigned char *end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; *p < end && shift < 64; shift += 7) {
    unsigned char c = *(*p)++;
    *out |= (uint64_t)(c & 127) << shift;
    if (c < 128) return true;
  }
  return false;
}
