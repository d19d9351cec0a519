// onnx.h - a model's evaluation as a file of ONNX: `graphrun export RUN model.onnx`.
//
//   gr_inference_graph   YAML -> the graph of what the model predicts       (inference.c)
//   gr_onnx_trace        that graph, for several sizes -> a graph of ONNX   (trace.c)
//   gr_onnx_file         a graph of ONNX -> bytes                           (write.c, module
//   "onnx")
//
// and a file of ONNX as a model, `model.graph: model.onnx` and `graphrun import`:
//
//   gr_onnx_load         bytes -> a graph of ONNX                           (write.c, module
//   "onnx") gr_onnx_import       that graph -> text of the graph language, weights  (import.c,
//   print.c)
//
// How an op is written and read is its own affair (ir/onnx.h, ir/onnx_read.h).
#pragma once
#include "compiler/model/model.h"
#include "ir/onnx.h"

// Builds the graph of what request->program evaluates, without loss and metrics, after the passes
// that keep its meaning: no layouts, casts or fused nodes. Its results are "predict.NAME".
GR_MUST_USE gr_status gr_inference_graph(gr_arena *, const gr_model_request *, gr_graph **out);

// Builds the graph of ONNX, whose weights are states of the model that are yet to be read. Sizes of
// the request that the model's inputs name by letters may change where the graph is the same
// without them; "n" must. GR_ERR_UNSUPPORTED, at the line of the model, for an op that cannot be
// written; GR_ERR_CONFIG without anything predicted.
GR_MUST_USE gr_status gr_onnx_trace(gr_arena *, const gr_model_request *, gr_onnx_graph **out);

// A file: the graph, what its states hold, and texts by name (metadata_props).
typedef struct gr_onnx_property {
  const char *key, *value;
} gr_onnx_property;
typedef struct gr_onnx_model {
  const gr_onnx_graph *graph;
  const char *version;  // of graphrun
  const gr_onnx_property *properties;
  int n_properties;
  gr_status (*read)(void *ctx, const gr_value *, void *to);  // fills `to`, memory for all of it
  void *ctx;
  // Where weights are written to, and that file's name beside the model's; NULL: the model's file.
  FILE *beside;
  const char *beside_name;
} gr_onnx_model;
// Appends the bytes; GR_ERR_LAUNCH without protobuf-c. Errors of writing show in the stream.
GR_MUST_USE gr_status gr_onnx_file(const gr_onnx_model *, FILE *);
// Whether one file has room for the graph and its weights. Protocol buffers have at most 2 GiB.
bool gr_onnx_fits(const gr_onnx_graph *);
// A weight that a model is read with, by the name that it has in the graph language.
typedef struct gr_onnx_weight {
  const char *name;
  gr_type type;  // f32, or i32
  const void *data;
} gr_onnx_weight;
// A model that is read: its text in the graph language, and its weights, in the arena.
typedef struct gr_onnx_imported {
  const char *text;
  const gr_onnx_weight *weights;
  int n_weights, n_nodes;
} gr_onnx_imported;
// Reads a file. GR_ERR_CONFIG if it is damaged, GR_ERR_UNSUPPORTED, naming the node, if it has what
// the graph language has not, GR_ERR_LAUNCH without protobuf-c.
// flat: nodes that repeat stand as often as they are there.
GR_MUST_USE gr_status gr_onnx_import(gr_arena *, const char *path, bool flat,
                                     gr_onnx_imported *out);
// Its graph as the file has it.
GR_MUST_USE gr_status gr_onnx_load(gr_arena *, const char *path, gr_onnx_graph **out);
// Whether a file can be written here: GR_OK, or the error of gr_onnx_file.
GR_MUST_USE gr_status gr_onnx_available(void);
// The module's table.
typedef struct gr_onnx_module {
  gr_status (*write)(gr_arena *, const gr_onnx_model *, FILE *);
  gr_status (*read)(gr_arena *, const char *file, const void *bytes, size_t n, gr_onnx_graph **);
} gr_onnx_module;
