// inputs.h - what fills each input of a program: a tensor of the batch, or a number that the
// training loop writes before each step. Settled once, when the plan is made, for every input of
// every program: `plan` refuses what nothing fills, and a run copies by these tables alone.
#pragma once
#include "compiler/plan/plan.h"
#include "runtime/data/dataset.h"

enum { GR_INPUT_LR = -1, GR_INPUT_MICRO = -2 };  // instead of a field

typedef struct gr_program_input {
  const char *name;
  gr_type type;  // of one rank
  int field;     // of the batch, or one of the above
} gr_program_input;

typedef struct gr_program_inputs {
  gr_program_input *at;
  int n;
} gr_program_inputs;

// `shapes` is what a rank has of a batch of the program's bucket; NULL: the program reads none.
// Fails, with the input's place, for one that nothing fills or that is of another type.
GR_MUST_USE gr_status gr_program_inputs_bind(gr_arena *, const gr_program *, const gr_batch *shapes,
                                             gr_program_inputs *out);
