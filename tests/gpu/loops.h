// loops.h - graphs of one loop with a random body, which a GPU runs as one kernel.
#pragma once
#include "compiler/pass.h"

typedef struct loops_body {
  uint32_t seed;
  int64_t steps, rows;
  gr_dtype dtype;
} loops_body;

// Products and elementwise nodes on [rows, rows], any of any, with a row; carries that start at
// zero, are handed on, or come from the data; forwards or backwards. All values are of the dtype.
GR_MUST_USE gr_status loops_square(gr_arena *, const loops_body *, gr_graph **out);
// The same on rows of several sizes, as a batch has them: products with constant matrices, and
// casts; some values are f32 where the dtype is narrower. Their inputs are inputs of the graph, or,
// if it is to be trained, its weights. Results are out0, out1, ...
GR_MUST_USE gr_status loops_batch(gr_arena *, const loops_body *, gr_graph **out);
// One with a node that is no part of such a kernel, and so many steps that a captured program
// repeats the body. rows: at least 2; f32.
GR_MUST_USE gr_status loops_long(gr_arena *, const loops_body *, gr_graph **out);
// The same of a convolution, which cuDNN may compute.
GR_MUST_USE gr_status loops_layers(gr_arena *, const loops_body *, gr_graph **out);
// The steps of an environment, of ops that are neither products nor elementwise, with a loop in the
// body: a kernel of one block. In two parts they are two loops, one after the other.
GR_MUST_USE gr_status loops_steps(gr_arena *, const loops_body *, int parts, gr_graph **out);
// The program of a training step, for a device, of a loop whose steps take the columns of a product
// apart, as an LSTM's do; `nested`: in a loop of two steps. Products are of the dtype.
GR_MUST_USE gr_status loops_gates(gr_arena *, const loops_body *, bool nested, bool gpu,
                                  gr_graph **out);
// The program of a training step of loops_batch, whose products are of the dtype.
GR_MUST_USE gr_status loops_train(gr_arena *, const loops_body *, gr_graph **out);
