// encodings.c - see encodings.h.
#include "runtime/data/parquet/encodings.h"
#include <string.h>
#include "base/proto.h"

static size_t bytes_left(const gr_span *s) { return (size_t)(s->end - s->next); }

static bool read_zigzag(gr_span *s, int64_t *out) {
  uint64_t v;
  bool good = gr_proto_read_varint(&s->next, s->end, &v);
  *out = (int64_t)(v >> 1 ^ (0 - (v & 1)));
  return good;
}

static uint64_t read_fixed(const unsigned char *p, size_t bytes) {
  uint64_t v = 0;
  memcpy(&v, p, bytes);  // all supported machines are little-endian
  return v;
}

// `width` bits, up to 64, from a bit of n bytes that have them; the lowest bits come first.
static uint64_t bits_of(const unsigned char *p, size_t n, uint64_t bit, int width) {
  size_t byte = (size_t)(bit >> 3), left = n - byte;
  int shift = (int)(bit & 7);
  if (!width) return 0;
  uint64_t v = (left >= 8 ? read_fixed(p + byte, 8) : read_fixed(p + byte, left)) >> shift;
  if (shift + width > 64) v |= (uint64_t)p[byte + 8] << (64 - shift);
  return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

// ---- Runs ---------------------------------------------------------------------------------------

// Groups of 8 packed values; the last group may have more than are left.
static bool read_packed(gr_span *s, int bits, uint64_t groups, size_t n, uint32_t *out) {
  if (groups > bytes_left(s) && bits) return false;
  size_t bytes = (size_t)groups * (size_t)bits;
  if (bytes > bytes_left(s)) return false;
  for (size_t i = 0; i < n; i++)
    out[i] = (uint32_t)bits_of(s->next, bytes, (uint64_t)i * (unsigned)bits, bits);
  s->next += bytes;
  return true;
}

bool gr_span_hybrid(gr_span *s, int bits, size_t n, uint32_t *out) {
  size_t bytes = ((size_t)bits + 7) / 8;
  if (bits < 0 || bits > 32) return false;
  for (size_t done = 0; done < n;) {
    uint64_t head;
    if (!gr_proto_read_varint(&s->next, s->end, &head) || !(head >> 1)) return false;
    uint64_t here = head & 1 ? (head >> 1 < n ? (head >> 1) * 8 : n) : head >> 1;
    size_t take = here < n - done ? (size_t)here : n - done;
    if (head & 1) {
      if (!read_packed(s, bits, head >> 1, take, out + done)) return false;
    } else {
      if (bytes > bytes_left(s)) return false;
      uint32_t value = (uint32_t)read_fixed(s->next, bytes);
      for (size_t i = 0; i < take; i++) out[done + i] = value;
      s->next += bytes;
    }
    done += take;
  }
  return true;
}

// ---- Plain --------------------------------------------------------------------------------------

bool gr_span_bits(gr_span *s, size_t n, unsigned char *out) {
  if (n / 8 + (n % 8 != 0) > bytes_left(s)) return false;
  for (size_t i = 0; i < n; i++) out[i] = s->next[i / 8] >> (i % 8) & 1;
  s->next += n / 8 + (n % 8 != 0);
  return true;
}

bool gr_span_fixed(gr_span *s, size_t size, size_t n, unsigned char *out) {
  if (n > bytes_left(s) / size) return false;
  if (n) memcpy(out, s->next, n * size);
  s->next += n * size;
  return true;
}

bool gr_span_split(gr_span *s, size_t size, size_t n, unsigned char *out) {
  if (n > bytes_left(s) / size) return false;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < size; k++) out[i * size + k] = s->next[k * n + i];
  s->next += n * size;
  return true;
}

static bool take_text(gr_span *s, uint64_t n, gr_bytes *out) {
  if (n > bytes_left(s)) return false;
  *out = (gr_bytes){s->next, (size_t)n};
  s->next += n;
  return true;
}

