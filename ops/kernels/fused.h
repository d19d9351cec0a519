// fused.h - nodes that follow each other as one node, so that what they compute in between never
// goes to memory.
//
// The body is a graph of its own, an attribute of the node. Its leaves are the node's operands in
// order, its results the node's results. Each node of the body is a part. The parts share a space:
// the sizes [..., C] of the elements that they walk over. Their operands and results are
//
//   like      of the space's sizes
//   vectors   of size C, for every row (a bias)
//   leads     one value a row, or, of integers, one for several rows or for all (lengths, a step)
//
// Results may also be vectors that are sums over all rows (gr_op.column_sums): the gradients of a
// norm's gain and bias. No part of the same node reads them.
//
// An elementwise part has a `tile` (ir/op.h), or a formula of elements in `row` and is `random`:
// its number depends on the element's place in the global value. Other parts have a `row` and see
// whole rows, of at most GR_FUSED_ROW elements: a softmax, a norm, the sum of a row.
#pragma once
#include "base/text.h"
#include "ir/op.h"

typedef struct gr_fused {
  const gr_graph *body;
} gr_fused;

// A part has at most three operands and three results, so that a fused node has at most
// 2 GR_FUSED_PARTS + 1 operands. Tiles are of all values but sums.
enum { GR_FUSED_ARGS = 3, GR_FUSED_PARTS = 16 };
enum { GR_FUSED_TILES = 3 * GR_FUSED_PARTS + 2, GR_FUSED_VALUES = 5 * GR_FUSED_PARTS + 2 };
enum { GR_FUSED_ROW = 4096, GR_FUSED_TILE = 256 };  // elements
enum { GR_FUSED_SCRATCH = 4096 };                   // bytes that a part may need for a tile

typedef enum gr_fused_kind {
  GR_FUSED_NOTHING,  // it fits in none of these ways
  GR_FUSED_LIKE,
  GR_FUSED_VECTOR,
  GR_FUSED_LEAD
} gr_fused_kind;

// Whether two types have the same sizes.
bool gr_fused_is_like(const gr_type *, const gr_type *);
// What a value of that type is beside a space. Where rows are as many as a row has elements, a
// vector could be leads: f32 is taken for a vector.
gr_fused_kind gr_fused_kind_of(const gr_type *, const gr_type *space);
// Whether it is a vector beside a space of the sizes of `out`.
bool gr_fused_is_row(const gr_type *t, const gr_type *out);
// The value of a part whose sizes are the space.
gr_val gr_fused_space(const gr_graph *, const gr_node *part);
// Whether the part sees whole rows: it is not elementwise.
bool gr_fused_sees_rows(const gr_node *part);
bool gr_fused_has_rows(const gr_graph *body);  // whether a part does
// How many results of the op, its last ones, are sums over all rows.
int gr_fused_sums(const gr_op *);
// Whether a value is such a sum.
bool gr_fused_is_sum(const gr_graph *, gr_val);
// Elements of all sums of a body together.
int64_t gr_fused_sum_elements(const gr_graph *body);
// Whether a node can be a part.
bool gr_fused_takes(const gr_graph *, const gr_node *);

// The type of a tile of a value: `n` elements of the space, whole rows if `rows`.
gr_type gr_fused_tile(const gr_type *, const gr_type *space, int64_t n, bool rows);
// Elements of the space in one tile.
static inline int64_t gr_fused_tile_size(const gr_type *space, bool rows) {
  int64_t row = rows ? space->dim[space->rank - 1] : 1;
  return row < GR_FUSED_TILE ? GR_FUSED_TILE / row * row : row;
}

// Runs a fused node by its parts' fast kernels, tile by tile (fused_cpu.c).
gr_status gr_fused_run(const gr_launch *);
// Describes its launch on a GPU (fused_gpu.c).
gr_status gr_fused_gpu(gr_gpu_call *);
// Appends, for a GPU, a device function of floats for each part: PREFIX_V computes value V of the
// body.
void gr_fused_put_functions(gr_text *, const gr_graph *body, const char *prefix);
