// lock.c - locks a folder by flock on a file in it. See lock.h.
#define _GNU_SOURCE
#include "runtime/checkpoint/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "base/output.h"
#include "base/port.h"
#include "runtime/checkpoint/disk.h"

struct gr_lock {
  gr_disk_dir dir;
  char name[64];
  int fd;  // -1: the file system does not support locks
};

static gr_status cannot(const gr_lock *k, const char *why) {
  return gr_hint(
      gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot lock '%s/%s': %s", k->dir.path, k->name, why),
      "a run needs to lock its folder against other runs: choose another folder, or give it "
      "permission to write to this one");
}

// Reads the name of the run that holds the lock, as one printable line.
static void read_owner(int fd, char *out, size_t size) {
  ssize_t n = pread(fd, out, size - 1, 0);
  out[n > 0 ? n : 0] = 0;
  for (char *c = out; *c; c++) {
    if (*c == '\n') *c = 0;
    if (!*c) return;
    if ((unsigned char)*c < 32 || *c == 127) *c = '?';
  }
}

static gr_status taken(gr_lock *k) {
  char owner[PATH_MAX + 256];
  read_owner(k->fd, owner, sizeof owner);
  return gr_fail(GR_ERR_IO, GR_NOWHERE, "another run writes to '%s'%s%s", k->dir.path,
                 *owner ? ": " : "", owner);
}

// A failure only makes another run's error message shorter, so it is logged and ignored.
static void write_owner(gr_lock *k, const char *owner) {
  char host[128] = "", text[PATH_MAX + 256];
  if (gethostname(host, sizeof host - 1)) snprintf(host, sizeof host, "an unknown host");
  int n = snprintf(text, sizeof text, "process %d on %s%s%.*s\n", (int)getpid(), host,
                   owner ? ", " : "", PATH_MAX, owner ? owner : "");
  size_t bytes = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  if (ftruncate(k->fd, 0) || !gr_disk_pass(&k->dir, "write", k->name, &bytes) ||
      pwrite(k->fd, text, bytes, 0) < 0)
    gr_log(GR_INFO, "cannot write this run's name to '%s/%s': %s", k->dir.path, k->name,
           strerror(errno));
}

static gr_status open_file(gr_lock *k) {
  k->fd = -1;
  if (gr_disk_pass(&k->dir, "create", k->name, NULL))
    k->fd = gr_output_update_at(k->dir.fd, k->name);
  if (k->fd >= 0) return GR_OK;
  return cannot(k, errno == ELOOP   ? "it is a symbolic link"
                   : errno == ENXIO ? "it is not a regular file"
                                    : strerror(errno));
}

// Whether the locked file still has its name: the run that held the lock may have removed it
// between open and flock.
static bool is_current(const gr_lock *k) {
  struct stat open, named;
  return !fstat(k->fd, &open) && !fstatat(k->dir.fd, k->name, &named, AT_SYMLINK_NOFOLLOW) &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

static bool no_locks_here(int e) {
  return e == ENOLCK || e == ENOSYS || e == ENOTSUP || e == EOPNOTSUPP || e == EINVAL;
}

// One attempt; *again: another run holds the lock, or has just released it.
static gr_status try_once(gr_lock *k, bool *again) {
  *again = false;
  GR_TRY(open_file(k));
  if (gr_disk_pass(&k->dir, "lock", k->name, NULL) && !flock(k->fd, LOCK_EX | LOCK_NB)) {
    *again = !is_current(k);
    return GR_OK;
  }
  if (errno == EWOULDBLOCK || errno == EINTR) {
    *again = true;
    return taken(k);
  }
  if (!no_locks_here(errno)) return cannot(k, strerror(errno));
  gr_log(GR_WARN,
         "the file system of '%s' does not support locks (%s): make sure that no other run "
         "writes there",
         k->dir.path, strerror(errno));
  close(k->fd);
  k->fd = -1;
  return GR_OK;
}

static gr_status wait_for(gr_lock *k, double seconds) {
  enum { MAX_STALE = 50 };  // attempts at a file that something keeps replacing
  double until = gr_seconds() + seconds;
  for (int stale = 0;;) {
    bool again;
    gr_status s = try_once(k, &again);
    if (!again) return s;
    if (s && gr_seconds() >= until) return s;
    if (!s && ++stale > MAX_STALE) return cannot(k, "something keeps replacing it");
    gr_status_drop(s);
    close(k->fd);
    k->fd = -1;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
}

gr_status gr_lock_take(const gr_lock_spec *spec, gr_lock **out) {
  *out = NULL;
  gr_lock *k = calloc(1, sizeof *k);
  if (!k) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a lock");
  k->fd = -1;
  snprintf(k->name, sizeof k->name, "%s", spec->file);
  gr_status s = gr_disk_open(spec->dir, &k->dir);
  if (!s) s = wait_for(k, spec->seconds);
  if (s) {
    if (k->fd >= 0) close(k->fd);
    gr_disk_leave(&k->dir);
    free(k);
    return s;
  }
  if (k->fd >= 0) write_owner(k, spec->owner);
  *out = k;
  return GR_OK;
}

void gr_lock_release(gr_lock *k) {
  if (!k) return;
  gr_status_drop(gr_disk_unlink(&k->dir, k->name));  // a file that remains is reused
  if (k->fd >= 0) close(k->fd);
  gr_disk_leave(&k->dir);
  free(k);
}
