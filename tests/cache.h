// cache.h - what slow compilers have made for tests, kept between runs and shared by all builds: a
// file for each entry, in the folder `kind` of $GRAPHRUN_TEST_CACHE (tests/README.md says where
// that is, and how it is emptied). Any number of processes may use it at once: a rename puts an
// entry there whole, and one that does not verify is not there.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cache_key {
  uint64_t half[2];
} cache_key;
// A key to which nothing has been added yet.
cache_key cache_key_start(void);
// Adds bytes that the entry depends on; the order counts, and so does where one call ends.
void cache_key_add(cache_key *, const void *, size_t bytes);

// Reads an entry: `*out` is the caller's to free, and a zero follows its bytes. False: there is
// none.
bool cache_read(const char *kind, const cache_key *, char **out, size_t *bytes);
// Keeps an entry; where that fails, it is not kept.
void cache_write(const char *kind, const cache_key *, const void *, size_t bytes);

// Waits until no other process or thread makes an entry with this key, or one of a few others: a
// caller that has found none reads again then, since it may be there now. The result is for
// cache_unlock; < 0: nothing is kept, and none waits.
int cache_lock(const char *kind, const cache_key *);
// Lets the next one make entries with these keys.
void cache_unlock(int lock);
