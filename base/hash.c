// hash.c - FNV-1a (Fowler, Noll, Vo; RFC 9923); text is finalised with Stafford's mixer variant 13;
// XXH64 as its specification has it.
#include "base/hash.h"
#include <assert.h>
#include <string.h>

uint64_t gr_hash_bytes(uint64_t h, const void *p, size_t bytes) {
  assert(p || !bytes);
  const unsigned char *c = p;
  for (size_t i = 0; i < bytes; i++) h = (h ^ c[i]) * UINT64_C(0x100000001b3);
  return h;
}

uint64_t gr_hash_text(const char *s) {
  assert(s);
  return gr_hash_mixed(gr_hash_bytes(GR_HASH_START, s, strlen(s)));
}

uint64_t gr_hash_mixed(uint64_t h) {
  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  return h ^ (h >> 31);
}

// Each step is a bijection of h, so that what differs in one word only has different hashes.
uint64_t gr_hash_quick(uint64_t h, const void *p, size_t bytes) {
  assert(p || !bytes);
  const unsigned char *c = p;
  uint64_t word;
  for (; bytes >= sizeof word; c += sizeof word, bytes -= sizeof word) {
    memcpy(&word, c, sizeof word);
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
  }
  word = bytes;  // so that zeros at the end count
  for (size_t i = 0; i < bytes; i++) word = word << 8 | c[i];
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 32);
}

// ---- XXH64 ------------------------------------------------------------------------------------

#define P1 UINT64_C(0x9e3779b185ebca87)
#define P2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define P3 UINT64_C(0x165667b19e3779f9)
#define P4 UINT64_C(0x85ebca77c2b2ae63)
#define P5 UINT64_C(0x27d4eb2f165667c5)

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

// Little-endian on every machine.
static uint64_t word_at(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v = __builtin_bswap64(v);
#endif
  return v;
}

static uint64_t mix(uint64_t lane, uint64_t word) { return rotate(lane + word * P2, 31) * P1; }

// Hashes all blocks of 32 bytes.
static uint64_t hash_blocks(const unsigned char *p, const unsigned char *end) {
  uint64_t a = P1 + P2, b = P2, c = 0, d = 0 - P1;
  for (; end - p >= 32; p += 32) {
    a = mix(a, word_at(p)), b = mix(b, word_at(p + 8));
    c = mix(c, word_at(p + 16)), d = mix(d, word_at(p + 24));
  }
  uint64_t h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  h = (h ^ mix(0, a)) * P1 + P4, h = (h ^ mix(0, b)) * P1 + P4;
  return h = (h ^ mix(0, c)) * P1 + P4, (h ^ mix(0, d)) * P1 + P4;
}

uint64_t gr_hash_data(const void *data, size_t bytes) {
  assert(data || !bytes);
  const unsigned char *p = data, *end = p + bytes;
  uint64_t h = (bytes < 32 ? P5 : hash_blocks(p, end)) + bytes;
  for (p += bytes / 32 * 32; end - p >= 8; p += 8) h = rotate(h ^ mix(0, word_at(p)), 27) * P1 + P4;
  if (end - p >= 4) {
    uint64_t half =
        (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    h = rotate(h ^ half * P1, 23) * P2 + P3, p += 4;
  }
  for (; p < end; p++) h = rotate(h ^ *p * P5, 11) * P1;
  h = (h ^ h >> 33) * P2;
  h = (h ^ h >> 29) * P3;
  return h ^ h >> 32;
}
