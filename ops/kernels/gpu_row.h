// gpu_row.h - GPU kernels over rows of the last axis that are generated from formulas (gr_op.row).
// One team of threads (rows.cu) computes a row, and keeps it in registers from part to part.
//
// A formula is a list of statements, and ends with an expression, the element of the result:
//
//   m = sum(x0) / n; v = sum((x0 - m) * (x0 - m)) / n; (x0 - m) / sqrt(v + eps) * x1 + x2
//
// sum and max, at the beginning of a statement, fold their argument over the row. There are
//
//   x0, x1, ...      the operands: elements of the row, those of a vector, or the row's lead
//   i, n             the element's column, and the number of columns
//   r, above         the row's number in this rank's part, and the size of the axis before the last
//   at               the element's place in the global value, of ops that are `random`; and `draw`,
//                    the random words that the thread has drawn last (gr_drawn)
//   W                the type that is computed with; attributes are constants of it, by name
//
// Where a part has sums over all rows (gr_op.column_sums), a team computes several rows, one after
// the other, and adds up these; a second kernel adds the sums of all teams, in their order.
#pragma once
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"

// The parts of a kernel. Operand k of the launch is value k + 1; results of parts are the others.
typedef struct gr_gpu_part {
  const gr_op_call *call;
  uint32_t in[GR_FUSED_ARGS], out;  // values; results are out, out + 1, ...
} gr_gpu_part;
typedef struct gr_gpu_parts_of {
  gr_gpu_call *g;
  const gr_type *space;  // fused.h
  int n;
  gr_gpu_part part[GR_FUSED_PARTS];
  uint32_t result[GR_FUSED_VALUES];  // values, by result of the launch
} gr_gpu_parts_of;

// The type of a value.
const gr_type *gr_gpu_value(const gr_gpu_parts_of *, uint32_t v);
// What a value is beside the space.
static inline gr_fused_kind gr_gpu_value_kind(const gr_gpu_parts_of *p, uint32_t v) {
  return gr_fused_kind_of(gr_gpu_value(p, v), p->space);
}
// The formula of a part that has no `tile`; it is in the arena, or constant.
const char *gr_gpu_row_formula(gr_arena *, const gr_op_call *);
// The type of most bytes among values of the space's sizes and vectors.
gr_dtype gr_gpu_widest(const gr_gpu_parts_of *);
// Whether a part asks for its elements' places in the global value.
bool gr_gpu_has_places(const gr_gpu_parts_of *);
// Appends the names of operands and results, "const IN0 *in0, ...", or "in0, ...", and a comma.
void gr_gpu_put_pointers(gr_text *, const gr_op_call *, bool typed);

// Appends the kernel of parts some of which see whole rows; the text so far is put before it.
void gr_gpu_rows_of_parts(const gr_gpu_parts_of *, gr_text *);
// Appends the kernel of a call that is one part, of an op with a row's formula. GR_ERR_UNSUPPORTED
// if the call has none.
GR_MUST_USE gr_status gr_gpu_row(gr_gpu_call *);
