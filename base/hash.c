// hash.c - FNV-1a (Fowler, Noll, Vo; RFC 9923); text is finalised with Stafford's mixer variant 13.
#include "base/hash.h"
#include <string.h>

uint64_t gr_hash_bytes(uint64_t h, const void *p, size_t bytes) {
  const unsigned char *c = p;
  for (size_t i = 0; i < bytes; i++) h = (h ^ c[i]) * UINT64_C(0x100000001b3);
  return h;
}

uint64_t gr_hash_text(const char *s) {
  uint64_t h = gr_hash_bytes(GR_HASH_START, s, strlen(s));
  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  return h ^ (h >> 31);
}

// Each step is a bijection of h, so that what differs in one word only has different hashes.
uint64_t gr_hash_quick(uint64_t h, const void *p, size_t bytes) {
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
