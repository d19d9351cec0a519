// bench.h - values, kernels run on them, and graphs run node by node with reference kernels:
// what the tests of ops stand on.
#pragma once
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

typedef struct value {
  gr_type type;
  void *data;  // 64-byte aligned, from malloc
} value;
// A value of that type, of NaN until it is set; value_free frees it.
value value_make(gr_type);
// A value of the same type and numbers.
value value_copy(const value *);
// One with the numbers converted to another type of elements.
value value_as(const value *, gr_dtype);
// Frees its memory; may be called twice.
void value_free(value *);
// Element i, of all in the order of memory.
double value_get(const value *, int64_t i);
// Sets element i, rounded to the type.
void value_put(value *, int64_t i, double);
// The number of elements.
int64_t value_count(const value *);
// Slice `part` of `parts` along a dimension, as ranks have them: the last may be smaller or empty.
value value_slice(const value *, int dim, int part, int parts);
// Copies such a slice to its place in the whole.
void value_paste(value *whole, const value *slice, int dim, int part, int parts);

// A use of an op on values: a site, its operands, and where the rank that runs it sits.
typedef struct use {
  gr_op_call call;
  value in[GR_MAX_ARGS], out[GR_MAX_ARGS];
  gr_mesh mesh;  // one axis, or none
  int coord;
  gr_layout layout[GR_MAX_ARGS];  // of the results
} use;
// Types and values of the operands of a case; false if inference fails.
gr_status use_of_case(use *, const gr_op *, const gr_case *, uint64_t seed);
// The same with another dtype in place of f32.
gr_status use_of_case_as(use *, const gr_op *, const gr_case *, gr_dtype, uint64_t seed);
// Calls f for the cases of an op with bf16 and f16 in place of f32, as far as it takes them:
// optimizers and packing do not. Returns how many.
int use_narrow_cases(const gr_op *, void (*f)(use *, const gr_case *, int));
// How far results may be apart, |a - b| / (1 + |b|), fast from plain and split from whole.
double use_near(const use *);
// The same of sums of several ranks' parts, which are rounded before they are added, and may be
// larger.
double use_near_parts(const use *);
// Fills the operands with random numbers; letters: for each operand which numbers (gr_case).
void use_fill(use *, const char *letters, uint64_t seed);
gr_status use_run(use *, gr_kernel, gr_cpu *);  // allocates the results
// Frees operands and results.
void use_free(use *);
// The axes that line `sig` splits are of that size, unless an attribute holds another.
void use_resize(use *, const gr_sharding_rule *rule, int64_t size);
// Attributes that hold sizes, as they are for one rank's part of results that lie as `layout` says.
void use_localize(use *, char attr[256]);

// A graph's values by id; leaves are given, nodes are run.
gr_status graph_run(const gr_graph *, value *by_id);
gr_status graph_run_fast(const gr_graph *, value *by_id);  // fast kernels where there are any
// Frees n values.
void values_free(value *, uint32_t n);

// The largest |a - b| / (1 + |b|), and where; infinite if only one is not a number.
double worst(const value *a, const value *b, int64_t *index);
