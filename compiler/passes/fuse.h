// fuse.h - what the pass `fuse` knows of a graph, between finding groups (fuse.c) and emitting them
// (fuse_emit.c).
#pragma once
#include "compiler/pass.h"
#include "ops/kernels/fused.h"

typedef struct gr_fuse {
  const gr_graph *g;  // the old graph, or the body of a loop
  gr_builder *b;      // of the new one
  gr_val *map;        // by old value
  gr_arena *arena;
  bool in_loop;
  bool *part;         // by node: it can be a part
  uint32_t *level;    // by node
  uint32_t *group;    // by node: 1 + the first node of its group, or 0
  uint32_t *next;     // by node: the next node of its group, or 0
  uint32_t *end;      // by first node of a group: the last one
  uint32_t *size;     // by first node of a group
  bool *kept;         // by value: it is read outside of its group
  uint32_t *last;     // by value: the last node that reads it
  uint32_t *readers;  // by value: how many operands it is
  uint8_t *widens;    // by node: a bit for each operand that its group casts again (fuse.c)
  bool *done;         // by node
  gr_val *inside;     // by old value, while a group is emitted: its value in the group's body
  void *context;
  void (*copy)(void *context, const gr_node *);  // emits a node that is no part
} gr_fuse;

// A group: its nodes in order, what they read from outside, and what is read outside of it.
typedef struct gr_fuse_members {
  uint32_t node[GR_FUSED_PARTS];
  gr_val in[GR_FUSED_VALUES], out[GR_FUSED_VALUES];  // of the old graph
  int n, n_in, n_out;
} gr_fuse_members;

// Whether operand k of node n, a narrow value as f32, is cast in its group again.
static inline bool gr_fuse_widens(const gr_fuse *f, uint32_t n, int k) {
  return k < GR_FUSED_ARGS && f->widens[n] >> k & 1;
}
// What a node reads as operand k: itself, or what it is cast from in its group.
static inline gr_val gr_fuse_read(const gr_fuse *f, uint32_t n, int k) {
  gr_val v = f->g->nodes[n].in[k];
  return gr_fuse_widens(f, n, k) ? f->g->nodes[gr_at(f->g, v)->node].in[0] : v;
}

// The group of node i, with its operands and results in the order that they have in the fused node.
void gr_fuse_find_members(const gr_fuse *, uint32_t i, gr_fuse_members *);
// Emits a group as a fused node; what it reads is there.
void gr_fuse_emit(gr_fuse *, const gr_fuse_members *);
