// fuzz.h - what the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput; built
// with clang's -fsanitize=fuzzer (GR_FUZZ=ON) it searches, built with replay.c it runs the
// inputs that are kept under corpus/.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "compose/interp/interp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The input as a C string in the arena, cut at the first NUL.
static inline char *fuzz_text(gr_arena *a, const uint8_t *data, size_t size) {
  return gr_arena_strndup(a, (const char *)data, size);
}

static inline const char *fuzz_json(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.at;
}

// Stops the fuzzer when a property does not hold.
#define HOLDS(cond)                                              \
  do {                                                           \
    if (!(cond)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
      abort();                                                   \
    }                                                            \
  } while (0)
