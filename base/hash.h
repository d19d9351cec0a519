// hash.h - 64-bit FNV-1a, for plans, configs and splits: small, stable for ever, no library.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define GR_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t gr_hash_bytes(uint64_t from, const void *, size_t bytes);
// For tables in memory: eight bytes at a time, good low bits, another value in another version.
uint64_t gr_hash_quick(uint64_t from, const void *, size_t bytes);
uint64_t gr_hash_text(const char *);  // with a final mix, so that low bits are good
