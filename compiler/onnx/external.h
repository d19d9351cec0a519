// external.h - part of module "onnx", private to it: elements of tensors that are in files beside
// the model's (github.com/onnx/onnx: docs/ExternalData.md).
#pragma once
#include <onnx.pb-c.h>
#include "base/map.h"
#include "base/status.h"

// The files of a model; begun as {arena, path, gr_map_make(arena)}.
typedef struct gr_onnx_files {
  gr_arena *arena;
  const char *model;     // its path
  gr_map seen;           // files that were opened, by their locations
  const char *location;  // of the one that is open, or NULL
  int fd;
  uint64_t size, room;  // of the open file; how much more all tensors may take
} gr_onnx_files;
// Reads a tensor's elements, which have so many bytes, into the arena. A location is a path below
// the model's folder without symbolic links. GR_ERR_CONFIG, naming the tensor.
GR_MUST_USE gr_status gr_onnx_external(gr_onnx_files *, const Onnx__TensorProto *, size_t bytes,
                                       gr_arena *, const uint8_t **out);
void gr_onnx_files_close(gr_onnx_files *);  // the one that is open
