// source.h - the named tensors of a file or folder that another run or program has written.
#pragma once
#include "runtime/checkpoint/checkpoint.h"

typedef struct gr_tensor_source gr_tensor_source;
// Opens, by what `path` is: the folder of a checkpoint (without the states of its optimizer), an
// index of safetensors files (.index.json), an .npz file, or a safetensors file. Fails with
// GR_ERR_CHECKPOINT, or GR_ERR_DATA for .npz, which name the file and what is wrong in it; pickles
// of PyTorch (.pt, .pth, .bin, .ckpt) are refused.
GR_MUST_USE gr_status gr_tensor_source_open(const char *path, gr_tensor_source **out);
// The same for n whole tensors with their data, which are borrowed, and that `path` is named for.
gr_tensor_source *gr_tensor_source_given(const char *path, const gr_tensor_slice *, int n);
void gr_tensor_source_close(gr_tensor_source *);  // NULL is fine
// The tensors as whole slices with `data` NULL, in the file's order; owned by the source. Weights
// of which a checkpoint has averages (GR_CHECKPOINT_EMA) are read as these.
const gr_tensor_slice *gr_tensor_source_tensors(const gr_tensor_source *, int *n);
int gr_tensor_source_averages(const gr_tensor_source *);  // how many are
// Whether tensor `i` can be read as that dtype: its own, or f32 where it is floating-point. A
// checkpoint's tensors are read as their own only.
bool gr_tensor_source_converts(const gr_tensor_source *, int i, const char *dtype);
// Fills want->at with that slice of tensor `i`, whatever its name. Its shape must be that of `want`
// and its dtype one that converts.
GR_MUST_USE gr_status gr_tensor_source_read(gr_tensor_source *, int i, const gr_tensor_slice *want);
