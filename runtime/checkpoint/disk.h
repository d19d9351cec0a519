// disk.h - the file operations of the checkpoint writer. Every operation that changes the disk
// calls gr_disk_fault, where a test can fail it, log it or kill the process.
//
// All operations are relative to an open directory and do not follow symbolic links in it, so a
// link cannot redirect a write or a removal to another directory. Functions that fail return
// GR_ERR_IO.
#pragma once
#include <limits.h>
#include "base/status.h"

// Fault injection; NULL except in tests. Called before an operation ("mkdir", "create", "write",
// "fsync", "close", "rename", "swap", "unlink", "rmdir", "lock"); returns 0 or the errno to fail it
// with. For a write it may lower *bytes: only so many are written before the next call.
extern int (*gr_disk_fault)(const char *op, const char *path, size_t *bytes);

typedef struct gr_disk_dir {
  int fd;               // -1: not open
  char path[PATH_MAX];  // for messages
} gr_disk_dir;
// Opens a directory by the user's path; symbolic links in the path are followed.
GR_MUST_USE gr_status gr_disk_open(const char *path, gr_disk_dir *out);
// Opens a subdirectory, which may not be a symbolic link.
GR_MUST_USE gr_status gr_disk_enter(const gr_disk_dir *, const char *name, gr_disk_dir *out);
void gr_disk_leave(gr_disk_dir *);  // closes it; one that is not open is fine

// In the functions below `name` has no '/'.
typedef struct gr_disk_file {
  int fd;
  const gr_disk_dir *dir;  // borrowed, as `name` is
  const char *name;
  int64_t need;  // upper bound of its size in bytes, for the message when the disk is full
} gr_disk_file;
// Creates a new file; fails when the name exists.
GR_MUST_USE gr_status gr_disk_create(const gr_disk_dir *, const char *name, int64_t need,
                                     gr_disk_file *out);
GR_MUST_USE gr_status gr_disk_write(gr_disk_file *, const void *, size_t bytes);  // all of them
GR_MUST_USE gr_status gr_disk_finish(gr_disk_file *);                             // fsync and close
void gr_disk_abandon(gr_disk_file *);  // closes it and ignores errors

GR_MUST_USE gr_status gr_disk_mkdir(const gr_disk_dir *,
                                    const char *name);  // an existing one is fine
// Renames within the directory; an existing file or empty directory `to` is replaced.
GR_MUST_USE gr_status gr_disk_rename(const gr_disk_dir *, const char *old_name, const char *to);
// Replaces directory `to` by `old_name` atomically (RENAME_EXCHANGE), or, on file systems without
// that, by two renames with the old one at `aside` in between. The old one ends at `old_name` or
// `aside`.
GR_MUST_USE gr_status gr_disk_replace(const gr_disk_dir *, const char *old_name, const char *to,
                                      const char *aside);
GR_MUST_USE gr_status gr_disk_unlink(const gr_disk_dir *,
                                     const char *name);  // a missing one is fine
GR_MUST_USE gr_status gr_disk_rmdir(const gr_disk_dir *,
                                    const char *name);    // a missing one is fine
GR_MUST_USE gr_status gr_disk_sync(const gr_disk_dir *);  // fsync: makes its names durable

// Calls gr_disk_fault for an operation that another module performs. False: it must fail, with
// errno set.
bool gr_disk_pass(const gr_disk_dir *, const char *op, const char *name, size_t *bytes);
