// export_onnx.h - `graphrun export RUN model.onnx`: what a run's model predicts, as a file of ONNX.
#pragma once
#include "job/args.h"

typedef struct gr_onnx_export {
  const char *program;  // NULL: eval, or without predictions there the first with inputs of its own
  bool beside;          // weights go to FILE.onnx.data, as they do where one file has no room
} gr_onnx_export;
// Writes args->words[0]. GR_ERR_UNSUPPORTED for an op that ONNX has nothing for.
GR_MUST_USE gr_status gr_export_onnx(gr_arena *, const gr_args *, const gr_onnx_export *);
