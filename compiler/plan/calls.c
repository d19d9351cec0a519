// calls.c - see calls.h.
#include "compiler/plan/calls.h"
#include <string.h>
#include "ops/kernels/gpu.h"

struct gr_known_call {
  const gr_graph *g;
  const gr_node *node;
  uint32_t hash;
};

bool gr_call_same(const gr_graph *g, const gr_node *n, const gr_graph *h, const gr_node *m) {
  if (n->op != m->op || n->n_in != m->n_in || n->n_out != m->n_out) return false;
  for (int k = 0; k < n->n_in; k++)
    if (!gr_type_same(&gr_at(g, n->in[k])->type, &gr_at(h, m->in[k])->type)) return false;
  for (int k = 0; k < n->n_out; k++)
    if (!gr_type_same(&gr_at(g, gr_out(n, k))->type, &gr_at(h, gr_out(m, k))->type)) return false;
  return n->attr == m->attr || gr_attr_same(n->op, n->attr, m->attr);
}

uint32_t gr_call_hash(const gr_graph *g, const gr_node *n) {
  uint64_t hash = (uintptr_t)n->op / sizeof *n->op + n->attr_hash;
  for (int k = 0; k < n->n_in; k++) {
    const gr_type *t = &gr_at(g, n->in[k])->type;
    for (int d = 0; d < t->rank; d++) hash = 31 * hash + (uint64_t)t->dim[d];
  }
  return (uint32_t)(hash ^ hash >> 9 ^ hash >> 18);
}

enum { MIN_SLOTS = 64, MAX_PROBES = 16 };

gr_calls gr_calls_make(gr_arena *arena) {
  return (gr_calls){
      .arena = arena, .slots = GR_NEW(arena, uint32_t, MIN_SLOTS), .n_slots = MIN_SLOTS};
}

static uint32_t *empty_slot(const gr_calls *c, uint32_t hash) {
  uint32_t k = hash & (c->n_slots - 1);
  while (c->slots[k]) k = (k + 1) & (c->n_slots - 1);
  return &c->slots[k];
}

static void grow_slots(gr_calls *c) {
  c->n_slots *= 2;
  c->slots = GR_NEW(c->arena, uint32_t, c->n_slots);
  for (uint32_t i = 0; i < c->n; i++) *empty_slot(c, c->known[i].hash) = i + 1;
}

static uint32_t add(gr_calls *c, struct gr_known_call call) {
  struct gr_known_call *known = (struct gr_known_call *)c->known;
  GR_GROW(c->arena, known, c->n, c->cap);
  known[c->n] = call;
  c->known = known;
  if (2 * (c->n + 1) > c->n_slots) grow_slots(c);
  *empty_slot(c, call.hash) = c->n + 1;
  return c->n++;
}

uint32_t gr_calls_index(gr_calls *c, const gr_graph *g, const gr_node *n) {
  uint32_t hash = gr_call_hash(g, n), k = hash & (c->n_slots - 1);
  for (int probes = 0; c->slots[k] && probes < MAX_PROBES; probes++) {
    const struct gr_known_call *like = &c->known[c->slots[k] - 1];
    if (like->hash == hash && gr_call_same(g, n, like->g, like->node)) return c->slots[k] - 1;
    k = (k + 1) & (c->n_slots - 1);
  }
  return add(c, (struct gr_known_call){g, n, hash});
}

gr_scratch_sizes gr_scratch_sizes_make(gr_arena *arena, bool gpu) {
  return (gr_scratch_sizes){.calls = gr_calls_make(arena), .gpu = gpu};
}

static size_t scratch_of(const gr_graph *g, const gr_node *n, bool gpu) {
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  return gr_call_scratch(&call, gpu);
}

// Most kernels of CPUs need none, and say so at once; those of GPUs are described to know.
size_t gr_node_scratch(gr_scratch_sizes *s, const gr_graph *g, const gr_node *n) {
  if (!s->gpu) return n->op->scratch ? scratch_of(g, n, false) : 0;
  uint32_t i = gr_calls_index(&s->calls, g, n);
  if (i < s->n) return s->bytes[i];
  GR_GROW(s->calls.arena, s->bytes, s->n, s->cap);
  return s->bytes[s->n++] = scratch_of(g, n, true);
}

struct gr_rule_list {
  const gr_sharding_rule *rules;
  int n;
};

gr_status gr_sharding_rules_of(gr_rule_lists *l, const gr_graph *g, const gr_node *n,
                               const gr_sharding_rule **rules, int *count) {
  gr_sharding_rule found[GR_MAX_SHARDING_RULES];
  uint32_t i = gr_calls_index(&l->calls, g, n);
  if (i == l->n) {
    gr_op_call call;
    gr_op_call_of(g, n, &call);
    GR_TRY(gr_op_sharding_rules(&call, found, count));
    size_t bytes = sizeof *found * (size_t)*count;
    GR_GROW(l->calls.arena, l->lists, l->n, l->cap);
    l->lists[l->n++] =
        (struct gr_rule_list){memcpy(gr_arena_take(l->calls.arena, bytes), found, bytes), *count};
  }
  *rules = l->lists[i].rules, *count = l->lists[i].n;
  return GR_OK;
}
