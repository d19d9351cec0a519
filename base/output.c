// output.c - whole files by rename, and logs. See output.h.
#define _GNU_SOURCE
#include "base/output.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/output_kind.h"
#include "base/port.h"

enum { MAX_TRIES = 100, FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
static const int quiet = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

int (*gr_output_fault)(const char *op, const char *path);

struct gr_output {
  FILE *stream;
  int fd;
  int dir;              // the target's folder; -1: the target is written through
  int why;              // errno of the first write that failed
  bool named;           // by the user
  bool begun, other;    // written to; in the place of something else
  char path[PATH_MAX];  // for messages
  char name[PATH_MAX];  // the target's, in `dir`
  char temporary[40];   // "": the temporary file has no name
};

static bool passes(const char *op, const char *path) {
  int e = gr_output_fault ? gr_output_fault(op, path) : 0;
  if (e) errno = e;
  return !e;
}

static gr_status cannot(const char *path, const char *why) {
  return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write '%s': %s", path, why);
}

gr_status gr_output_failed(const char *path, int e) {
  assert(path && e);
  return gr_hint_errno(cannot(path, strerror(e)), e);
}

gr_status gr_output_lost(int e) {
  return gr_hint_errno(gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write to standard output"), e);
}

static gr_status wrong_kind(const char *path, const char *kind) {
  char why[64];
  snprintf(why, sizeof why, "it is %s", kind);
  return gr_hint(cannot(path, why), "remove it, or name another file");
}

static gr_status is_other(const char *path) {
  return gr_hint(cannot(path, "it is there, and is no file that this command writes"),
                 "name another file, or remove it");
}

static gr_status is_link(const char *path, const char *name) {
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write '%s': '%.*s' is a symbolic link",
                         path, (int)strcspn(name, "/"), name),
                 "graphrun does not follow symbolic links here: remove it");
}

// ---- Descriptors ------------------------------------------------------------------------------

int gr_output_new_at(int dir, const char *name) {
  assert(name);
  return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

// The kind is checked before opening, since opening a device can have side effects, and again
// after, since the file may have been replaced in between.
static int update_at(int dir, const char *name, int how) {
  struct stat st;
  if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode)) {
    errno = S_ISLNK(st.st_mode) ? ELOOP : ENXIO;
    return -1;
  }
  int fd = openat(dir, name, how | O_CREAT | quiet, 0666);
  if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return fd;
  close(fd);
  errno = ENXIO;
  return -1;
}

int gr_output_update_at(int dir, const char *name) { return update_at(dir, name, O_RDWR); }

