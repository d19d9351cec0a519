// file.c - opens regular files only (file.h).
#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *gr_file_mode_kind(unsigned mode) {
  return S_ISREG(mode)    ? NULL
         : S_ISDIR(mode)  ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
                          : "not a regular file";
}

const char *gr_file_kind(const char *path) {
  struct stat st;
  return stat(path, &st) ? NULL : gr_file_mode_kind(st.st_mode);
}

static gr_status wrong_kind(const char *path, gr_code code, const char *kind) {
  return gr_hint(gr_fail(code, GR_NOWHERE, "cannot read '%s': it is %s", path, kind),
                 "only regular files are read: copy its content to a regular file");
}

// The kind is checked before opening, since opening a device can have side effects, and again
// after, since the file may have been replaced in between. O_NONBLOCK has no effect on regular
// files.
gr_status gr_file_open(const char *path, gr_code code, int *out_fd) {
  assert(path && out_fd);
  struct stat st;
  const char *kind = gr_file_kind(path);
  *out_fd = -1;
  if (kind) return wrong_kind(path, code, kind);
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st)) {
    int e = errno;
    gr_status s = gr_fail(code, GR_NOWHERE, "cannot open '%s': %s", path, strerror(e));
    if (fd >= 0) close(fd);
    return e == ENOENT || e == ENOTDIR ? gr_hint(s, "correct the path") : s;
  }
  kind = gr_file_mode_kind(st.st_mode);
  if (!kind) {
    *out_fd = fd;
    return GR_OK;
  }
  close(fd);
  return wrong_kind(path, code, kind);
}

gr_status gr_file_stream(const char *path, gr_code code, FILE **out) {
  assert(path && out);
  int fd;
  *out = NULL;
  GR_TRY(gr_file_open(path, code, &fd));
  *out = fdopen(fd, "rb");
  if (*out) return GR_OK;
  gr_status s = gr_fail(code, GR_NOWHERE, "cannot open '%s': %s", path, strerror(errno));
  close(fd);
  return s;
}
