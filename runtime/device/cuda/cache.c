// cache.c - compiled kernels, and choices of algorithms (tune.c), on disk: a file for each, named
// by its key, which a rename puts there whole. Whatever does not verify is made again, and a folder
// that cannot be written is done without.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"
#include "base/port.h"
#include "runtime/device/cuda/parts.h"

enum { PATH = 1024, NAME = 64, MOST = 256 << 20 };  // bytes
typedef struct head {
  char magic[8];
  uint64_t key[2], bytes, hash;  // of the code that follows
} head;
static const char magic[8] = "grkern1";

// GRAPHRUN_CACHE, or what the XDG base directory specification says. False: no folder.
static bool folder(char out[PATH]) {
  const char *chosen = getenv("GRAPHRUN_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
             *home = getenv("HOME");
  int n = chosen               ? snprintf(out, PATH, "%s", chosen)
          : xdg && *xdg == '/' ? snprintf(out, PATH, "%s/graphrun/kernels", xdg)
          : home && *home      ? snprintf(out, PATH, "%s/.cache/graphrun/kernels", home)
                               : 0;
  return n > 0 && n < PATH - 100;
}

static void name_of(const uint64_t key[2], char out[NAME]) {
  snprintf(out, NAME, "%016llx%016llx.kernel", (unsigned long long)key[0],
           (unsigned long long)key[1]);
}

static bool path_of(const uint64_t key[2], char out[PATH]) {
  if (!folder(out)) return false;
  char name[NAME];
  name_of(key, name);
  snprintf(out + strlen(out), NAME + 1, "/%s", name);
  return true;
}

static bool read_all(int fd, void *to, size_t bytes) {
  for (char *next = to; bytes;) {
    ssize_t n = read(fd, next, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n, bytes -= (size_t)n;
  }
  return true;
}

static bool read_file(int fd, const uint64_t key[2], char **out, size_t *out_bytes) {
  head h;
  struct stat st;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_all(fd, &h, sizeof h)) return false;
  if (memcmp(h.magic, magic, sizeof magic) || memcmp(h.key, key, sizeof h.key) || h.bytes > MOST ||
      (uint64_t)st.st_size != sizeof h + h.bytes)
    return false;
  char *code = malloc(h.bytes + 1);
  if (code && read_all(fd, code, h.bytes) &&
      gr_hash_bytes(GR_HASH_START, code, h.bytes) == h.hash) {
    code[h.bytes] = 0;  // PTX is text
    *out = code, *out_bytes = h.bytes;
    return true;
  }
  free(code);
  return false;
}

bool gr_kernel_cache_read(const uint64_t key[2], char **out, size_t *out_bytes) {
  char path[PATH];
  if (!path_of(key, path)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool good = read_file(fd, key, out, out_bytes);
  close(fd);
  if (!good) gr_log(GR_WARN, "'%s' is damaged, and is made again", path);
  return good;
}

static struct flock byte_of(const uint64_t key[2], short type) {
  return (struct flock){
      .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(key[0] >> 2), .l_len = 1};
}

// A byte of the folder's file `lock` belongs to each key (fcntl(2), open file description locks),
// so that threads exclude each other as processes do, and what a killed process has locked is free.
bool gr_kernel_cache_claim(const uint64_t key[2], double seconds, int *claim) {
  char path[PATH];
  struct flock byte = byte_of(key, F_WRLCK);
  *claim = -1;
  if (!folder(path)) return true;
  gr_status_drop(gr_make_dirs(path));
  strcat(path, "/lock");
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  double end = gr_seconds() + seconds;
  bool busy = fd >= 0 && fcntl(fd, F_OFD_SETLK, &byte) && (errno == EAGAIN || errno == EACCES);
  while (busy && gr_seconds() < end) {
    usleep(10000);
    busy = fcntl(fd, F_OFD_SETLK, &byte) && (errno == EAGAIN || errno == EACCES);
  }
  *claim = fd;
  return !busy;
}
void gr_kernel_cache_release(int claim) {
  if (claim >= 0) close(claim);
}

// Ranks may write the same file at once; the last one stays.
void gr_kernel_cache_write(const uint64_t key[2], const char *code, size_t bytes) {
  char dir[PATH], name[NAME];
  gr_output *out = NULL;
  if (!folder(dir)) return;
  name_of(key, name);
  head h = {
      .key = {key[0], key[1]}, .bytes = bytes, .hash = gr_hash_bytes(GR_HASH_START, code, bytes)};
  memcpy(h.magic, magic, sizeof magic);
  gr_status s = gr_make_dirs(dir);
  if (!s) s = gr_output_open(dir, name, &out);
  if (out) fwrite(&h, sizeof h, 1, gr_output_stream(out));
  if (out) fwrite(code, 1, bytes, gr_output_stream(out));
  gr_status_drop(gr_output_close(out, s));
}
