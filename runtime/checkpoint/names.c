// names.c - names of checkpoints, and of what is in a folder. See dir.h.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/grow.h"
#include "base/sort.h"
#include "runtime/checkpoint/dir.h"

void gr_checkpoint_name(const char *prefix, int64_t step, char out[GR_CHECKPOINT_NAME_SIZE]) {
  snprintf(out, GR_CHECKPOINT_NAME_SIZE, "%sstep-%08lld", prefix, (long long)step);
}

int64_t gr_checkpoint_name_step(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) || strncmp(name + n, "step-", 5)) return -1;
  const char *p = name + n + 5;
  size_t digits = strspn(p, "0123456789");
  return digits >= 8 && digits <= 18 && !p[digits] ? strtoll(p, NULL, 10) : -1;
}

static void add_name(gr_arena *a, gr_names *all, const char *name) {
  GR_GROW(a, all->names, all->n, all->cap);
  all->names[all->n++] = gr_arena_strdup(a, name);
}

gr_status gr_checkpoint_names(gr_arena *a, const gr_disk_dir *dir, gr_names *out) {
  *out = (gr_names){0};
  int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d && fd >= 0) close(fd);
  errno = d ? 0 : errno;
  for (struct dirent *e; d && (e = readdir(d)); errno = 0)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) add_name(a, out, e->d_name);
  int failed = errno;
  if (d) closedir(d);
  if (failed) return gr_fail_errno(GR_ERR_IO, failed, "cannot list '%s'", dir->path);
  if (out->n) qsort(out->names, (size_t)out->n, sizeof *out->names, gr_order_texts);
  return GR_OK;
}
