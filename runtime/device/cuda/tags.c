// tags.c - what the nodes of CUDA graphs are of: a hash table by the numbers that CUPTI gives them.
#include <stdlib.h>
#include "runtime/device/cuda/parts.h"

static gr_node_tag *slot_of(gr_node_tag *slots, size_t n, uint64_t node) {
  size_t index = (size_t)(node * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n - 1);
  while (slots[index].node && slots[index].node != node) index = (index + 1) & (n - 1);
  return &slots[index];
}

const gr_node_tag *gr_tag_find(const gr_node_tags *t, uint64_t node) {
  const gr_node_tag *tag = node && t->n_slots ? slot_of(t->slots, t->n_slots, node) : NULL;
  return tag && tag->node ? tag : NULL;
}

void gr_tag_put(gr_node_tags *t, gr_node_tag tag) {
  if (2 * (t->n + 1) > t->n_slots) {
    size_t n = t->n_slots ? 2 * t->n_slots : 1024;
    gr_node_tag *more = calloc(n, sizeof *more);
    if (!more) return;
    for (size_t i = 0; i < t->n_slots; i++)
      if (t->slots[i].node) *slot_of(more, n, t->slots[i].node) = t->slots[i];
    free(t->slots);
    t->slots = more, t->n_slots = n;
  }
  gr_node_tag *to = slot_of(t->slots, t->n_slots, tag.node);
  t->n += !to->node;
  *to = tag;
}

void gr_tags_free(gr_node_tags *t) {
  free(t->slots);
  *t = (gr_node_tags){0};
}
