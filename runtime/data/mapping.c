// mapping.c - see mapping.h. Reading a page that is not in the file any more raises SIGBUS. A
// handler puts zeros there, so that the read goes on, and marks the range; other addresses are
// left to the handler that was there before.
#define _GNU_SOURCE
#include "runtime/data/mapping.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/file.h"
#include "base/thread.h"

// Ranges are never freed, because a handler may be reading the list, but used again.
typedef struct gr_mapping_range {
  _Atomic uintptr_t first, end;  // both 0: it is not in use
  atomic_bool cut;
  struct gr_mapping_range *next;
} range;

static range *_Atomic ranges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of changes
static struct sigaction before;

// ---- Pages that are gone ------------------------------------------------------------------------

// Zeros from the page of the address to the end of its range. By the system call itself, which a
// handler may make: the thread sanitizer counts the C library's mmap as a write of the pages, which
// other threads may be reading.
static bool replace(uintptr_t address) {
  uintptr_t page = address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
  for (range *r = atomic_load(&ranges); r; r = r->next) {
    uintptr_t to = atomic_load(&r->end);
    if (address < atomic_load(&r->first) || address >= to) continue;
    atomic_store(&r->cut, true);
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return syscall(SYS_mmap, page, to - page, PROT_READ, how, -1, 0) != -1;
  }
  return false;
}

// After the previous handler is restored the same instruction raises the signal again; one that was
// sent is raised here.
static void on_bus(int number, siginfo_t *info, void *context) {
  int kept = errno;
  (void)context;
  if (info->si_code <= 0 || !replace((uintptr_t)info->si_addr)) {
    sigaction(number, &before, NULL);
    if (info->si_code <= 0) raise(number);
  }
  errno = kept;
}

static void catch_bus(void) {
  struct sigaction a = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
  gr_signal_handle(SIGBUS, a, &before);
}

static range *add_range(uintptr_t first, size_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, catch_bus);
  pthread_mutex_lock(&lock);
  range *r = atomic_load(&ranges);
  while (r && atomic_load(&r->end)) r = r->next;
  if (!r && (r = calloc(1, sizeof *r))) {
    r->next = atomic_load(&ranges);
    atomic_store(&ranges, r);
  }
  if (r) {
    atomic_store(&r->cut, false);
    atomic_store(&r->first, first);
    atomic_store(&r->end, first + bytes);
  }
  pthread_mutex_unlock(&lock);
  return r;
}

// ---- Files --------------------------------------------------------------------------------------

static gr_status map(const char *path, int fd, gr_mapping *out) {
  struct stat st;
  if (fstat(fd, &st)) return gr_fail_errno(GR_ERR_DATA, errno, "cannot read '%s'", path);
  if (!st.st_size) return GR_OK;
  size_t bytes = (size_t)st.st_size;
  void *mapped = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  range *r = mapped == MAP_FAILED ? NULL : add_range((uintptr_t)mapped, bytes);
  if (!r && mapped != MAP_FAILED) munmap(mapped, bytes), errno = ENOMEM;
  if (!r) return gr_fail_errno(GR_ERR_DATA, errno, "cannot map '%s' into memory", path);
  *out = (gr_mapping){mapped, bytes, path, fd, r};
  return GR_OK;
}

enum { SPARE_FILES = 64 };  // besides mapped ones

// Data of many files take more than the usual limit of 1024 open files: the process may raise it.
static void raise_limit(int fd) {
  struct rlimit l;
  if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= l.rlim_max) return;
  if ((rlim_t)fd + SPARE_FILES < l.rlim_cur) return;
  l.rlim_cur = l.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &l);  // if it fails, opening a file will, and says so
}

gr_status gr_mapping_open(const char *path, gr_mapping *out) {
  int fd;
  *out = (gr_mapping){0};
  GR_TRY(gr_file_open(path, GR_ERR_DATA, &fd));
  raise_limit(fd);
  gr_status s = map(path, fd, out);
  if (!out->data) close(fd);
  return s;
}

// It is advice: the same bytes are read where the system does not take it.
void gr_mapping_expect_few(const gr_mapping *m) {
  if (m->data) (void)madvise((void *)(uintptr_t)m->data, m->bytes, MADV_RANDOM);
}

// The size finds what no signal does: bytes of the last page that are gone read as 0.
gr_status gr_mapping_check(const gr_mapping *m) {
  struct stat st;
  if (!m->data) return GR_OK;
  bool whole = !fstat(m->file, &st) && (size_t)st.st_size >= m->bytes;
  if (whole && !atomic_load(&m->range->cut)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' was cut short while it was read: it had %zu bytes",
              m->path, m->bytes),
      "replace a file that is in use by renaming another to its name");
}

gr_status gr_mapping_end(gr_mapping *m, gr_status s) {
  gr_status cut = gr_mapping_check(m);
  gr_mapping_close(m);
  if (cut) gr_status_drop(s);
  return cut ? cut : s;
}

void gr_mapping_close(gr_mapping *m) {
  if (m->data) {
    atomic_store(&m->range->end, 0);
    atomic_store(&m->range->first, 0);
    // The cast is safe: munmap does not write, and the bytes were mapped by gr_mapping_open.
    munmap((void *)(uintptr_t)m->data, m->bytes);
    close(m->file);
  }
  *m = (gr_mapping){0};
}
