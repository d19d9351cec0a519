// operands.h - helpers of ops: checks of operands, and sizes.
#pragma once
#include "ops/kernels/cpu.h"

// The size of the last axis; 1 for a scalar.
static inline int64_t gr_last(const gr_type *t) { return t->rank ? t->dim[t->rank - 1] : 1; }
// The number of rows along the last axis: the product of the other sizes.
static inline int64_t gr_rows(const gr_type *t) { return gr_type_count(t) / gr_last(t); }

// The type of which operand 0 is a tile, or its own; *row, a row of operand 0, becomes the row of
// that.
static inline const gr_type *gr_whole_rows(const gr_launch *l, int64_t *row) {
  const gr_type *t = l->whole ? l->whole : l->in_type;
  *row += l->first / gr_last(t);
  return t;
}

// gr_op.efforts of ops that copy what they make, whatever else their operands have.
void gr_moves_result(const gr_op_call *, gr_efforts *);

// The same of ops that take the softmax of each row of operand 0.
void gr_softmax_efforts(const gr_op_call *, gr_efforts *);
// Adds those of elements that are copied in runs of `run` elements.
void gr_count_runs(double elements, double run, gr_efforts *);

// Checks for infer functions; the error is GR_ERR_TYPE, and `what` names the operand in it.
// Operand k is i32:
GR_MUST_USE gr_status gr_require_ints(const gr_op_call *, int k, const char *what);
// Operand k is a float, of the dtype of operand 0:
GR_MUST_USE gr_status gr_require_float(const gr_op_call *, int k, const char *what);
// Operand k is a float, of the dtype that operand 0 is computed in: f32 where that is narrow.
GR_MUST_USE gr_status gr_require_wide(const gr_op_call *, int k, const char *what);
// A constant is a number of that dtype: whole, and within i32, where that is not a float.
GR_MUST_USE gr_status gr_require_number(const gr_op_call *, gr_dtype, double);
// There are `least` to `most` operands:
GR_MUST_USE gr_status gr_require_operands(const gr_op_call *, int least, int most);

// Writes index notation for an operand of that rank: the letters of `first`, then a, b, c, ...
void gr_letters(char buf[GR_MAX_RANK + 1], const char *first, int rank);

// Whether operand 0 is f32, for which most ops have a fast kernel.
static inline bool gr_is_f32(const gr_op_call *s) { return s->in[0].dtype == GR_F32; }
// Whether it is f32 or narrow, for fast kernels that convert a tile at a time.
static inline bool gr_is_up_to_f32(const gr_op_call *s) {
  return gr_is_f32(s) || gr_is_narrow(s->in[0].dtype);
}
// The smaller of two numbers.
static inline int64_t gr_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
// The larger of two numbers.
static inline int64_t gr_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// Element i of operand k, the length of a sample, clamped.
static inline int64_t gr_length(const gr_launch *l, int k, int64_t i, int64_t most) {
  return gr_clamp_length(((const int32_t *)l->in[k])[i], most);
}

// What indices select: one of `size` things.
typedef struct gr_indices {
  const char *what, *of;  // in errors: "label", "classes of the model"
  int64_t size;
  int64_t ignored;   // a value that selects nothing; 0: there is none
  const char *hint;  // NULL: a general one
} gr_indices;
// GR_ERR_DATA unless each element of operand k selects something: what ops check (gr_op.check)
// before they read or write by it.
GR_MUST_USE gr_status gr_check_indices(const gr_launch *, int k, const gr_indices *);

// Runs `rows` on all rows of operand 0, with the launch as its argument, on all threads.
gr_status gr_run_rows(const gr_launch *, gr_part rows);
// The same on all samples of operand 0, whose first axis they are.
gr_status gr_run_samples(const gr_launch *, gr_part samples);
// Adds to two sums of each column what rows [begin, end) add, and writes what else the op makes.
typedef void gr_add_rows(const gr_launch *, int64_t begin, int64_t end, float *first,
                         float *second);
// Runs an op over rows whose results 1 and 2 are such sums, in chunks (rows.h).
gr_status gr_run_two_sums(const gr_launch *, gr_add_rows *);
// Its scratch memory: two rows for each chunk in f32, or for the reference two in f64.
size_t gr_two_sums_scratch(const gr_op_call *);
