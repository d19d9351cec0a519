// chunks.h - how much data is read, converted and written at a time. Variables, so that tests make
// them small enough for a tensor to span several.
#pragma once
#include <stdint.h>

typedef struct gr_chunk_sizes {
  int64_t exported;   // bytes of an exported tensor, at least a row of it
  int64_t converted;  // bytes of a tensor of a safetensors file in another dtype
  int64_t read;       // bytes of a tensor that is read as it is, between two looks for a signal
  uint64_t zip32;     // sizes and offsets from here on need 64 bits in a ZIP file
} gr_chunk_sizes;
extern gr_chunk_sizes gr_chunks;
