// parts.h - what the files of this room share: ops in phases, blocks in a tree, rows.
#pragma once
#include "base/map.h"
#include "base/text.h"
#include "compiler/picture/picture.h"
#include "compiler/plan/plan.h"

typedef enum gr_picture_phase {
  GR_PICTURE_FORWARD,   // what the loss, the metrics and the buffers are computed by
  GR_PICTURE_BACKWARD,  // what gradients are computed by
  GR_PICTURE_UPDATE,    // what follows from gradients: checks, clipping, the optimizer
  GR_PICTURE_PHASES,
} gr_picture_phase;

// An op as the model has it: a node of the program, or a part of a fused node.
typedef struct gr_picture_op {
  const gr_op *op;
  const void *attr;
  const char *scope;  // or ""
  gr_loc loc;
  gr_type type;  // of its first result
  gr_picture_phase phase;
  uint32_t node;   // of the program
  uint32_t block;  // index of the innermost block that it is in
  double flops;
} gr_picture_op;

// A value that passes from one op to another; both are indices.
typedef struct gr_picture_edge {
  uint32_t source, target;
  double bytes;
  bool narrows;  // of integers, or a scalar: not drawn
} gr_picture_edge;

typedef struct gr_picture_ops {
  gr_picture_op *op;
  uint32_t n;
  gr_picture_edge *edge;
  uint32_t n_edges;
} gr_picture_ops;

// A part of the model: a scope ("encoder.layers.0"), or a run of ops of a scope between its blocks.
typedef struct gr_picture_block {
  const char *path, *name;  // of a run: path of its scope, and ""
  uint32_t parent;          // block 0 is the whole model, and its own parent
  uint32_t *child;          // in the order of the forward pass
  uint32_t n_child, room;
  uint32_t shown_as;             // of a repetition: the block drawn in its place; else itself
  uint32_t repetitions;          // of the first of equal siblings: their number; else 1
  double flops, weights;         // of the forward pass; numbers of its weights
  const gr_plan_state *largest;  // of its weights, or NULL
  uint64_t signature;            // of its ops and weights, without the path
  bool is_run, expanded;
  bool asked, holds_asked;  // its ops are drawn one by one, as a pattern asks; a block in it is
  uint32_t row;             // of a drawn leaf
} gr_picture_block;

typedef struct gr_picture_row {
  uint32_t block;
  uint32_t n_ops[GR_PICTURE_PHASES];
  double kept;                     // bytes that the backward pass reads
  double live[GR_PICTURE_PHASES];  // most bytes live while it runs
  bool peak[GR_PICTURE_PHASES];    // memory peaks here
} gr_picture_row;

// The collectives of one kind, over one axis, of a row's phase.
typedef struct gr_picture_move {
  uint32_t row, count;
  gr_picture_phase phase;
  const gr_op *op;
  int axis;
  double bytes;
} gr_picture_move;

typedef struct gr_picture {
  gr_arena *arena;
  const gr_plan *plan;
  const gr_program *program;
  const gr_picture_request *request;
  gr_picture_ops ops;
  gr_picture_block *block;
  uint32_t n_blocks, cap_blocks;
  gr_picture_row *row;
  uint32_t n_rows;
  gr_picture_move *move;
  uint32_t n_moves;
} gr_picture;

// Sets p->ops from the program.
void gr_picture_read_ops(gr_picture *);
// Sets p->block, from ops and states, and the block of each op; repetitions are found.
void gr_picture_read_blocks(gr_picture *);
// Chooses the blocks to draw, and sets p->row and p->move.
void gr_picture_choose_rows(gr_picture *);
// How often a drawn block runs: the product of its repetitions and those of the blocks around it.
double gr_picture_times(const gr_picture *, uint32_t block);
// Whether a block is drawn: it is no repetition of another.
static inline bool gr_picture_is_drawn(const gr_picture *p, uint32_t block) {
  return p->block[block].shown_as == block;
}
// The row of a block, as drawn.
uint32_t gr_picture_row_of(const gr_picture *, uint32_t block);
// Bytes live in the program's arena while each node runs, by node.
double *gr_picture_live(gr_arena *, const gr_plan_frame *);
// "matmul x3, gelu": the ops of a row's phase, without those that only rearrange; at most so many
// characters.
void gr_picture_summary(gr_text *, const gr_picture *, uint32_t row, gr_picture_phase, size_t most);
// Writes the picture.
void gr_picture_write(gr_text *, const gr_picture *);
