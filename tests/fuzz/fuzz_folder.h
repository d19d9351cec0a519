// fuzz_folder.h - files with names, for targets whose input is one of several files.
#pragma once
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fuzz.h"

static char fuzz_dir[256];
static char fuzz_names[8][288];
static int fuzz_n_names;

// Removes the folder and its files; called at exit.
static inline void fuzz_folder_remove(void) {
  for (int i = 0; i < fuzz_n_names; i++) remove(fuzz_names[i]);
  rmdir(fuzz_dir);
}

// The folder of this process, in memory where there is /dev/shm; it is removed at exit.
static inline const char *fuzz_folder(void) {
  if (*fuzz_dir) return fuzz_dir;
  const char *tmp = getenv("TMPDIR");
  const char *root = !access("/dev/shm", W_OK) ? "/dev/shm" : tmp ? tmp : "/tmp";
  snprintf(fuzz_dir, sizeof fuzz_dir, "%.200s/graphrun-fuzz-XXXXXX", root);
  HOLDS(mkdtemp(fuzz_dir));
  atexit(fuzz_folder_remove);
  return fuzz_dir;
}

// Writes a file of that folder and returns its path, which stays.
static inline const char *fuzz_put(const char *name, const void *data, size_t size) {
  char path[288];
  snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
  FILE *f = fopen(path, "wb");
  HOLDS(f && fwrite(data, 1, size, f) == size && !fclose(f));
  for (int i = 0; i < fuzz_n_names; i++)
    if (!strcmp(fuzz_names[i], path)) return fuzz_names[i];
  HOLDS(fuzz_n_names < 8);
  return strcpy(fuzz_names[fuzz_n_names++], path);
}
// The same of a text.
static inline const char *fuzz_put_text(const char *name, const char *text) {
  return fuzz_put(name, text, strlen(text));
}
