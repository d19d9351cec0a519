// plan.h - what a rank runs: programs over shared states, and where every value lies. The last
// thing the compiler makes and the only thing the runtime reads.
//
// Two blocks of memory: `states`, which live from step to step and have the same offsets in
// every program, and `arena`, which every program reuses. Nothing else is ever allocated.
#pragma once
#include "ir/op.h"

typedef struct gr_plan_state {
  const char *name;
  gr_kind kind;
  gr_type type;    // what one rank holds
  gr_type global;  // the whole
  gr_layout layout;
  size_t offset, bytes;  // in the states block
  bool trained;          // a weight that some program changes
} gr_plan_state;

enum { GR_PLAN_ALIGN = 64 };  // bytes: every offset of a plan is a multiple

// How a carry of a scan gets from one step to the next: chosen by carry.c, proved by prove_carry.c,
// and done by runtime/exec/loop.c.
typedef enum gr_carry_update {
  GR_CARRY_UNCHANGED,        // its next value is itself
  GR_CARRY_IN_STACK,         // its next value is a yield: the next step reads it in the stack
  GR_CARRY_IN_PLACE,         // its next value is made in its memory, which nothing reads any more
  GR_CARRY_DOUBLE_BUFFERED,  // its next value has a place to itself: the two places take turns
  GR_CARRY_COPIED,           // its next value is copied to it when a step ends
  GR_CARRY_COUNT,
} gr_carry_update;
extern const char *const gr_carry_updates[GR_CARRY_COUNT];  // as words, "double-buffered"

// Where a graph's values lie. A scan's body has a frame of its own, into a piece of the
// arena that all steps use again. Of a body's values only those made and used within a step
// are in there: leaves are where the operands are, carries where the last carries will be,
// and what is yielded is made where it is stacked.
typedef struct gr_plan_frame gr_plan_frame;
struct gr_plan_frame {
  const gr_graph *g;
  uint64_t graph_hash;     // gr_graph_hash(g)
  size_t *offset;          // by value: into the block below (bodies: into their piece)
  bool *in_states;         // by value: the block is `states`, not `arena`
  size_t *scratch;         // by node: where op->scratch bytes begin, in the same block as temps
  size_t *body_at;         // by node: where the body's piece begins
  gr_plan_frame **body;    // by node; NULL: it has none
  int *stacked;            // of a body, by value: 1 + the yield it is made in place of, or 0
  int n_carry;             // of a body
  gr_carry_update *carry;  // n_carry of them
  uint32_t *state_of;      // by value: 1 + index into plan.states, or 0
  size_t bytes;            // of the arena (or the body's piece)
  size_t lower_bound;      // the most that is alive at any node: no plan can be smaller
  uint32_t peak_node;      // where that is
};

// What compiling a program found out, for people.
typedef struct gr_pass_note {
  const char *pass;
  uint32_t nodes, in_loops, collectives;  // of the graph it left; in_loops: of bodies
  double calls, bytes;  // kernels run by one run of the program, and what they read and write
} gr_pass_note;
enum { GR_MAX_PASSES = 16 };
typedef struct gr_notes {
  gr_arena *arena;  // of what passes after the first note, whose graphs do not last
  gr_pass_note passes[GR_MAX_PASSES];
  int n_passes;
  const char **unused;  // weights that the loss does not depend on
  uint32_t n_unused;
  const char **confined;  // weights that are split less, or otherwise, for the optimizer's sake
  uint32_t n_confined;
  const gr_node **dead;  // nodes that nothing asked for depends on
  uint32_t n_dead;
} gr_notes;

typedef struct gr_program {
  const char *name;    // "init", "train.t300", "eval.t300"
  const char *kind;    // "init", "train" (or "micro" and "update"), "eval"
  const char *bucket;  // "t300", or ""
  gr_plan_frame frame;
  gr_notes notes;
} gr_program;

typedef struct gr_plan {
  gr_mesh mesh;
  gr_plan_state *states;
  uint32_t n_states;
  gr_program *programs;
  uint32_t n_programs;
  size_t state_bytes, arena_bytes;  // of one rank; the arena is the largest program's
  uint64_t hash;                    // of everything above: ranks compare it before step 0
} gr_plan;

// "train", "eval" etc. of a bucket; NULL: the plan has none.
const gr_program *gr_plan_find(const gr_plan *, const char *kind, const char *bucket);
// Numbers of all weights of the whole model; *trained: of those that training changes.
int64_t gr_plan_parameters(const gr_plan *, int64_t *trained);
