// unpack.h - part of module "onnx", private to it: the messages of a file as a graph.
#pragma once
#include "compiler/onnx/onnx.h"

enum { GR_ONNX_EXTERNAL = 1 };  // TensorProto.DataLocation: the elements are in another file
// By this key PyTorch's newer exporter says of an initializer whether it is a PARAMETER, a BUFFER
// or a CONSTANT_TENSOR.
#define GR_ONNX_SPEC_KIND "pkg.torch.export.graph_signature.InputSpec.kind"

// Parses the bytes of a file into a graph in the arena. Floats become f32, and integers and bools
// i64. GR_ERR_CONFIG: it is no file of ONNX, or damaged; GR_ERR_UNSUPPORTED: it has what is not
// read, such as tensors of strings. file: for errors.
GR_MUST_USE gr_status gr_onnx_unpack(gr_arena *, const char *file, const void *bytes, size_t n,
                                     gr_onnx_graph **out);
