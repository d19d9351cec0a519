// safetensors.h - reads a file of safetensors, as PyTorch and Hugging Face leave weights: eight
// bytes of length, a JSON header (name: dtype, shape, data_offsets), and the data.
#pragma once
#include "runtime/checkpoint/checkpoint.h"

typedef struct gr_safetensors gr_safetensors;
// Reads and checks the header. GR_ERR_CHECKPOINT where the file is none, or damaged.
GR_MUST_USE gr_status gr_safetensors_open(const char *path, gr_safetensors **out);
void gr_safetensors_close(gr_safetensors *);  // NULL is fine
// The tensors in the header's order: name, dims; offset 0, size dims, `at` NULL. dtype as a
// gr_tensor_slice has it, or as the file does where that has none ("F8_E4M3").
const gr_tensor_slice *gr_safetensors_tensors(const gr_safetensors *, int *n);
// Fills want->at, f32, with that slice of tensor `i`, which is of the same shape and of floats:
// f64 and what is narrower is converted.
GR_MUST_USE gr_status gr_safetensors_read(gr_safetensors *, int i, const gr_tensor_slice *want);
bool gr_safetensors_is_float(const gr_tensor_slice *);  // of a dtype that can be read so
