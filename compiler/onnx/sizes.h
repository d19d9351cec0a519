// sizes.h - the sizes that an exported model is traced with: a choice of all of them, and for each
// letter of the inputs' shapes two more, in which it alone is another. Where graphs of all choices
// are the same but for sizes, a size that differs is one that may change.
#pragma once
#include "compiler/onnx/onnx.h"

enum { GR_ONNX_LETTERS = 8, GR_ONNX_CHOICES = 1 + 2 * GR_ONNX_LETTERS };
typedef struct gr_onnx_letter {
  const char *name;
  int64_t size[GR_ONNX_CHOICES];  // by choice
} gr_onnx_letter;
typedef struct gr_onnx_choices {
  int n, n_letters;
  const gr_graph *graph[GR_ONNX_CHOICES];
  gr_onnx_letter letter[GR_ONNX_LETTERS];  // those that may change
} gr_onnx_choices;

// Builds the graphs, in the arena. A letter with which the model cannot be built in another size,
// or is another graph or has other weights then, is left out; "n" may not be.
GR_MUST_USE gr_status gr_onnx_choose(gr_arena *, const gr_model_request *, gr_onnx_choices *out);
