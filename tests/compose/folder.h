// folder.h - takes away the folder that a test has made for itself.
#pragma once
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Removes it with all that is in it.
static inline void folder_remove(const char *dir) {
  DIR *d = opendir(dir);
  char path[1024];
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    bool whole = snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path;
    if (whole && unlink(path)) folder_remove(path);
  }
  if (d) closedir(d);
  (void)rmdir(dir);
}
