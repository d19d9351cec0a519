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

// The group of node i, with its operands and results in the order that they have in the fused node.
void gr_fuse_find_members(const gr_fuse *, uint32_t i, gr_fuse_members *);
// Emits a group as a fused node; what it reads is there.
void gr_fuse_emit(gr_fuse *, const gr_fuse_members *);
