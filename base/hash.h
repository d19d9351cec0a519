// hash.h - 64-bit FNV-1a, for config hashes and data splits, and XXH64, for data and plans. Hashes
// are stored in files: the functions must never change, except gr_hash_quick.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define GR_HASH_START UINT64_C(0xcbf29ce484222325)
// Continues the hash `seed`; a new one starts at GR_HASH_START.
uint64_t gr_hash_bytes(uint64_t seed, const void *, size_t bytes);
// XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) with seed 0: four lanes of 64 bits,
// several times as fast as memory is read. `xxhsum -H1` prints the same.
uint64_t gr_hash_data(const void *, size_t bytes);
// For hash tables in memory: eight bytes at a time, uniform low bits. Unlike the others it may
// change from version to version: never store it.
uint64_t gr_hash_quick(uint64_t seed, const void *, size_t bytes);
// Hash of a string, finalised with a mixer so that the low bits are uniform too.
uint64_t gr_hash_text(const char *);
// That mixer, a bijection: for the gr_hash_bytes of a text in parts, and for numbers one by one.
uint64_t gr_hash_mixed(uint64_t);
