// model_file.h - the model's file, in the graph language or of ONNX, with what the configuration
// says of it: model.inputs, model.loss and model.metrics.
#pragma once
#include "compiler/onnx/onnx.h"
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

typedef struct gr_model_file {
  gr_conf *graph;
  const struct gr_tensor_slice *weights;  // n_weights that the file has
  int n_weights;
  const char *text;  // what a run keeps, in the graph language; NULL: the file as it is
} gr_model_file;

bool gr_is_onnx_path(const char *path);  // it ends in .onnx
// The weights of a model that was imported, which has their elements.
struct gr_tensor_slice *gr_onnx_slices(gr_arena *, const gr_onnx_imported *);
// Whether a file has what only models have.
bool gr_model_file_is_one(const gr_conf *);
// The error of composing the file `path`, or another one if that is a model.
GR_MUST_USE gr_status gr_model_file_given(gr_arena *, gr_status, const char *path);
// Reads the file at model.graph of a composed configuration, whose paths are found.
GR_MUST_USE gr_status gr_model_file_read(gr_arena *, gr_conf *conf, gr_model_file *out);
// Puts the file's own weights before those of model.init_from.
void gr_model_file_weights(gr_arena *, const gr_model_file *, gr_conf *conf, gr_model_settings *);
