// checkpoint_disk.c - see checkpoint_disk.h.
#define _GNU_SOURCE
#include "runtime/checkpoint_disk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int (*gr_disk_fault)(const char *op, const char *path, size_t *bytes);

// Whether the operation goes on; otherwise errno is set.
static bool pass(const char *op, const char *path, size_t *bytes) {
  size_t none = 0;
  int e = gr_disk_fault ? gr_disk_fault(op, path, bytes ? bytes : &none) : 0;
  if (e) errno = e;
  return !e;
}

static gr_status failed(const char *what, const char *path, int64_t need) {
  int e = errno;
  struct statvfs fs;
  bool full = e == ENOSPC || e == EDQUOT || e == EFBIG;
  if (!full || statvfs(path, &fs))
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot %s '%s': %s", what, path, strerror(e));
  gr_status s = gr_fail(
      GR_ERR_IO, GR_NOWHERE, "cannot %s '%s': %s (it needs up to %lld bytes, %llu are free)", what,
      path, strerror(e), (long long)need, (unsigned long long)fs.f_bavail * fs.f_frsize);
  return gr_hint(s, "free space, or keep fewer checkpoints");
}

gr_status gr_disk_create(const char *path, int64_t need, gr_disk_file *out) {
  *out = (gr_disk_file){.fd = -1, .path = path, .need = need};
  if (pass("create", path, NULL))
    out->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (out->fd >= 0) return GR_OK;
  gr_status s = failed("create", path, need);
  return errno == EEXIST ? gr_hint(s, "does another run write checkpoints here?") : s;
}

gr_status gr_disk_write(gr_disk_file *f, const void *data, size_t bytes) {
  for (const char *p = data; bytes;) {
    size_t now = bytes;
    if (!pass("write", f->path, &now)) return failed("write", f->path, f->need);
    ssize_t n = write(f->fd, p, now);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", f->path, f->need);
    p += n, bytes -= (size_t)n;
  }
  return GR_OK;
}

gr_status gr_disk_finish(gr_disk_file *f) {
  bool ok = pass("fsync", f->path, NULL) && !fsync(f->fd);
  gr_status s = ok ? GR_OK : failed("write", f->path, f->need);
  ok = pass("close", f->path, NULL);
  ok = !close(f->fd) && ok;
  f->fd = -1;
  if (!ok && !s) s = failed("close", f->path, f->need);
  return s;
}

void gr_disk_abandon(gr_disk_file *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

gr_status gr_disk_mkdir(const char *path) {
  if (pass("mkdir", path, NULL) && (!mkdir(path, 0777) || errno == EEXIST)) return GR_OK;
  return failed("make directory", path, 0);
}

gr_status gr_disk_rename(const char *from, const char *to) {
  if (pass("rename", from, NULL) && !rename(from, to)) return GR_OK;
  return gr_note(failed("rename", from, 0), GR_NOWHERE, "to '%s'", to);
}

gr_status gr_disk_replace(const char *from, const char *to, const char *aside) {
  if (pass("swap", from, NULL) && !renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE))
    return GR_OK;
  if (errno != EINVAL && errno != ENOSYS) return failed("rename", from, 0);
  GR_TRY(gr_disk_rename(to, aside));
  gr_status s = gr_disk_rename(from, to);
  if (s) rename(aside, to);
  return s;
}

gr_status gr_disk_unlink(const char *path) {
  if (pass("unlink", path, NULL) && (!unlink(path) || errno == ENOENT)) return GR_OK;
  return failed("remove", path, 0);
}

gr_status gr_disk_sync_dir(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool ok = fd >= 0 && pass("fsync", path, NULL) && !fsync(fd);
  gr_status s = ok ? GR_OK : failed("make durable", path, 0);
  if (fd >= 0) close(fd);
  return s;
}

gr_status gr_disk_remove(const char *dir) {
  DIR *d = opendir(dir);
  if (!d) return errno == ENOENT ? GR_OK : failed("open", dir, 0);
  gr_status s = GR_OK;
  char path[PATH_MAX];
  for (struct dirent *e; !s && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
      s = gr_disk_unlink(path);
  }
  closedir(d);
  GR_TRY(s);
  if (pass("rmdir", dir, NULL) && (!rmdir(dir) || errno == ENOENT)) return GR_OK;
  return failed("remove directory", dir, 0);
}
