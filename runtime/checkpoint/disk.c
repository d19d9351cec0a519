// disk.c - file operations with fault injection. See disk.h.
#define _GNU_SOURCE
#include "runtime/checkpoint/disk.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/output.h"

int (*gr_disk_fault)(const char *op, const char *path, size_t *bytes);

typedef struct place {
  char path[PATH_MAX];
} place;

static place place_of(const gr_disk_dir *d, const char *name) {
  place p;
  if (snprintf(p.path, sizeof p.path, "%s%s%s", d->path, name ? "/" : "", name ? name : "") < 0)
    *p.path = 0;
  return p;
}

bool gr_disk_pass(const gr_disk_dir *d, const char *op, const char *name, size_t *bytes) {
  size_t none = 0;
  if (!gr_disk_fault) return true;
  int e = gr_disk_fault(op, place_of(d, name).path, bytes ? bytes : &none);
  if (e) errno = e;
  return !e;
}

static gr_status failed(const char *what, const gr_disk_dir *d, const char *name, int64_t need) {
  int e = errno;
  struct statvfs fs;
  place where = place_of(d, name);
  bool full = e == ENOSPC || e == EDQUOT || e == EFBIG;
  if (!full || fstatvfs(d->fd, &fs))
    return gr_hint_errno(
        gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot %s '%s': %s", what, where.path, strerror(e)), e);
  unsigned long long free_bytes = (unsigned long long)fs.f_bavail * fs.f_frsize;
  return gr_hint(
      gr_hint_errno(gr_fail(GR_ERR_IO, GR_NOWHERE,
                            "cannot %s '%s': %s (it needs up to %lld bytes, %llu are free)", what,
                            where.path, strerror(e), (long long)need, free_bytes),
                    e),
      "checkpoint.keep_last keeps fewer of them");
}

// -- Directories -------------------------------------------------------------------------

gr_status gr_disk_open(const char *path, gr_disk_dir *out) {
  out->fd = -1;
  if (strlen(path) >= sizeof out->path)
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "the path '%s' is too long", path);
  strcpy(out->path, path);
  out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out->fd >= 0) return GR_OK;
  int e = errno;
  gr_status s = gr_fail_errno(GR_ERR_IO, e, "cannot open the folder '%s'", path);
  return e == ENOTDIR ? gr_hint(s, "checkpoint.dir is a folder of its own: name another") : s;
}

gr_status gr_disk_enter(const gr_disk_dir *d, const char *name, gr_disk_dir *out) {
  struct stat s;
  place where = place_of(d, name);
  memcpy(out->path, where.path, sizeof out->path);
  out->fd = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (out->fd >= 0) return GR_OK;
  int e = errno;
  if (!fstatat(d->fd, name, &s, AT_SYMLINK_NOFOLLOW) && S_ISLNK(s.st_mode))
    return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s' is a symbolic link", where.path),
                   "graphrun does not follow symbolic links here: remove it");
  return gr_fail_errno(GR_ERR_IO, e, "cannot open the folder '%s'", where.path);
}

void gr_disk_leave(gr_disk_dir *d) {
  if (d->fd >= 0) close(d->fd);
  d->fd = -1;
}

gr_status gr_disk_mkdir(const gr_disk_dir *d, const char *name) {
  if (gr_disk_pass(d, "mkdir", name, NULL) && (!mkdirat(d->fd, name, 0777) || errno == EEXIST))
    return GR_OK;
  return failed("make directory", d, name, 0);
}

gr_status gr_disk_sync(const gr_disk_dir *d) {
  if (gr_disk_pass(d, "fsync", NULL, NULL) && !fsync(d->fd)) return GR_OK;
  return failed("make durable", d, NULL, 0);
}

// -- Files -------------------------------------------------------------------------------

gr_status gr_disk_create(const gr_disk_dir *d, const char *name, int64_t need, gr_disk_file *out) {
  *out = (gr_disk_file){.fd = -1, .dir = d, .name = name, .need = need};
  if (gr_disk_pass(d, "create", name, NULL)) out->fd = gr_output_new_at(d->fd, name);
  if (out->fd >= 0) return GR_OK;
  bool there = errno == EEXIST;
  gr_status s = failed("create", d, name, need);
  return there ? gr_hint(s, "does another run write checkpoints here?") : s;
}

gr_status gr_disk_write(gr_disk_file *f, const void *data, size_t bytes) {
  for (const char *p = data; bytes;) {
    size_t now = bytes;
    if (!gr_disk_pass(f->dir, "write", f->name, &now))
      return failed("write", f->dir, f->name, f->need);
    ssize_t n = write(f->fd, p, now);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", f->dir, f->name, f->need);
    p += n, bytes -= (size_t)n;
  }
  return GR_OK;
}

gr_status gr_disk_finish(gr_disk_file *f) {
  bool ok = gr_disk_pass(f->dir, "fsync", f->name, NULL) && !fsync(f->fd);
  gr_status s = ok ? GR_OK : failed("write", f->dir, f->name, f->need);
  ok = gr_disk_pass(f->dir, "close", f->name, NULL);
  ok = !close(f->fd) && ok;
  f->fd = -1;
  if (!ok && !s) s = failed("close", f->dir, f->name, f->need);
  return s;
}

void gr_disk_abandon(gr_disk_file *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

// -- Names -------------------------------------------------------------------------------

gr_status gr_disk_rename(const gr_disk_dir *d, const char *old_name, const char *to) {
  if (gr_disk_pass(d, "rename", old_name, NULL) && !renameat(d->fd, old_name, d->fd, to))
    return GR_OK;
  return gr_note(failed("rename", d, old_name, 0), GR_NOWHERE, "to '%s'", to);
}

gr_status gr_disk_replace(const gr_disk_dir *d, const char *old_name, const char *to,
                          const char *aside) {
  if (gr_disk_pass(d, "swap", old_name, NULL) &&
      !renameat2(d->fd, old_name, d->fd, to, RENAME_EXCHANGE))
    return GR_OK;
  if (errno != EINVAL && errno != ENOSYS) return failed("rename", d, old_name, 0);
  GR_TRY(gr_disk_rename(d, to, aside));
  gr_status s = gr_disk_rename(d, old_name, to);
  if (s && renameat(d->fd, aside, d->fd, to))
    s = gr_note(s, GR_NOWHERE, "the old one is at '%s'", aside);
  return s;
}

static gr_status delete (const gr_disk_dir *d, const char *op, const char *name, int flags) {
  if (gr_disk_pass(d, op, name, NULL) && (!unlinkat(d->fd, name, flags) || errno == ENOENT))
    return GR_OK;
  return failed(flags ? "remove directory" : "remove", d, name, 0);
}

gr_status gr_disk_unlink(const gr_disk_dir *d, const char *name) {
  return delete (d, "unlink", name, 0);
}

gr_status gr_disk_rmdir(const gr_disk_dir *d, const char *name) {
  return delete (d, "rmdir", name, AT_REMOVEDIR);
}
