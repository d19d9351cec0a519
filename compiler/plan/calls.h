// calls.h - the calls that nodes make, each once: layers repeat theirs, so that what depends on a
// call alone (gr_call_same) is found once for all nodes that make it.
#pragma once
#include "base/grow.h"
#include "ir/op.h"

// Whether node n of g calls what node m of h calls: what is true of the types of one is so of the
// other's.
bool gr_call_same(const gr_graph *g, const gr_node *n, const gr_graph *h, const gr_node *m);
// A hash of what a node calls, which is that of all nodes that call the same.
uint32_t gr_call_hash(const gr_graph *, const gr_node *);

typedef struct gr_calls {
  gr_arena *arena;
  const struct gr_known_call *known;  // n of them, by index
  uint32_t n, cap;
  uint32_t *slots;  // 1 + index, 0: empty
  uint32_t n_slots;
} gr_calls;
gr_calls gr_calls_make(gr_arena *);  // empty; grows in the arena

// The index of a node's call; a new one's is the number of those before it. Graphs must live as
// long as the table. Two indices may be of the same call, where too many differ but hash alike.
uint32_t gr_calls_index(gr_calls *, const gr_graph *, const gr_node *);

// The working memory of calls, by index.
typedef struct gr_scratch_sizes {
  gr_calls calls;
  bool gpu;
  size_t *bytes;
  uint32_t n, cap;
} gr_scratch_sizes;
gr_scratch_sizes gr_scratch_sizes_make(gr_arena *, bool gpu);  // empty, for such a device
// Bytes of working memory that a node's kernel needs (gr_call_scratch).
size_t gr_node_scratch(gr_scratch_sizes *, const gr_graph *, const gr_node *);

// The sharding rules of calls, by index.
typedef struct gr_rule_lists {
  gr_calls calls;
  struct gr_rule_list *lists;
  uint32_t n, cap;
} gr_rule_lists;
// gr_op_sharding_rules of a node's call; they stay where they are. Its errors are of the node.
GR_MUST_USE gr_status gr_sharding_rules_of(gr_rule_lists *, const gr_graph *, const gr_node *,
                                           const gr_sharding_rule **rules, int *n);
