// idx.h - an array of IDX, the format of MNIST's files (its page: "The IDX file format"): two zero
// bytes, a type, the number of dimensions, their sizes and the values, all big-endian.
#pragma once
#include "runtime/data/array.h"

// What an array is called: its file's name without what says the format: "train-images".
const char *gr_idx_name(gr_arena *, const char *path);
// Reads the array in bytes[0 .. n), which gzip may have packed (that needs zlib); *out views them,
// or is in the arena, and `file` and `name` are borrowed for it. Fails with GR_ERR_DATA, which
// names the file, what is wrong and what to do.
GR_MUST_USE gr_status gr_idx_parse(gr_arena *, const char *file, const char *name,
                                   const unsigned char *bytes, size_t n, gr_array *out);
