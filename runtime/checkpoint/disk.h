// disk.h - the writer's only door to the disk. Every operation that changes it passes
// gr_disk_fault, where a test fails it, logs it or kills the process.
//
// Everything is done relative to an open directory, and no name in it is followed where it is a
// symbolic link: a link that lies there cannot lead a removal, or a write, to another place.
#pragma once
#include <limits.h>
#include "base/status.h"

// NULL but in tests. Called before an operation ("mkdir", "create", "write", "fsync", "close",
// "rename", "swap", "unlink", "rmdir", "lock"); returns an errno to fail it with, or 0. For a write
// it may lower *bytes: only so many are written, and then it is called once more.
extern int (*gr_disk_fault)(const char *op, const char *path, size_t *bytes);

typedef struct gr_disk_dir {
  int fd;               // -1: not open
  char path[PATH_MAX];  // for messages
} gr_disk_dir;
// A directory as the user names it: links in its path are followed.
GR_MUST_USE gr_status gr_disk_open(const char *path, gr_disk_dir *out);
// One in it, which is not a link.
GR_MUST_USE gr_status gr_disk_enter(const gr_disk_dir *, const char *name, gr_disk_dir *out);
void gr_disk_leave(gr_disk_dir *);  // fine where it is not open

// In the functions below `name` has no '/'.
typedef struct gr_disk_file {
  int fd;
  const gr_disk_dir *dir;  // borrowed, as `name` is
  const char *name;
  int64_t need;  // bytes it will have at most, for the message when the disk is full
} gr_disk_file;
GR_MUST_USE gr_status gr_disk_create(const gr_disk_dir *, const char *name, int64_t need,
                                     gr_disk_file *out);  // new
GR_MUST_USE gr_status gr_disk_write(gr_disk_file *, const void *, size_t bytes);
GR_MUST_USE gr_status gr_disk_finish(gr_disk_file *);  // fsync and close
void gr_disk_abandon(gr_disk_file *);                  // close, whatever comes

GR_MUST_USE gr_status gr_disk_mkdir(const gr_disk_dir *, const char *name);  // may be there
GR_MUST_USE gr_status gr_disk_rename(const gr_disk_dir *, const char *from, const char *to);
// Puts the new directory in the place of the old in one step, or where the file system cannot,
// in two with the old one at `aside` between; the old one ends at `from` or `aside`.
GR_MUST_USE gr_status gr_disk_replace(const gr_disk_dir *, const char *from, const char *to,
                                      const char *aside);
GR_MUST_USE gr_status gr_disk_unlink(const gr_disk_dir *, const char *name);  // may be gone
GR_MUST_USE gr_status gr_disk_rmdir(const gr_disk_dir *, const char *name);   // may be gone
GR_MUST_USE gr_status gr_disk_sync(const gr_disk_dir *);  // makes the names in it durable

// For what changes the disk elsewhere: whether the operation goes on; otherwise errno is set.
bool gr_disk_pass(const gr_disk_dir *, const char *op, const char *name, size_t *bytes);
