// folder.h - takes away the folder that a test has made for itself.
#pragma once
#include <ftw.h>
#include <stdio.h>

static inline int folder_entry(const char *path, const struct stat *st, int kind,
                               struct FTW *place) {
  (void)st, (void)kind, (void)place;
  return remove(path);
}
// Removes it with all that is in it.
static inline void folder_remove(const char *dir) {
  (void)nftw(dir, folder_entry, 8, FTW_DEPTH | FTW_PHYS);
}
