// inputs.h - binds each input of a program to its source: a field of the batch, or a number that
// the training loop writes before each step. This is done once, after the plan is compiled, for
// every input of every program, so that `graphrun plan` reports an input without a source, and a
// step only copies by this table.
#pragma once
#include "base/adjustable.h"
#include "compiler/plan/plan.h"
#include "runtime/data/dataset.h"

// The learning rate; the index of the micro-batch; a sum or metric of an evaluation (sums.c);
// GR_INPUT_SET - k: value k that hooks may set.
enum { GR_INPUT_LR = -1, GR_INPUT_MICRO = -2, GR_INPUT_SUM = -3, GR_INPUT_SET = -4 };

typedef struct gr_program_input {
  const char *name;
  gr_type type;  // of one rank's slice
  int field;     // index of the batch's field, or one of the above
} gr_program_input;

typedef struct gr_program_inputs {
  gr_program_input *items;
  int n;
} gr_program_inputs;

// Binds all inputs of a program; `adjust` lists the values that hooks may set. `shapes` has the
// fields of a rank's rows in a batch of the program's bucket; NULL: the program reads no batch. An
// input without a source, or whose type differs, is an error at its line of the model.
GR_MUST_USE gr_status gr_program_inputs_bind(gr_arena *, const gr_program *, const gr_batch *shapes,
                                             const gr_adjustable *adjust, int n_adjust,
                                             gr_program_inputs *out);

// Checks that the data have the tables of the plan's states, of their types (tables.c).
GR_MUST_USE gr_status gr_tables_check(const gr_plan *, const gr_contract *);
