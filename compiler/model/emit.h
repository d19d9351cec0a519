// emit.h - emits ops: of operands that are broadcast as in NumPy (fit.c), and by name (op.c).
#pragma once
#include "compiler/model/parts.h"

typedef struct gr_operand {
  bool number, absent;  // a number, in `by`; an optional operand that is not given; else a tensor
  bool of_block;        // the number is an operand of the block
  double by;
  gr_val v;
  gr_loc loc;
  const char *name;  // as it is written
} gr_operand;
// Broadcasts the operands of a pointwise op to one shape. *made is the result itself if another op
// computes it at less cost (adding a number is add_scalar); else GR_NONE.
GR_MUST_USE gr_status gr_model_fit(gr_build_context *, const gr_op *, gr_operand *, int n,
                                   gr_val *made);

// An attribute, for gr_model_make, which emits an op by name; an empty one ends the list.
typedef struct gr_setting {
  const char *name, *text;
  const void *value;  // in place of text: what the attribute holds, a number or a gr_ints
} gr_setting;
// Emits an op of ops.def by its name, with default attributes except for the settings, which may be
// NULL. Returns the first result; GR_NONE, and the builder's error, if it fails.
gr_val gr_model_make(gr_builder *, const char *op, int n_in, const gr_val *in, const gr_setting *);
