// export.h - internals of gr_checkpoint_export: export.c chooses the tensors and writes
// safetensors, export_npz.c writes NumPy's archive, and export_read.c reads the tensors for both.
#pragma once
#include <stdio.h>
#include "base/arena.h"
#include "runtime/checkpoint/checkpoint.h"

typedef struct gr_exporter {
  gr_arena *arena;
  gr_checkpoint *checkpoint;
  FILE *file;                // whose errors show when it is closed
  gr_tensor_slice *tensors;  // by their names in the file
  const char **stored_name;  // their names in the checkpoint
  int n, averages;
} gr_exporter;

// Reads tensor `i` in pieces of whole rows, in order, and passes each on. Ends early, without an
// error, when the file has one.
GR_MUST_USE gr_status gr_exporter_read(gr_exporter *, int i,
                                       void (*put)(void *ctx, const char *data, int64_t bytes),
                                       void *ctx);
// Writes all tensors as an .npz file, each stored as NAME.npy.
GR_MUST_USE gr_status gr_export_npz(gr_exporter *);
