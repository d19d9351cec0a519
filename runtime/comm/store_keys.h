// store_keys.h - the keys of the store's server (store_server.c): what ranks gather.
#pragma once
#include "runtime/comm/store.h"

typedef struct gr_store_key {
  struct gr_store_key *older;
  char key[GR_STORE_KEY];
  size_t bytes;  // of each rank's part
  char *value;
  int came;    // how many ranks have contributed
  bool *here;  // by rank
} gr_store_key;

// Finds a key in a list, or adds it; NULL: no memory. key: GR_STORE_KEY bytes.
gr_store_key *gr_store_key_find(gr_store_key **list, const char *key, int ranks);
// Adds a rank's part. False: it does not match the others', or there is no memory.
bool gr_store_key_contribute(gr_store_key *, int ranks, int rank, const char *value, size_t bytes);
// Frees the list and the values in it.
void gr_store_keys_free(gr_store_key *list);
// Lists up to eight ranks that are not here: "1, 3, 4".
void gr_store_list_missing(const bool *here, int ranks, char *out, size_t size);
