// mapping.c - see mapping.h.
#include "runtime/data/table/mapping.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

static gr_status map(const char *path, int fd, gr_mapping *out) {
  struct stat st;
  if (fstat(fd, &st))
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot read '%s': %s", path, strerror(errno));
  if (!st.st_size) return GR_OK;
  void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot map '%s' into memory: %s", path,
                   strerror(errno));
  *out = (gr_mapping){at, (size_t)st.st_size};
  return GR_OK;
}

gr_status gr_mapping_open(const char *path, gr_mapping *out) {
  int fd;
  *out = (gr_mapping){0};
  GR_TRY(gr_file_open(path, GR_ERR_DATA, &fd));
  gr_status s = map(path, fd, out);
  close(fd);  // the mapping remains valid
  return s;
}

void gr_mapping_close(gr_mapping *m) {
  // The cast is safe: munmap does not write, and at was mapped by gr_mapping_open.
  if (m->at) munmap((void *)(uintptr_t)m->at, m->bytes);
  *m = (gr_mapping){0};
}
