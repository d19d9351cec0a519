// nvrtc_ask.h - asks the real NVRTC what it makes of texts.
#pragma once
#include "tests/gpu/nvrtc_sources.h"

// Opens the library; false: it is not on this machine.
bool nvrtc_open(void);
// Fills in what NVRTC says of each source, on all processors: from what is known (nvrtc_known.h),
// or else from the cache, or else by compiling it; with `again` one in twelve as if not known.
void nvrtc_ask_all(gr_arena *, nvrtc_source *, int n, bool again);
// Prints the line for nvrtc_known.h.
void nvrtc_print_line(const nvrtc_source *);

typedef struct nvrtc_kernel {
  char name[64];
  int registers, shared, stack, spills;  // the last three in bytes
} nvrtc_kernel;
// The next kernel of `kernels` of a source, where *next begins there; false: there is none.
bool nvrtc_next_kernel(const char **next, nvrtc_kernel *);
