// cache.h - the tokens of words that have been seen, within bounds: most words of a text come again
// soon.
#pragma once
#include "runtime/data/tokenizer/tokenizer.h"

enum { GR_CACHED_WORD = 64 };  // bytes of a word, at most

typedef struct gr_bpe_cache gr_bpe_cache;
gr_bpe_cache *gr_bpe_cache_make(gr_arena *);  // empty, and in the arena
void gr_bpe_cache_close(gr_bpe_cache *);      // NULL is fine
// Waits until no other thread has the cache; the functions below are called while it is locked.
void gr_bpe_cache_lock(gr_bpe_cache *);
// Gives the cache to other threads, after gr_bpe_cache_lock.
void gr_bpe_cache_unlock(gr_bpe_cache *);
// Appends the tokens of a word; false: it is not there.
bool gr_bpe_cache_find(const gr_bpe_cache *, const char *word, gr_tokens *out);
// Keeps n tokens of a word that is not there. A full cache is emptied before.
void gr_bpe_cache_put(gr_bpe_cache *, const char *word, const int32_t *ids, int64_t n);
