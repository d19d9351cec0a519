// fuzz.h - what the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput; built
// with clang's -fsanitize=fuzzer (GR_FUZZ=ON) it searches, built with replay.c it runs the
// inputs that are kept under corpus/.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "compose/interp/interp.h"

// Runs the target on one input; 0. It aborts where a property does not hold.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Stops the fuzzer when a property does not hold.
#define HOLDS(cond)                                              \
  do {                                                           \
    if (!(cond)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
      abort();                                                   \
    }                                                            \
  } while (0)

// The memory that a target may use at one time: `base` bytes and `factor` for each byte of its
// input. A target without one may use what it likes.
typedef struct fuzz_budget {
  size_t base, factor;
} fuzz_budget;
extern const fuzz_budget fuzz_memory __attribute__((weak));

// Prints an error to nowhere, so that all of its strings are read, and drops it.
static inline void fuzz_print(gr_status s) {
  char *text = NULL;
  size_t n = 0;
  if (!s) return;
  FILE *f = open_memstream(&text, &n);
  HOLDS(f);
  gr_status_print(f, s);
  HOLDS(!fclose(f) && n > 0);
  free(text);
  gr_status_drop(s);
}

// The input as a C string in the arena, cut at the first NUL.
static inline char *fuzz_text(gr_arena *a, const uint8_t *data, size_t size) {
  return gr_arena_strndup(a, (const char *)data, size);
}

// A tree as JSON on one line, in the arena.
static inline const char *fuzz_json(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.chars;
}
