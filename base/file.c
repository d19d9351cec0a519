// file.c - opens regular files only (file.h).
#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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
    if (fd >= 0) close(fd);
    return gr_fail_errno(code, e, "cannot open '%s'", path);
  }
  kind = gr_file_mode_kind(st.st_mode);
  if (!kind) {
    *out_fd = fd;
    return GR_OK;
  }
  close(fd);
  return wrong_kind(path, code, kind);
}

// ---- Files below a folder ---------------------------------------------------------------------

bool gr_file_enter(int *dir, const char *name, size_t len) {
  char part[NAME_MAX + 1];
  struct stat st;
  int below = -1;
  if (!len) return true;
  snprintf(part, sizeof part, "%.*s", len > NAME_MAX ? 0 : (int)len, name);
  if (len > NAME_MAX)
    errno = ENAMETOOLONG;
  else if (!fstatat(*dir, part, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
    errno = ELOOP;
  else
    below = openat(*dir, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (below < 0) return false;
  close(*dir);
  *dir = below;
  return true;
}

// Whether a path has no part "..", and does not begin at the root.
static bool is_below(const char *path) {
  if (!*path || *path == '/') return false;
  for (const char *p = path; p; p = strchr(p, '/'), p += p != NULL)
    if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/')) return false;
  return true;
}

// Opens what the path's folders, which are entered one by one, have of its last name. As with
// gr_file_open, its kind is known before.
static int open_last(int *folder, const char *path) {
  struct stat st;
  const char *slash;
  for (; (slash = strchr(path, '/')); path = slash + 1)
    if (!gr_file_enter(folder, path, (size_t)(slash - path))) return -1;
  if (fstatat(*folder, path, &st, AT_SYMLINK_NOFOLLOW)) return -1;
  errno = S_ISLNK(st.st_mode) ? ELOOP : ENXIO;
  int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  return S_ISREG(st.st_mode) ? openat(*folder, path, how) : -1;
}

gr_status gr_file_open_below(const char *dir, const char *path, gr_code code, int *out_fd) {
  struct stat st;
  int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool below = is_below(path);
  *out_fd = folder >= 0 && below ? open_last(&folder, path) : -1;
  int e = errno;
  if (folder >= 0) close(folder);
  if (*out_fd >= 0 && !fstat(*out_fd, &st) && S_ISREG(st.st_mode)) return GR_OK;
  if (*out_fd >= 0) close(*out_fd), e = ENXIO;
  *out_fd = -1;
  const char *why = !below       ? "it is not below that folder"
                    : e == ENXIO ? "it is not a regular file"
                    : e == ELOOP ? "it is a symbolic link, or behind one"
                                 : NULL;
  if (!why) return gr_fail_errno(code, e, "cannot read '%s' in '%s'", path, dir);
  return gr_fail(code, GR_NOWHERE, "cannot read '%s' in '%s': %s", path, dir, why);
}

gr_status gr_file_stream(const char *path, gr_code code, FILE **out) {
  assert(path && out);
  int fd;
  *out = NULL;
  GR_TRY(gr_file_open(path, code, &fd));
  *out = fdopen(fd, "rb");
  if (*out) return GR_OK;
  gr_status s = gr_fail_errno(code, errno, "cannot open '%s'", path);
  close(fd);
  return s;
}
