// operands.h - what ops share besides kernels: checks of operands, and sizes.
#pragma once
#include "ops/kernels/cpu.h"

static inline int64_t gr_last(const gr_type *t) { return t->rank ? t->dim[t->rank - 1] : 1; }
static inline int64_t gr_rows(const gr_type *t) { return gr_type_count(t) / gr_last(t); }

// Operand k holds integers, or, for gr_require_float, numbers of operand 0's dtype.
GR_MUST_USE gr_status gr_require_ints(const gr_op_call *, int k, const char *what);
GR_MUST_USE gr_status gr_require_float(const gr_op_call *, int k, const char *what);
GR_MUST_USE gr_status gr_require_operands(const gr_op_call *, int least, int most);

// Writes the notation of an operand of this rank, "nabc", whose axes are named from `first`.
void gr_letters(char buf[GR_MAX_RANK + 1], const char *first, int rank);

static inline bool gr_is_f32(const gr_op_call *s) { return s->in[0].dtype == GR_F32; }
static inline int64_t gr_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gr_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// A length as data gives it, kept within what there is.
static inline int64_t gr_length(const gr_launch *l, int k, int64_t i, int64_t most) {
  int64_t n = ((const int32_t *)l->in[k])[i];
  return gr_max_i64(0, gr_min_i64(n, most));
}
