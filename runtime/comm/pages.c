// pages.c - shared memory by memfd_create and /proc/PID/fd. See pages.h.
#define _GNU_SOURCE
#include "runtime/comm/pages.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOEXEC_SEAL = 8 };  // MFD_NOEXEC_SEAL of Linux 6.3, which some systems require
enum { PID, FD, INODE_LOW, INODE_HIGH };  // the numbers of an offer

static const char raise_limit[] =
    "raise the limit of memory if there is one (`ulimit -v`), or use a smaller batch";

static bool is_offered(const struct stat *s, const int32_t *offer, size_t bytes) {
  return S_ISREG(s->st_mode) && s->st_nlink == 0 && (size_t)s->st_size == bytes &&
         (uint32_t)s->st_ino == (uint32_t)offer[INODE_LOW] &&
         (uint32_t)((uint64_t)s->st_ino >> 32) == (uint32_t)offer[INODE_HIGH];
}

// Opens a memfd; -1: the system has none, or limits the size of files (ulimit -f), in which case
// writing would raise SIGXFSZ.
static int open_file(size_t bytes) {
  struct rlimit most;
  if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur < bytes) return -1;
  int fd = memfd_create("graphrun", MFD_CLOEXEC | NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("graphrun", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (!ftruncate(fd, (off_t)bytes)) return fd;
  close(fd);
  return -1;
}

static void *map(int fd, size_t bytes) {
  int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);
  if (mapped == MAP_FAILED) return NULL;
  madvise(mapped, bytes, MADV_HUGEPAGE);  // best-effort hint; most systems do not apply it to files
  return mapped;
}

gr_status gr_pages_make(size_t bytes, void **out, int32_t offer[GR_PAGES_OFFER]) {
  struct stat s = {0};
  int fd = open_file(bytes);
  *out = map(fd, bytes);
  if (fd >= 0 && (!*out || fstat(fd, &s))) {
    gr_pages_free(*out, bytes);
    close(fd);
    *out = map(fd = -1, bytes);
  }
  offer[PID] = (int32_t)getpid(), offer[FD] = fd;
  offer[INODE_LOW] = (int32_t)(uint32_t)s.st_ino;
  offer[INODE_HIGH] = (int32_t)(uint32_t)((uint64_t)s.st_ino >> 32);
  if (*out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory that ranks share: %s",
                         (double)bytes / 1e6, strerror(errno)),
                 "%s", raise_limit);
}

gr_status gr_pages_refused(void) {
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the ranks of this machine cannot map more shared memory"),
      "%s", raise_limit);
}

// A process may open the files of another process of the same user by /proc/PID/fd. In containers
// the process number may denote a different process here, so the inode is compared.
void *gr_pages_map(const int32_t offer[GR_PAGES_OFFER], size_t bytes) {
  char path[64];
  struct stat s;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)offer[PID], (int)offer[FD]);
  if (offer[FD] < 0 || stat(path, &s) || !is_offered(&s, offer, bytes)) return NULL;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  void *mapped = fstat(fd, &s) || !is_offered(&s, offer, bytes) ? NULL : map(fd, bytes);
  close(fd);
  return mapped;
}

void gr_pages_close_offer(const int32_t offer[GR_PAGES_OFFER]) {
  if (offer[FD] >= 0) close(offer[FD]);
}

void gr_pages_free(void *pages, size_t bytes) {
  if (pages) munmap(pages, bytes);
}
