// picture.h - draws a program of a plan as SVG (SVG 1.1, W3C 2011), without other programs.
//
// Every row is a block of the model: its forward pass on the left, going down, and its backward
// pass beside it, going up. Blocks that repeat are drawn once, with their number; collectives stand
// at the block whose values they move; bars show what is live in memory while a block runs. Sums
// are over all repetitions and are those of one rank.
#pragma once
#include "base/text.h"
#include "compiler/plan/plan.h"

typedef struct gr_picture_request {
  const char *title;          // or NULL
  const char *const *expand;  // shell patterns of paths of blocks that are drawn op by op
  int n_expand;
} gr_picture_request;

// Appends the picture of the program that trains, or of the largest one if none does. Fails with
// GR_ERR_USAGE if a pattern matches no block of the program, and says which blocks there are.
GR_MUST_USE gr_status gr_plan_picture(gr_text *, const gr_plan *, const gr_picture_request *);
