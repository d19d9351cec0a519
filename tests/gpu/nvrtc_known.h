// nvrtc_known.h - what NVRTC has said of texts: a file with a line for each, in the order of keys,
//
//   KEY <tab> OP <tab> ARCH <tab> KERNEL[,KERNEL ...]
//
// where a kernel is NAME:REGISTERS:SHARED:STACK:SPILLS, the last three in bytes. `test_nvrtc lines`
// prints such lines, and nvrtc_known.sh writes the file. The key is of the text, its architecture
// and NVRTC's version: when one of them changes, there is no line for it.
#pragma once
#include "ir/op.h"
#include "tests/cache.h"

// Reads the file, once; its lines are in the arena.
GR_MUST_USE gr_status nvrtc_known_read(gr_arena *, const char *path);
// The kernels of the line with this key; NULL: there is none.
const char *nvrtc_known_kernels(const cache_key *);

enum { NVRTC_KEY = 17 };  // bytes, with the NUL
// Writes how a line begins: the key in hexadecimal.
void nvrtc_known_key(const cache_key *, char out[NVRTC_KEY]);
