// export.h - internals of gr_checkpoint_export: export.c chooses the tensors and writes
// safetensors, export_names.c gives them other names, export_folder.c writes a folder of
// safetensors, export_npz.c writes NumPy's archive, and export_read.c reads the tensors for all.
#pragma once
#include <stdio.h>
#include "base/text.h"
#include "runtime/checkpoint/checkpoint.h"

typedef struct gr_exporter {
  gr_arena *arena;
  gr_checkpoint *checkpoint;
  FILE *file;                // whose errors show when it is closed
  gr_tensor_slice *tensors;  // by their names in the file
  const char **stored_name;  // their names in the checkpoint
  int n, averages;
  // What a file of safetensors lists: the k-th is tensors [first[k], first[k + 1]), joined along
  // their first axis.
  gr_tensor_slice *listed;
  int *first, n_listed;
  const gr_export_request *request;
  gr_map stored;                    // names of all tensors of the checkpoint, to 1
  gr_map emas;                      // gr_checkpoint_emas; empty if averages are not asked for
  gr_checkpoint_adapter *adapters;  // n_adapters
  int n_adapters;
} gr_exporter;

// Chooses the tensors that are asked for, and their names.
GR_MUST_USE gr_status gr_exporter_choose(gr_exporter *);
// What is written, of which the progress is shown from now on.
gr_checkpoint_exported gr_exporter_begin(gr_exporter *);
// Writes those listed from `begin` up to `end` as a whole file.
GR_MUST_USE gr_status gr_export_safetensors(gr_exporter *, const char *dir, const char *name,
                                            int begin, int end);
// Reads tensor `i` in pieces of whole rows, in order, and passes each on. Ends early, without an
// error, when the file has one.
GR_MUST_USE gr_status gr_exporter_read(gr_exporter *, int i,
                                       void (*put)(void *ctx, const char *data, int64_t bytes),
                                       void *ctx);
// ---- adapters.c
// Whether a tensor is a weight of an adapter that the checkpoint has; *layer is then the path of
// its layer, *part "lora_A.weight" or "lora_B.weight", and *adapter which it is.
bool gr_exporter_is_of_adapter(const gr_exporter *, const char *name, const char **layer,
                               const char **part, int *adapter);
// Adds to whole rows of a layer's weight, in part->data, what its adapters add; nothing to others.
GR_MUST_USE gr_status gr_exporter_merge(gr_exporter *, const gr_tensor_slice *part,
                                        const char *name);
// Writes all tensors as an .npz file, each stored as NAME.npy.
GR_MUST_USE gr_status gr_export_npz(gr_exporter *);
// The head of NAME.npy, whose data begins at a multiple of 64 bytes in it; bf16 is f32 there.
gr_text gr_export_npy_head(gr_arena *, const gr_tensor_slice *whole);
// ---- export_names.c
// Lists the tensors under the names that the request's patterns lead back to.
GR_MUST_USE gr_status gr_exporter_rename(gr_exporter *);
