// port.c - platform services for Linux (port.h).
#define _GNU_SOURCE
#include "base/port.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double gr_seconds(void) { return seconds(CLOCK_MONOTONIC); }
double gr_wall_seconds(void) { return seconds(CLOCK_REALTIME); }
double gr_thread_seconds(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

int gr_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  int n = CPU_COUNT(&set);
  return n > 0 ? n : 1;
}

void gr_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void gr_sleep_on(_Atomic uint32_t *word, uint32_t value, double seconds) {
  struct timespec most = {.tv_sec = (time_t)seconds};
  most.tv_nsec = (long)(1e9 * (seconds - (double)most.tv_sec));
  syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, value, &most, NULL, 0);
}

void gr_wake(_Atomic uint32_t *word) {
  syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// /proc/PID/stat is "PID (name) STATE ..."; the name may contain parentheses, so search from the
// end.
char gr_process_state(int pid) {
  if (kill(pid, 0) && errno == ESRCH) return 0;
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "r");
  if (!f) return kill(pid, 0) && errno == ESRCH ? 0 : '?';
  size_t len = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[len] = 0;
  const char *end = strrchr(text, ')');
  char state = end && end[1] ? end[2] : '?';
  return state == 'Z' || state == 'X' ? 0 : state;
}

void *gr_large_alloc(size_t bytes) {
  enum { HUGE_PAGE = 2 << 20 };
  size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : 64, whole = (bytes + align) / align * align;
  void *p = aligned_alloc(align, whole);
  if (p && align == HUGE_PAGE) madvise(p, whole, MADV_HUGEPAGE);  // best-effort hint
  return p;
}

// The number in a row of /proc/self/status, such as "VmHWM:"; 0: it is not there.
static size_t own_status(const char *row) {
  char line[256];
  size_t number = 0, len = strlen(row);
  FILE *f = fopen("/proc/self/status", "re");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, row, len)) number = strtoul(line + len, NULL, 10);
  if (f) fclose(f);
  return number;
}

// Not getrusage: its peak includes that of the program which this process ran before (exec), such
// as a launcher's.
size_t gr_resident_bytes(void) { return own_status("VmHWM:") << 10; }

bool gr_process_is_traced(void) { return own_status("TracerPid:") != 0; }

gr_memory gr_memory_now(void) {
  gr_memory m = {0};
  char line[256];
  size_t kb;
  FILE *f = fopen("/proc/self/status", "re");
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "RssAnon: %zu", &kb) == 1) m.anonymous = kb << 10;
    if (sscanf(line, "RssFile: %zu", &kb) == 1) m.files = kb << 10;
    if (sscanf(line, "RssShmem: %zu", &kb) == 1) m.shared = kb << 10;
  }
  if (f) fclose(f);
  return m;
}

// AMX is not among them: a process has to ask the system for it (ops/kernels/gemm.h). AMD's
// processors before Zen 5 do products of 512 bits in two halves.
static void read_sets(gr_machine *m) {
#if defined(__x86_64__) || defined(__i386__)
  bool fma = __builtin_cpu_supports("fma"), wide = __builtin_cpu_supports("avx512f");
  bool avx2 = __builtin_cpu_supports("avx2"), bf16 = __builtin_cpu_supports("avx512bf16");
  bool halves = __builtin_cpu_is("amd") && !__builtin_cpu_supports("avx512vp2intersect");
  m->flops_per_tick = wide && !halves ? 64 : avx2 && fma ? 32 : 16;
  snprintf(m->sets, sizeof m->sets, "SSE2%s%s%s%s", avx2 ? ", AVX2" : "", fma ? ", FMA" : "",
           wide ? ", AVX-512" : "", bf16 ? ", AVX-512 BF16" : "");
#elif defined(__aarch64__)
  m->flops_per_tick = 32;
  snprintf(m->sets, sizeof m->sets, "NEON");
#endif
}

static bool first_line(const char *path, char *line, int size) {
  FILE *f = fopen(path, "re");
  bool ok = f && fgets(line, size, f);
  if (f) fclose(f);
  return ok;
}

