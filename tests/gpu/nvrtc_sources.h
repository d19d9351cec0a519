// nvrtc_sources.h - the texts that test_nvrtc.c compiles, each once, for one architecture.
#pragma once
#include <stdbool.h>
#include "ops/kernels/gpu.h"
#include "tests/cache.h"

// From T4 to the GPUs of Blackwell that are not for data centres.
enum { NVRTC_ARCHS = 7 };
extern const char *const nvrtc_archs[NVRTC_ARCHS];

typedef enum nvrtc_how { NVRTC_COMPILED, NVRTC_CACHED, NVRTC_KNOWN } nvrtc_how;
typedef struct nvrtc_source {
  const char *text, *op, *arch;
  char types[64];
  int threads;    // the most that a launch has
  uint64_t code;  // a hash of the text without its sizes
  cache_key key;  // of the text, its architecture and NVRTC's version
  int failed;     // what NVRTC returned
  nvrtc_how how;
  char *log;            // what it printed; it is not freed
  const char *kernels;  // what it made of the text, as nvrtc_known.h has it; "" if it failed
} nvrtc_source;

typedef struct nvrtc_wanted {
  bool arch[NVRTC_ARCHS];
  bool each;   // each text for one architecture, chosen by a hash
  bool sizes;  // also texts that differ from another one only in sizes
} nvrtc_wanted;

// Adds the text of a call's kernel for each wanted architecture, unless it is there. Texts are kept
// in the arena.
void nvrtc_add(gr_arena *, const nvrtc_wanted *, const gr_op_call *, const char *text, int threads);
// What has been added, in that order.
nvrtc_source *nvrtc_added(int *n);
