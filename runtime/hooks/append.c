// append.c - graphrun.append: files in the run's output directory that scripts write.
//
// The files' lengths are part of the saved state, so that a resumed run leaves the same files as an
// uninterrupted one.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/output.h"
#include "runtime/hooks/process.h"

enum { MAX_NAME = 100, MAX_FILES = 64 };
#define MAX_APPENDED ((int64_t)1 << 30)

// Whether a script may use this name. Names of the run's own files are excluded.
static bool is_allowed_name(const char *s, size_t len) {
  static const char *const endings[] = {".csv", ".tsv", ".txt", ".log"};
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!len || len > MAX_NAME || strlen(s) != len || strspn(s, letters) != len || *s == '.' ||
      !strcmp(s, "run.log"))
    return false;
  for (int i = 0; i < 4; i++)
    if (gr_ends_in(s, endings[i])) return true;
  return false;
}

static gr_hook_file *find(gr_hooks *h, const char *name) {
  gr_hook_file *f = h->files;
  while (f && strcmp(f->name, name)) f = f->next;
  return f;
}

static int count(const gr_hooks *h) {
  int n = 0;
  for (const gr_hook_file *f = h->files; f; f = f->next) n++;
  return n;
}

static gr_hook_file *add(gr_hooks *h, const char *name, int64_t bytes) {
  gr_hook_file *f = GR_NEW(h->arena, gr_hook_file, 1), **last = &h->files;
  f->name = gr_arena_strdup(h->arena, name), f->bytes = f->before = bytes;
  while (*last) last = &(*last)->next;
  return *last = f;
}

static const char *path_of(gr_hooks *h, const char *name) {
  return gr_arena_printf(h->arena, "%s/%s", h->spec.out_dir, name);
}

// A file of a run that has been before is overwritten if it is `fresh`.
static gr_status open_file(gr_hooks *h, const char *name, bool fresh, int *out_fd) {
  GR_TRY(gr_output_append(h->spec.out_dir, name, out_fd));
  if (!fresh || !ftruncate(*out_fd, 0)) return GR_OK;
  gr_status s = gr_output_failed(path_of(h, name), errno);
  close(*out_fd);
  *out_fd = -1;
  return s;
}

// Opens and closes the file each time, so that a kill loses nothing.
const char *gr_hooks_append(gr_hooks *h, const char *name, size_t name_len, const char *text,
                            size_t len) {
  if (!h->spec.out_dir) return "";
  if (!is_allowed_name(name, name_len))
    return gr_arena_printf(h->arena,
                           "graphrun.append: '%.100s' must be a plain name that ends with .csv, "
                           ".tsv, .txt or .log",
                           name);
  gr_hook_file *f = find(h, name);
  if (!f && count(h) == MAX_FILES) return "graphrun.append: more than 64 files in one run";
  if ((h->appended += (int64_t)len) > MAX_APPENDED)
    return "graphrun.append: more than 1 GiB in one run";
  int fd;
  gr_status s = open_file(h, name, !f || !f->bytes, &fd);
  if (!f) f = add(h, name, 0);
  if (s) {
    const char *why = gr_arena_strdup(h->arena, gr_status_text(s));
    gr_status_drop(s);
    return why;
  }
  bool ok = gr_output_put(fd, text, len);
  int e = errno;
  if (!ok && ftruncate(fd, f->bytes)) f->before = -1;  // truncated when the event is reverted
  if (close(fd) && ok) ok = false, e = errno;
  if (!ok)
    return gr_arena_printf(h->arena, "cannot append to '%s/%s': %s", h->spec.out_dir, name,
                           strerror(e));
  f->bytes += (int64_t)len;
  return "";
}

void gr_hooks_mark_files(gr_hooks *h) {
  for (gr_hook_file *f = h->files; f; f = f->next) f->before = f->bytes;
}

// A file that cannot be truncated now keeps lines that a resumed run truncates.
void gr_hooks_revert_files(gr_hooks *h) {
  for (gr_hook_file *f = h->files; f; f = f->next) {
    if (f->bytes == f->before) continue;
    f->bytes = f->before;
    int fd;
    gr_status s = open_file(h, f->name, false, &fd);
    if (s || ftruncate(fd, f->before))
      gr_log(GR_WARN, "cannot truncate '%s/%s': %s", h->spec.out_dir, f->name,
             s ? gr_status_text(s) : strerror(errno));
    gr_status_drop(s);
    if (fd >= 0) close(fd);
  }
}

gr_status gr_hooks_continue_file(gr_hooks *h, const char *name, int64_t bytes) {
  if (!is_allowed_name(name, strlen(name)) || !h->spec.out_dir || find(h, name)) return GR_OK;
  add(h, name, bytes);
  int fd;
  struct stat s;
  GR_TRY(open_file(h, name, false, &fd));
  bool ok = !fstat(fd, &s);
  if (ok && s.st_size < bytes)
    gr_log(GR_WARN, "'%s/%s' has lost lines: it has %lld bytes, and had %lld at the checkpoint",
           h->spec.out_dir, name, (long long)s.st_size, (long long)bytes);
  ok = ok && (s.st_size <= bytes || !ftruncate(fd, bytes));
  gr_status e = ok ? GR_OK : gr_output_failed(path_of(h, name), errno);
  close(fd);
  return e;
}
