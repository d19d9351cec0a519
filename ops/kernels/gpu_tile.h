// gpu_tile.h - launches of kernels that are built on tile.cu, and sums that are cut into parts.
#pragma once
#include "ops/kernels/gpu.h"

// A sum of `terms` that is computed by few blocks is cut into parts of `share` terms (the last may
// be less), each of at least `least`, for more blocks to work on; a second kernel adds the parts in
// order. The numbers follow from the sizes alone.
typedef struct gr_gpu_parts {
  int64_t parts, share;
} gr_gpu_parts;
// Cuts a sum of `terms` that `blocks` blocks would compute alone.
gr_gpu_parts gr_gpu_cut(int64_t blocks, int64_t terms, int64_t least);

// Appends a launch of a kernel built on tile.cu, whose text is put before `source`: a block for
// each part of each tile of a result [m, n].
gr_gpu_kernel *gr_gpu_tile_add(gr_gpu_call *, const char *source, const char *entry, int64_t m,
                               int64_t n, int64_t parts);
