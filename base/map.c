// map.c - hash map (map.h): open addressing over arrays in insertion order.
#include "base/map.h"
#include <assert.h>
#include <string.h>
#include "base/hash.h"

gr_map gr_map_make(gr_arena *a) {
  assert(a);
  return (gr_map){.arena = a};
}

static uint32_t hash_of(const char *key) {
  return (uint32_t)gr_hash_quick(GR_HASH_START, key, strlen(key));
}

static bool is_at(const gr_map *m, uint32_t i, const char *key, uint32_t hash) {
  return m->hashes[i] == hash && !strcmp(m->keys[i], key);
}

// The slot of the key, or the empty one where it would go.
static uint32_t slot_of(const gr_map *m, const char *key, uint32_t hash) {
  uint32_t mask = m->n_slots - 1, slot = hash & mask;
  while (m->slots[slot] && !is_at(m, m->slots[slot] - 1, key, hash)) slot = (slot + 1) & mask;
  return slot;
}

bool gr_map_find(const gr_map *m, const char *key, uint32_t *out) {
  assert(key);
  if (!m->n) return false;
  uint32_t i = m->slots[slot_of(m, key, hash_of(key))];
  if (i && out) *out = m->values[i - 1];
  return i != 0;
}

static void grow(gr_map *m) {
  uint32_t cap = m->cap ? m->cap * 2 : 8;
  const char **keys = GR_NEW(m->arena, const char *, cap);
  uint32_t *values = GR_NEW(m->arena, uint32_t, cap), *hashes = GR_NEW(m->arena, uint32_t, cap);
  if (m->n) memcpy(keys, m->keys, sizeof *keys * m->n);
  if (m->n) memcpy(values, m->values, sizeof *values * m->n);
  if (m->n) memcpy(hashes, m->hashes, sizeof *hashes * m->n);
  m->keys = keys, m->values = values, m->hashes = hashes, m->cap = cap;
  m->n_slots = cap * 2;
  m->slots = GR_NEW(m->arena, uint32_t, m->n_slots);
  for (uint32_t i = 0; i < m->n; i++) m->slots[slot_of(m, keys[i], hashes[i])] = i + 1;
}

static void put(gr_map *m, const char *key, uint32_t value, bool again) {
  assert(m->arena && key);
  if (m->n == m->cap) grow(m);
  uint32_t hash = hash_of(key), slot = slot_of(m, key, hash);
  bool there = m->slots[slot] != 0;
  if (!there) {
    m->keys[m->n] = key, m->hashes[m->n] = hash;
    m->slots[slot] = ++m->n;
  }
  if (!there || again) m->values[m->slots[slot] - 1] = value;
}

void gr_map_put(gr_map *m, const char *key, uint32_t value) { put(m, key, value, true); }
void gr_map_add(gr_map *m, const char *key, uint32_t value) { put(m, key, value, false); }
