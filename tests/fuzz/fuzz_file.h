// fuzz_file.h - the input of a fuzz target as a file, which is in memory.
#pragma once
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "fuzz.h"

typedef struct fuzz_file {
  int fd;
  char path[64];
} fuzz_file;

// A file with these bytes, which has a path until fuzz_file_close; aborts without one.
static inline fuzz_file fuzz_file_make(const uint8_t *data, size_t size) {
  fuzz_file f = {.fd = memfd_create("input", MFD_CLOEXEC)};
  HOLDS(f.fd >= 0 && write(f.fd, data, size) == (ssize_t)size);
  snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
  return f;
}

// Frees it.
static inline void fuzz_file_close(fuzz_file *f) { close(f->fd); }