// sysconf has the caches of a whole machine where this is a virtual one.
static double read_cache(void) {
  double kilobytes = 0;
  FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
  if (f && fscanf(f, "%lfK", &kilobytes) != 1) kilobytes = 0;
  if (f) fclose(f);
  return 1024 * kilobytes;
}

// How processors are shared: by hyper-threads, and by the control group, which in a container is
// the root.
static void read_shares(gr_machine *m) {
  char line[64];
  double quota, period;
  m->twin = first_line("/sys/devices/system/cpu/smt/active", line, sizeof line) && *line == '1';
  if (first_line("/sys/fs/cgroup/cpu.max", line, sizeof line) &&
      sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
    m->share = quota / period;
}

void gr_machine_read(gr_machine *m) {
  struct utsname u;
  char line[256];
  *m = (gr_machine){.memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE)};
  if (!uname(&u)) {
    snprintf(m->host, sizeof m->host, "%s", u.nodename);
    snprintf(m->system, sizeof m->system, "%s %s %s", u.sysname, u.release, u.machine);
  }
  read_sets(m);
  m->cache = read_cache();
  read_shares(m);
  FILE *f = fopen("/proc/cpuinfo", "re");
  while (f && fgets(line, sizeof line, f) && (!*m->processor || m->hertz == 0)) {
    sscanf(line, "model name : %127[^\n]", m->processor);
    if (sscanf(line, "cpu MHz : %lf", &m->hertz) == 1) m->hertz *= 1e6;
  }
  if (f) fclose(f);
}

bool gr_is_dir(const char *path) {
  assert(path);
  struct stat s;
  return !stat(path, &s) && S_ISDIR(s.st_mode);
}

bool gr_is_file(const char *path) {
  assert(path);
  struct stat s;
  return !stat(path, &s) && S_ISREG(s.st_mode);
}

// A new directory's name is stored in its parent, so the parent is synced. File systems that cannot
// open or sync directories offer nothing better, so that is not an error.
static gr_status sync_parent(const char *path, size_t len) {
  char parent[PATH_MAX] = ".";
  while (len && path[len - 1] == '/') len--;
  while (len && path[len - 1] != '/') len--;
  if (len) snprintf(parent, sizeof parent, "%.*s", (int)len, path);
  int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return GR_OK;
  bool ok = !fsync(fd) || errno == EINVAL || errno == ENOTSUP;
  int e = errno;
  close(fd);
  if (ok) return GR_OK;
  return gr_hint_errno(
      gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot make '%s' durable: %s", parent, strerror(e)), e);
}

gr_status gr_make_dir(const char *path, bool *made) {
  assert(path && made);
  *made = !mkdir(path, 0777);
  if (*made) return sync_parent(path, strlen(path));
  if (errno == EEXIST) return GR_OK;
  int e = errno;
  return gr_hint_errno(
      gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot make directory '%s': %s", path, strerror(e)), e);
}

gr_status gr_make_dirs(const char *path) {
  assert(path);
  char part[PATH_MAX];
  size_t len = strlen(path);
  if (!len || len >= sizeof part)
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s' is not a valid directory name", path);
  for (size_t i = 1; i <= len; i++) {
    if (path[i] != '/' && path[i]) continue;
    memcpy(part, path, i);
    part[i] = 0;
    bool made;
    GR_TRY(gr_make_dir(part, &made));
  }
  if (!gr_is_dir(path))
    return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s' exists but is not a directory", path),
                   "name another folder, or remove the file");
  return GR_OK;
}

void gr_close_from(int fd) {
#if defined(SYS_close_range)
  if (!syscall(SYS_close_range, (unsigned)fd, ~0U, 0)) return;
#endif
  long most = sysconf(_SC_OPEN_MAX);  // kernels before 5.9 have no close_range
  for (long i = fd; i < (most > 0 && most < 65536 ? most : 65536); i++) close((int)i);
}
