// safetensors.h - reads safetensors files, in which PyTorch and Hugging Face models store weights
// (format: github.com/huggingface/safetensors): eight bytes of header length, a JSON header
// (name: dtype, shape, data_offsets), and the data.
#pragma once
#include "runtime/checkpoint/checkpoint.h"

typedef struct gr_safetensors gr_safetensors;
// Opens a file and checks its header. GR_ERR_CHECKPOINT when it is not a safetensors file or is
// damaged.
GR_MUST_USE gr_status gr_safetensors_open(const char *path, gr_safetensors **out);
void gr_safetensors_close(gr_safetensors *);  // NULL is fine
// The tensors in header order, as whole slices with `data` NULL, owned by the file. dtype is as in
// gr_tensor_slice, or the file's own name of a dtype that is not supported ("F8_E4M3").
const gr_tensor_slice *gr_safetensors_tensors(const gr_safetensors *, int *n);
// Fills want->at with that slice of tensor `i`, which must have the shape of `want` and either its
// dtype, or another floating-point dtype while that of `want` is f32.
GR_MUST_USE gr_status gr_safetensors_read(gr_safetensors *, int i, const gr_tensor_slice *want);
bool gr_safetensors_is_float(const gr_tensor_slice *);  // it can be read as f32
// Writes a file of n whole tensors with their data, all at once or not at all (base/output.h).
GR_MUST_USE gr_status gr_safetensors_write(const char *path, const gr_tensor_slice *, int n);