bool gr_output_put(int fd, const void *data, size_t bytes) {
  assert(fd >= 0 && (data || !bytes));
  for (const char *p = data; bytes;) {
    ssize_t n = write(fd, p, bytes);
    if (n < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return false;
    p += n, bytes -= (size_t)n;
  }
  return true;
}

// ---- Folders ----------------------------------------------------------------------------------

// Opens the folder of DIR/NAME, without following links below `dir`, and copies the rest of `name`.
static gr_status enter(const char *dir, const char *name, const char *path, int *out_dir,
                       char out_name[PATH_MAX]) {
  const char *slash;
  int fd = open(*dir ? dir : "/", FOLDER);
  bool ok = fd >= 0;
  while (ok && (slash = strchr(name, '/'))) {
    ok = gr_file_enter(&fd, name, (size_t)(slash - name));
    if (ok) name = slash + 1;
  }
  *out_dir = ok ? fd : -1;
  snprintf(out_name, PATH_MAX, "%s", name);
  if (ok) return GR_OK;
  gr_status s = errno == ELOOP ? is_link(path, name) : gr_output_failed(path, errno);
  if (fd >= 0) close(fd);
  return s;
}

// Copies the folder of a path, "" for the root, and returns the rest.
static const char *split(const char *path, char dir[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  return slash ? slash + 1 : path;
}

static void path_of(const char *dir, const char *name, char out[PATH_MAX]) {
  if (snprintf(out, PATH_MAX, "%s%s%s", dir ? dir : "", dir ? "/" : "", name) < 0) *out = 0;
}

// ---- Opening a whole file ---------------------------------------------------------------------

// A file without a name needs /proc to get one.
static int open_unnamed(const gr_output *o) {
  char link[64];
  int fd =
      passes("unnamed", o->path) ? openat(o->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (fd < 0 || !access(link, F_OK)) return fd;
  close(fd);
  return -1;
}

static void make_name(gr_output *o) {
  uint64_t n;
  if (getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
    n = (uint64_t)getpid() << 32 ^ (uint64_t)(1e9 * gr_wall_seconds());
  snprintf(o->temporary, sizeof o->temporary, ".%016llx.tmp", (unsigned long long)n);
}

static int open_named(gr_output *o) {
  int fd = -1;
  for (int i = 0; fd < 0 && i < MAX_TRIES && (!i || errno == EEXIST); i++) {
    make_name(o);
    fd = passes("create", o->path) ? gr_output_new_at(o->dir, o->temporary) : -1;
  }
  if (fd < 0) *o->temporary = 0;
  return fd;
}

static gr_status open_temporary(gr_output *o) {
  struct stat st;
  bool there = !fstatat(o->dir, o->name, &st, AT_SYMLINK_NOFOLLOW);
  const char *kind = there && !S_ISLNK(st.st_mode) ? gr_file_mode_kind(st.st_mode) : NULL;
  if (!*o->name || kind) return wrong_kind(o->path, kind ? kind : "a folder");
  o->fd = open_unnamed(o);
  if (o->fd < 0) o->fd = open_named(o);
  if (o->fd < 0) return gr_output_failed(o->path, errno);
  if (there && S_ISREG(st.st_mode) && fchmod(o->fd, st.st_mode & 0777))
    return gr_output_failed(o->path, errno);
  return GR_OK;
}

// ---- Files that a user names ------------------------------------------------------------------

// The number of this process's descriptor that the path names; -1: it names none.
static int own_descriptor(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
  if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(folders[i]);
    const char *digits = path + n;
    if (!strncmp(path, folders[i], n) && *digits && strspn(digits, "0123456789") == strlen(digits))
      return strlen(digits) < 8 ? atoi(digits) : -1;
  }
  return -1;
}

static gr_status write_through(gr_output *o, int fd) {
  o->fd = fd;
  if (fd >= 0) return GR_OK;
  if (errno != ENXIO) return gr_output_failed(o->path, errno);
  return gr_hint(cannot(o->path, "no process reads it"), "start its reader first");
}

// Once it is open, writing may wait for the reader, as on a pipe.
static gr_status open_stream(gr_output *o, const char *path) {
  struct stat st;
  int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), how;
  if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
    close(fd);
    return cannot(o->path, "another process is replacing it");
  }
  if (fd >= 0 && (how = fcntl(fd, F_GETFL)) >= 0) fcntl(fd, F_SETFL, how & ~O_NONBLOCK);
  return write_through(o, fd);
}

// As the kernel's fs.protected_symlinks: where everyone may write, only links of this user or of
// the folder's owner are followed.
static bool is_trusted(const char *path, const struct stat *link) {
  struct stat folder;
  char dir[PATH_MAX];
  split(path, dir);
  return link->st_uid == geteuid() ||
         (!stat(*dir ? dir : "/", &folder) &&
          (folder.st_uid == link->st_uid || !(folder.st_mode & S_IWOTH)));
}

// Finds the regular file to replace, in `real`, or opens what is written through.
static gr_status open_target(gr_output *o, const char *path, char real[PATH_MAX]) {
  struct stat st;
  int opened = own_descriptor(path);
  snprintf(real, PATH_MAX, "%s", path);
  if (opened >= 0) return write_through(o, fcntl(opened, F_DUPFD_CLOEXEC, 3));
  if (lstat(path, &st)) return GR_OK;  // a new file
  if (S_ISLNK(st.st_mode)) {
    if (!is_trusted(path, &st)) return cannot(path, "it is another user's symbolic link");
    if (stat(path, &st)) return cannot(path, "it is a symbolic link to a file that does not exist");
    if (S_ISREG(st.st_mode) && !realpath(path, real)) return gr_output_failed(path, errno);
  }
  if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) return open_stream(o, path);
  const char *kind = gr_file_mode_kind(st.st_mode);
  return kind ? wrong_kind(path, kind) : GR_OK;
}

static gr_status open_user_file(gr_output *o, const char *path) {
  char real[PATH_MAX], dir[PATH_MAX];
  if (strlen(path) >= sizeof real) return cannot(path, strerror(ENAMETOOLONG));
  GR_TRY(open_target(o, path, real));
  if (o->fd >= 0) return GR_OK;
  const char *name = split(real, dir);
  GR_TRY(enter(dir, name, path, &o->dir, o->name));
  return open_temporary(o);
}

static gr_status open_own_file(gr_output *o, const char *dir, const char *name) {
  GR_TRY(enter(dir, name, o->path, &o->dir, o->name));
  return open_temporary(o);
}

// ---- The stream -------------------------------------------------------------------------------

// A run's report over the user's table would be a loss. What a command has written before it may
// write again.
static void begin(gr_output *o, const char *data, size_t bytes) {
  if (o->begun || !bytes) return;
  o->begun = true;
  o->other = o->named && o->dir >= 0 && gr_output_is_other_kind(o->dir, o->name, data, bytes);
  if (o->other) o->why = EEXIST;
}

static ssize_t put(void *self, const char *data, size_t bytes) {
  gr_output *o = self;
  begin(o, data, bytes);
  if (!o->why && (!passes("write", o->path) || !gr_output_put(o->fd, data, bytes))) o->why = errno;
  return o->why ? 0 : (ssize_t)bytes;  // 0: the stream has an error
}

