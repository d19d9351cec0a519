// cache.c - see cache.h.
#include "runtime/data/tokenizer/cache.h"
#include <pthread.h>

enum { MAX_WORDS = 1 << 17 };

struct gr_bpe_cache {
  pthread_mutex_t lock;
  gr_arena *arena;
  gr_map words;      // word -> where it is in `tokens`
  gr_tokens tokens;  // of each word their number, and then they
};

static void cache_empty(gr_bpe_cache *c) {
  gr_arena_destroy(c->arena);
  c->arena = gr_arena_create();
  c->words = gr_map_make(c->arena);
  c->tokens = (gr_tokens){.arena = c->arena};
}

gr_bpe_cache *gr_bpe_cache_make(gr_arena *a) {
  gr_bpe_cache *c = GR_NEW(a, gr_bpe_cache, 1);
  pthread_mutex_init(&c->lock, NULL);
  cache_empty(c);
  return c;
}

void gr_bpe_cache_close(gr_bpe_cache *c) {
  if (!c) return;
  gr_arena_destroy(c->arena);
  pthread_mutex_destroy(&c->lock);
}

void gr_bpe_cache_lock(gr_bpe_cache *c) { pthread_mutex_lock(&c->lock); }
void gr_bpe_cache_unlock(gr_bpe_cache *c) { pthread_mutex_unlock(&c->lock); }

bool gr_bpe_cache_find(const gr_bpe_cache *c, const char *word, gr_tokens *out) {
  uint32_t found;
  if (!gr_map_find(&c->words, word, &found)) return false;
  const int32_t *tokens = c->tokens.id + found;
  for (int32_t i = 0; i < tokens[0]; i++) gr_tokens_put(out, tokens[1 + i]);
  return true;
}

void gr_bpe_cache_put(gr_bpe_cache *c, const char *word, const int32_t *ids, int64_t n) {
  if (c->words.n >= MAX_WORDS) cache_empty(c);
  gr_map_put(&c->words, gr_arena_strdup(c->arena, word), (uint32_t)c->tokens.n);
  gr_tokens_put(&c->tokens, (int32_t)n);
  for (int64_t i = 0; i < n; i++) gr_tokens_put(&c->tokens, ids[i]);
}
