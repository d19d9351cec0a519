// formula.h - what an op computes, as statements on the elements of some operands and on scalars:
// the data of which ops/kernels/formula.h, which has the language, makes kernels.
#pragma once
#include "ir/op.h"

struct gr_formula {
  const char *list, *results, *statements;  // "(EACH(w), ONE(lr))", "(w)", "w = w - lr;"
  bool if_ok;     // an update: where the operand `ok` is 0, results are the operands of their names
  gr_kernel f32;  // the fast kernel; NULL: none
};

// A name of the list; the texts are not terminated.
typedef enum gr_name_kind { GR_NAME_EACH, GR_NAME_ONE, GR_NAME_PARAM, GR_NAME_SHARED } gr_name_kind;
typedef struct gr_formula_name {
  gr_name_kind kind;
  const char *name, *expression;  // the latter of what is shared
  int n_name, n_expression;
} gr_formula_name;
enum { GR_FORMULA_NAMES = 24 };

// Writes the names of the list, or of the results (as EACH), and returns how many they are.
int gr_formula_list(const gr_formula *, gr_formula_name out[GR_FORMULA_NAMES]);
// Those of the results, in their order.
int gr_formula_results(const gr_formula *, gr_formula_name out[GR_FORMULA_NAMES]);
// The op's formula for so many operands, and the last one, for most; NULL: it has none.
const gr_formula *gr_formula_of(const gr_op *, int n_in);
const gr_formula *gr_formula_last(const gr_op *);  // NULL: the op has none
// The operand of an update that result k follows, or -1.
int gr_formula_place(const gr_formula *, int k);
// op->index_spec_of: "...,...,,->...".
void gr_formula_index_spec(const gr_op_call *, char buf[128]);
// Prints the formula as `graphrun ops` shows it: what is shared, and each statement, on lines of
// their own.
void gr_formula_print(FILE *, const gr_formula *);
