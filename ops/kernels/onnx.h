// onnx.h - what ops share that write themselves to ONNX (ir/onnx.h).
#pragma once
#include "ir/onnx.h"

// 0, 1, ..., as many as a vector of one element says, in i32.
const char *gr_onnx_range(gr_onnx_call *, const char *size);
// Inserts an axis of size 1.
const char *gr_onnx_unsqueeze(gr_onnx_call *, const char *x, int axis);
// A tensor of bool of that rank: true where the index along `axis` is below the length of the
// sample, operand `lengths` [n]; broadcast along other axes. size: of that axis.
const char *gr_onnx_within(gr_onnx_call *, int lengths, int rank, int axis, const char *size);
// [rows, columns] of bool: true where the column is not beyond the row.
const char *gr_onnx_causal(gr_onnx_call *, const char *rows, const char *columns);
// Scores where the mask is true (NULL: everywhere), as probabilities along the last axis; a row
// without any is uniform.
const char *gr_onnx_probabilities(gr_onnx_call *, const char *scores, const char *mask, gr_dtype);
const char *gr_onnx_and(gr_onnx_call *, const char *a, const char *b);  // either may be NULL
// Indices `start` to `end` (vectors of one element) of an axis.
const char *gr_onnx_slice(gr_onnx_call *, const char *x, int axis, const char *start,
                          const char *end);
// Transposes a value from channels-last, as values are, to channels-first, as convolutions and
// pooling of ONNX take them; returns the name of the result.
const char *gr_onnx_channels_first(gr_onnx_call *, const char *x, int rank);
// Transposes it back.
const char *gr_onnx_channels_last(gr_onnx_call *, const char *x, int rank);
// Attributes of windows over that many axes; numbers that are given for all axes are repeated.
void gr_onnx_window(gr_onnx_call *, const char *name, int axes, const gr_ints *);
void gr_onnx_pads(gr_onnx_call *, int axes, const gr_ints *pad);  // before and after
