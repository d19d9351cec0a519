// checkpoint_disk.h - the writer's only door to the disk. Every operation that changes it passes
// gr_disk_fault, where a test fails it or kills the process.
#pragma once
#include "base/status.h"

// NULL but in tests. Called before an operation ("mkdir", "create", "write", "fsync", "close",
// "rename", "swap", "unlink", "rmdir"); returns an errno to fail it with, or 0. For a write it
// may lower *bytes: only so many are written, and then it is called once more.
extern int (*gr_disk_fault)(const char *op, const char *path, size_t *bytes);

typedef struct gr_disk_file {
  int fd;
  const char *path;  // borrowed
  int64_t need;      // bytes it will have at most, for the message when the disk is full
} gr_disk_file;
GR_MUST_USE gr_status gr_disk_create(const char *path, int64_t need, gr_disk_file *out);  // new
GR_MUST_USE gr_status gr_disk_write(gr_disk_file *, const void *, size_t bytes);
GR_MUST_USE gr_status gr_disk_finish(gr_disk_file *);  // fsync and close
void gr_disk_abandon(gr_disk_file *);                  // close, whatever comes

GR_MUST_USE gr_status gr_disk_mkdir(const char *path);  // one level; may be there
GR_MUST_USE gr_status gr_disk_rename(const char *from, const char *to);
// Puts the new directory in the place of the old in one step, or where the file system cannot,
// in two with the old one at `aside` between; the old one ends at `from` or `aside`.
GR_MUST_USE gr_status gr_disk_replace(const char *from, const char *to, const char *aside);
GR_MUST_USE gr_status gr_disk_unlink(const char *path);    // may be gone
GR_MUST_USE gr_status gr_disk_sync_dir(const char *path);  // makes names durable
// A directory and the files in it; may be gone.
GR_MUST_USE gr_status gr_disk_remove(const char *dir);
