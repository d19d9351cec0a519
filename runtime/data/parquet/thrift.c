// thrift.c - see thrift.h.
#include "runtime/data/parquet/thrift.h"

enum { MAX_DEPTH = 16 };

static uint64_t fail_thrift(gr_thrift *t, const char *what) {
  if (!t->wrong) t->wrong = what;
  t->end = t->next;
  return 0;
}

static unsigned read_byte(gr_thrift *t) {
  if (t->next == t->end) return (unsigned)fail_thrift(t, "the metadata are cut short");
  return *t->next++;
}

// ULEB128.
static uint64_t read_varint(gr_thrift *t) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    unsigned byte = read_byte(t);
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return v;
  }
  return fail_thrift(t, "a number has more than 64 bits");
}

static int64_t read_zigzag(gr_thrift *t) {
  uint64_t v = read_varint(t);
  return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

bool gr_thrift_next(gr_thrift *t, gr_thrift_field *f) {
  unsigned head = read_byte(t), step = head >> 4;
  f->type = (gr_thrift_type)(head & 15);
  if (t->wrong || f->type == GR_THRIFT_STOP) return false;
  int64_t id = step ? f->id + (int64_t)step : read_zigzag(t);
  if (id < INT16_MIN || id > INT16_MAX) fail_thrift(t, "a field has a number beyond 16 bits");
  f->id = (int)id;
  return !t->wrong;
}

int64_t gr_thrift_int(gr_thrift *t, gr_thrift_type type) {
  if (type == GR_THRIFT_I8) return (int8_t)read_byte(t);
  if (type >= GR_THRIFT_I16 && type <= GR_THRIFT_I64) return read_zigzag(t);
  return (int64_t)fail_thrift(t, "a field that is a number has another type");
}

bool gr_thrift_bool(gr_thrift *t, gr_thrift_type type) {
  if (type != GR_THRIFT_TRUE && type != GR_THRIFT_FALSE)
    fail_thrift(t, "a field that is true or false has another type");
  return type == GR_THRIFT_TRUE;
}

static const unsigned char *take_bytes(gr_thrift *t, uint64_t n) {
  const unsigned char *p = t->next;
  if (n > (uint64_t)(t->end - t->next)) {
    fail_thrift(t, "the metadata are cut short");
    return p;
  }
  t->next += n;
  return p;
}

size_t gr_thrift_bytes(gr_thrift *t, gr_thrift_type type, const unsigned char **out) {
  uint64_t n = type == GR_THRIFT_BINARY ? read_varint(t) : 0;
  if (type != GR_THRIFT_BINARY) fail_thrift(t, "a field that is a text has another type");
  *out = take_bytes(t, n);
  return t->wrong ? 0 : (size_t)n;
}

// An element of a list or a map takes at least one byte.
static uint64_t check_count(gr_thrift *t, uint64_t n) {
  if (n <= (uint64_t)(t->end - t->next)) return n;
  return fail_thrift(t, "a list has more elements than the metadata have bytes");
}

static uint64_t read_list(gr_thrift *t, gr_thrift_type *elements) {
  unsigned head = read_byte(t);
  *elements = (gr_thrift_type)(head & 15);
  return check_count(t, head >> 4 < 15 ? head >> 4 : read_varint(t));
}

size_t gr_thrift_list(gr_thrift *t, gr_thrift_type type, gr_thrift_type elements) {
  gr_thrift_type found = elements;
  uint64_t n = type == GR_THRIFT_LIST ? read_list(t, &found) : 0;
  if (type != GR_THRIFT_LIST || (n && found != elements))
    return (size_t)fail_thrift(t, "a field that is a list has another type");
  return (size_t)n;
}

// ---- What is passed over ------------------------------------------------------------------------

static void skip_value(gr_thrift *t, gr_thrift_type type, bool in_list, int depth);

static void skip_elements(gr_thrift *t, int depth) {
  gr_thrift_type elements;
  uint64_t n = read_list(t, &elements);
  for (uint64_t i = 0; i < n && !t->wrong; i++) skip_value(t, elements, true, depth);
}

static void skip_map(gr_thrift *t, int depth) {
  uint64_t n = check_count(t, read_varint(t));
  unsigned types = n ? read_byte(t) : 0;
  for (uint64_t i = 0; i < n && !t->wrong; i++) {
    skip_value(t, (gr_thrift_type)(types >> 4), true, depth);
    skip_value(t, (gr_thrift_type)(types & 15), true, depth);
  }
}

static void skip_struct(gr_thrift *t, int depth) {
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) skip_value(t, f.type, false, depth);
}

// Truth values are in the type of a field, and a byte each in lists.
static void skip_value(gr_thrift *t, gr_thrift_type type, bool in_list, int depth) {
  if (depth > MAX_DEPTH) fail_thrift(t, "the metadata are nested too deep");
  if (t->wrong) return;
  if (type == GR_THRIFT_LIST || type == GR_THRIFT_SET)
    skip_elements(t, depth + 1);
  else if (type == GR_THRIFT_MAP)
    skip_map(t, depth + 1);
  else if (type == GR_THRIFT_STRUCT)
    skip_struct(t, depth + 1);
  else if (type == GR_THRIFT_BINARY)
    take_bytes(t, read_varint(t));
  else if (type == GR_THRIFT_DOUBLE || type == GR_THRIFT_UUID)
    take_bytes(t, type == GR_THRIFT_DOUBLE ? 8 : 16);
  else if (type == GR_THRIFT_TRUE || type == GR_THRIFT_FALSE)
    take_bytes(t, in_list);
  else
    (void)gr_thrift_int(t, type);
}

void gr_thrift_skip(gr_thrift *t, gr_thrift_type type) { skip_value(t, type, false, 0); }
