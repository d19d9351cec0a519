// store_keys.c - see store_keys.h.
#include "runtime/comm/store_keys.h"
#include <stdlib.h>
#include <string.h>
#include "base/shown.h"

gr_store_key *gr_store_key_find(gr_store_key **list, const char *key, int ranks) {
  gr_store_key *e = *list;
  while (e && strcmp(e->key, key)) e = e->older;
  if (e) return e;
  e = calloc(1, sizeof *e);
  bool *here = calloc((size_t)ranks, sizeof *here);
  if (!e || !here) {
    free(e), free(here);
    return NULL;
  }
  memcpy(e->key, key, sizeof e->key);
  e->here = here;
  e->older = *list, *list = e;
  return e;
}

bool gr_store_key_contribute(gr_store_key *e, int ranks, int rank, const char *value,
                             size_t bytes) {
  if (!e->came) e->bytes = bytes, e->value = calloc((size_t)ranks, bytes ? bytes : 1);
  if (!e->value || e->bytes != bytes || e->here[rank]) return false;
  memcpy(e->value + (size_t)rank * bytes, value, bytes);
  e->here[rank] = true;
  e->came++;
  return true;
}

void gr_store_keys_free(gr_store_key *e) {
  for (gr_store_key *older; e; e = older) {
    older = e->older;
    free(e->value), free(e->here), free(e);
  }
}

void gr_store_list_missing(const bool *here, int ranks, char *out, size_t size) {
  int n = 0;
  *out = 0;
  for (int r = 0; r < ranks; r++)
    if (!here[r]) gr_list_number(out, size, n++, r);
}