static gr_status open_buffer(gr_output *o) {
  o->stream = fopencookie(o, "w", (cookie_io_functions_t){.write = put});
  return o->stream ? GR_OK : cannot(o->path, "no memory");
}

gr_status gr_output_open(const char *dir, const char *name, gr_output **out) {
  assert(name && out);
  gr_output *o = calloc(1, sizeof *o);
  *out = NULL;
  if (!o) return cannot(name, "no memory");
  o->fd = o->dir = -1;
  o->named = !dir;
  path_of(dir, name, o->path);
  gr_status s = dir ? open_own_file(o, dir, name) : open_user_file(o, name);
  if (!s) s = open_buffer(o);
  if (s) return gr_output_close(o, s);
  *out = o;
  return GR_OK;
}

FILE *gr_output_stream(gr_output *o) { return o->stream; }

// ---- Closing ----------------------------------------------------------------------------------

// Some file systems cannot sync files or folders, and offer nothing better.
static bool sync_all(int fd) { return !fsync(fd) || errno == EINVAL || errno == ENOTSUP; }

static bool give_name(gr_output *o) {
  char link[64];
  int made = -1;
  if (*o->temporary) return true;
  snprintf(link, sizeof link, "/proc/self/fd/%d", o->fd);
  for (int i = 0; made && i < MAX_TRIES && (!i || errno == EEXIST); i++) {
    make_name(o);
    made = passes("name", o->path) ? linkat(AT_FDCWD, link, o->dir, o->temporary, AT_SYMLINK_FOLLOW)
                                   : -1;
  }
  if (made) *o->temporary = 0;
  return !made;
}

static bool close_file(gr_output *o) {
  bool ok = passes("close", o->path);
  if (ok) ok = !close(o->fd), o->fd = -1;
  return ok;
}

// All of a file but its name is done, and what can fail of writing has.
static gr_status prepare(gr_output *o, gr_status s) {
  if (!o) return s;
  if (o->stream && fclose(o->stream) && !o->why) o->why = errno ? errno : EIO;
  if (s) return s;
  if (o->other) return is_other(o->path);
  if (o->why) return gr_output_failed(o->path, o->why);
  bool ok = o->dir < 0 || (passes("fsync", o->path) && sync_all(o->fd) && give_name(o));
  return ok && close_file(o) ? GR_OK : gr_output_failed(o->path, errno);
}

static bool publish(gr_output *o) {
  bool ok = passes("rename", o->path) && !renameat(o->dir, o->temporary, o->dir, o->name);
  if (ok) *o->temporary = 0;
  return ok && passes("durable", o->path) && sync_all(o->dir);
}

static gr_status finish(gr_output *o, gr_status s) {
  if (!o) return s;
  if (!s && o->dir >= 0 && !publish(o)) s = gr_output_failed(o->path, errno);
  if (o->fd >= 0) close(o->fd);
  if (*o->temporary) unlinkat(o->dir, o->temporary, 0);
  if (o->dir >= 0) close(o->dir);
  free(o);
  return s;
}

// Removes the target.
static bool take_away(const gr_output *o) {
  return o->dir < 0 || (passes("remove", o->path) &&
                        (!unlinkat(o->dir, o->name, 0) || errno == ENOENT) && sync_all(o->dir));
}

gr_status gr_output_close_both(gr_output *part, gr_output *whole, gr_status s) {
  s = prepare(whole, prepare(part, s));
  if (!s && part && whole && !take_away(whole)) s = gr_output_failed(whole->path, errno);
  s = finish(part, s);
  return finish(whole, s);
}

gr_status gr_output_close(gr_output *o, gr_status s) { return gr_output_close_both(NULL, o, s); }

gr_status gr_output_write(const char *dir, const char *name, const void *data, size_t bytes) {
  assert(name && (data || !bytes));
  gr_output *o;
  GR_TRY(gr_output_open(dir, name, &o));
  fwrite(data, 1, bytes, gr_output_stream(o));
  return gr_output_close(o, GR_OK);
}

// ---- Logs -------------------------------------------------------------------------------------

gr_status gr_output_append(const char *dir, const char *name, int *out_fd) {
  assert(name && out_fd);
  char path[PATH_MAX], last[PATH_MAX], of_path[PATH_MAX];
  struct stat st;
  int folder;
  *out_fd = -1;
  path_of(dir, name, path);
  if (!dir) name = split(path, of_path);
  GR_TRY(enter(dir ? dir : of_path, name, path, &folder, last));
  *out_fd = update_at(folder, last, O_WRONLY | O_APPEND);
  int e = errno;
  const char *kind = NULL;
  if (*out_fd < 0 && !fstatat(folder, last, &st, AT_SYMLINK_NOFOLLOW))
    kind = gr_file_mode_kind(st.st_mode);
  close(folder);
  if (*out_fd >= 0) return GR_OK;
  if (e == ELOOP) return is_link(path, last);
  return kind ? wrong_kind(path, kind) : gr_output_failed(path, e);
}
