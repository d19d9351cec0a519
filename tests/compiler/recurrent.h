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

// The forward graph of a setup, in the arena; aborts where it has an error.
gr_graph *recurrent_model(gr_arena *, const setup *);
// Its training step after all passes; dump: the pass whose result is printed, or NULL.
gr_graph *recurrent_compile(gr_arena *, const setup *, const char *dump);
void recurrent_put(world *, const gr_value *moved, int64_t index, float by);  // all leaves' values
// Trains it for STEPS steps on the setup's ranks and records what the result has.
void recurrent_train(const setup *, result *);
// Emits a leaf of a type such as "f32[n,5]"; split: its placement on the axis of ranks.
gr_val recurrent_leaf(gr_builder *, gr_role, const char *name, const char *type, int split);
