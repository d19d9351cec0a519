// export_onnx.h - `graphrun export RUN model.onnx`: what a run's model predicts, as a file of ONNX.
#pragma once
#include "job/args.h"

bool gr_is_onnx_file(const char *path);  // by its ending
// Writes args->words[0]. program: the one that is exported; NULL: eval, or without predictions
// there the first that has inputs of its own. GR_ERR_UNSUPPORTED for an op that ONNX has nothing
// for.
GR_MUST_USE gr_status gr_export_onnx(gr_arena *, const gr_args *, const char *program);
