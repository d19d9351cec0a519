// output_folder.c - new folders that are written whole. See output.h.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/output.h"
#include "base/port.h"

struct gr_output_folder {
  int fd, parent;  // of the temporary folder, which is locked; -1: not open
  char path[PATH_MAX], temporary[PATH_MAX], beside[PATH_MAX];
};

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place) {
  (void)st, (void)kind, (void)place;
  return remove(path);
}

static int remove_all(const char *path) { return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static gr_status is_there(const char *path) {
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is there already", path),
                 "the folder is written as a new one: give it another name");
}

static bool find_names(gr_output_folder *f, const char *path) {
  size_t len = strlen(path);
  while (len > 1 && path[len - 1] == '/') len--;
  int n = snprintf(f->path, PATH_MAX, "%.*s", len < PATH_MAX ? (int)len : 0, path);
  const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
  int before = (int)(name - f->path);
  snprintf(f->beside, PATH_MAX, "%.*s", before ? before : 1, before ? f->path : ".");
  int all = snprintf(f->temporary, PATH_MAX, "%.*s.tmp-%s", before, f->path, name);
  return n > 0 && *name && all < PATH_MAX;
}

// The folder of that name is the one that is open, and no other process has it.
static bool lock(gr_output_folder *f) {
  struct stat here, there;
  f->fd = open(f->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return f->fd >= 0 && !flock(f->fd, LOCK_EX | LOCK_NB) && !fstat(f->fd, &here) &&
         !lstat(f->temporary, &there) && here.st_ino == there.st_ino;
}

static gr_status in_use(const gr_output_folder *f) {
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "another process writes '%s'", f->path),
                 "wait for it, or give the folder another name");
}

// A temporary folder without a lock is of a process that was killed.
static gr_status make_temporary(gr_output_folder *f) {
  bool made = !mkdir(f->temporary, 0777);
  if (!made && errno == EEXIST) {
    if (!lock(f)) return in_use(f);
    if (remove_all(f->temporary)) return gr_output_failed(f->temporary, errno);
    close(f->fd), f->fd = -1;
    made = !mkdir(f->temporary, 0777);
  }
  if (!made) return gr_output_failed(f->temporary, errno);
  return lock(f) ? GR_OK : in_use(f);
}

static gr_status open_folder(gr_output_folder *f, const char *path) {
  struct stat st;
  if (!find_names(f, path)) return gr_output_failed(path, *path ? ENAMETOOLONG : ENOENT);
  if (!lstat(f->path, &st)) return is_there(f->path);
  GR_TRY(gr_make_dirs(f->beside));
  f->parent = open(f->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (f->parent < 0) return gr_output_failed(f->path, errno);
  return make_temporary(f);
}

gr_status gr_output_folder_open(const char *path, gr_output_folder **out) {
  assert(path && out);
  gr_output_folder *f = calloc(1, sizeof *f);
  *out = NULL;
  if (!f) return gr_output_failed(path, ENOMEM);
  f->fd = f->parent = -1;
  gr_status s = open_folder(f, path);
  if (!s) {
    *out = f;
    return GR_OK;
  }
  if (f->fd >= 0) close(f->fd);
  if (f->parent >= 0) close(f->parent);
  free(f);
  return s;
}

const char *gr_output_folder_path(const gr_output_folder *f) { return f->temporary; }

// Some file systems cannot refuse to replace an empty folder, or sync folders.
static gr_status publish(const gr_output_folder *f) {
  int failed = renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_NOREPLACE);
  if (failed && errno == EINVAL) failed = rename(f->temporary, f->path);
  if (failed && errno == EEXIST) return is_there(f->path);
  if (!failed) failed = fsync(f->parent) && errno != EINVAL && errno != ENOTSUP;
  return failed ? gr_output_failed(f->path, errno) : GR_OK;
}

gr_status gr_output_folder_close(gr_output_folder *f, gr_status s) {
  if (!f) return s;
  if (!s) s = publish(f);
  if (s) remove_all(f->temporary);
  close(f->fd), close(f->parent);
  free(f);
  return s;
}