bool gr_span_texts(gr_span *s, size_t n, gr_bytes *out) {
  for (size_t i = 0; i < n; i++) {
    if (bytes_left(s) < 4) return false;
    uint64_t length = read_fixed(s->next, 4);
    s->next += 4;
    if (!take_text(s, length, &out[i])) return false;
  }
  return true;
}

// ---- Differences --------------------------------------------------------------------------------

typedef struct delta {
  size_t per_mini, minis;  // values of a miniblock, miniblocks of a block
  uint64_t value;          // the last one
} delta;

// A miniblock: differences above the block's least one, packed. Those beyond the last value are
// there, too.
static bool read_mini(gr_span *s, delta *d, int width, uint64_t least, size_t n, int64_t *out) {
  size_t bytes = d->per_mini / 8 * (size_t)width;
  if (bytes > bytes_left(s)) return false;
  for (size_t i = 0; i < n; i++) {
    d->value += least + bits_of(s->next, bytes, (uint64_t)i * (unsigned)width, width);
    out[i] = (int64_t)d->value;
  }
  s->next += bytes;
  return true;
}

static bool read_block(gr_span *s, delta *d, size_t n, int64_t *out, size_t *done) {
  int64_t least;
  if (!read_zigzag(s, &least) || d->minis > bytes_left(s)) return false;
  const unsigned char *widths = s->next;
  s->next += d->minis;
  for (size_t m = 0; m < d->minis && *done < n; m++) {
    size_t take = n - *done < d->per_mini ? n - *done : d->per_mini;
    if (widths[m] > 64) return false;
    if (!read_mini(s, d, widths[m], (uint64_t)least, take, out + *done)) return false;
    *done += take;
  }
  return true;
}

bool gr_span_delta(gr_span *s, size_t n, int64_t *out) {
  enum { LARGEST = 1 << 20 };
  uint64_t block, minis, count;
  int64_t first;
  if (!n) return true;
  if (!gr_proto_read_varint(&s->next, s->end, &block) ||
      !gr_proto_read_varint(&s->next, s->end, &minis) ||
      !gr_proto_read_varint(&s->next, s->end, &count))
    return false;
  if (!read_zigzag(s, &first) || !minis || !block || block > LARGEST || block % minis) return false;
  if (count != n || block / minis % 32) return false;
  delta d = {(size_t)(block / minis), (size_t)minis, (uint64_t)first};
  size_t done = 1;
  out[0] = first;
  while (done < n)
    if (!read_block(s, &d, n, out, &done)) return false;
  return true;
}

bool gr_span_delta_lengths(gr_span *s, size_t n, int64_t *lengths, gr_bytes *out) {
  if (!gr_span_delta(s, n, lengths)) return false;
  for (size_t i = 0; i < n; i++)
    if (lengths[i] < 0 || !take_text(s, (uint64_t)lengths[i], &out[i])) return false;
  return true;
}

bool gr_span_delta_parts(gr_span *s, size_t n, int64_t *lengths, int64_t *prefixes,
                         gr_bytes *suffixes, size_t *total) {
  uint64_t before = 0, all = 0;
  if (!gr_span_delta(s, n, prefixes)) return false;
  if (!gr_span_delta_lengths(s, n, lengths, suffixes)) return false;
  for (size_t i = 0; i < n; i++) {
    if (prefixes[i] < 0 || (uint64_t)prefixes[i] > before) return false;
    before = (uint64_t)prefixes[i] + suffixes[i].n;
    if (__builtin_add_overflow(all, before, &all)) return false;
  }
  *total = (size_t)all;
  return true;
}

void gr_join_parts(size_t n, const int64_t *prefixes, const gr_bytes *suffixes, unsigned char *room,
                   gr_bytes *out) {
  for (size_t i = 0; i < n; i++) {
    size_t prefix = (size_t)prefixes[i];
    if (prefix) memcpy(room, out[i - 1].first, prefix);
    if (suffixes[i].n) memcpy(room + prefix, suffixes[i].first, suffixes[i].n);
    out[i] = (gr_bytes){room, prefix + suffixes[i].n};
    room += out[i].n;
  }
}
