// recurrent.h - three small recurrent models, as scans or written out step by step, and what
// training them gives.
#pragma once
#include "tests/world.h"

enum { N = 4, C = 3, H = 5, D = 4, V = 3, STEPS = 10, MANY = 512, LEAVES = 32 };
typedef enum kind { ELMAN, LMU, STACK, KINDS } kind;
extern const char *const kind_name[];

typedef struct setup {
  kind kind;
  bool unrolled, no_hoist;
  int t, ranks;
} setup;

typedef struct result {
  float loss[STEPS];
  float grad[LEAVES][MANY];  // of each weight, in the first step
  int n_states, nodes, loop_nodes, loop_matmuls, matmuls, all_reduces, all_gathers, unread;
  size_t peak, body;
} result;

gr_graph *recurrent_model(gr_arena *, const setup *);
gr_graph *recurrent_compile(gr_arena *, const setup *, const char *dump);
void recurrent_put(world *, const gr_value *moved, int64_t index, float by);  // all leaves' values
void recurrent_train(const setup *, result *);
gr_val recurrent_leaf(gr_builder *, gr_role, const char *name, const char *type, int split);
