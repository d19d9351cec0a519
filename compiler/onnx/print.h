// print.h - private to compiler/onnx: the nodes of a model that is read as text.
#pragma once
#include "compiler/onnx/onnx.h"
#include "ir/onnx_read.h"

// An input or output of the model: a var, and what it is called.
typedef struct gr_onnx_end {
  const char *name;
  int var;
} gr_onnx_end;
// The sizes by choice as an expression of the open sizes: "16", "7 * n + 1"; NULL: there is none.
const char *gr_onnx_expression(gr_onnx_reading *, const int64_t sizes[GR_READ_CHOICES]);
// Letters, digits and `more`; other characters become '_'. `otherwise` if nothing is left.
const char *gr_onnx_word(gr_arena *, const char *name, const char *more, const char *otherwise);
// Writes the graph language, and lists the weights that it names. The reading's error is returned.
GR_MUST_USE gr_status gr_onnx_print(gr_onnx_reading *, const gr_onnx_end *inputs, int n_inputs,
                                    const gr_onnx_end *outputs, int n_outputs,
                                    gr_onnx_imported *out);
