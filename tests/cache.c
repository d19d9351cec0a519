// cache.c - see cache.h. It needs nothing but base/hash.c: stand-ins for libraries are linked with
// it.
#include "tests/cache.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"

enum { PATH = 1024, NAME = 100, MAX_ENTRY = 256 << 20 };  // bytes
typedef struct head {
  char magic[8];
  cache_key key;
  uint64_t bytes, hash;  // of what follows
} head;
static const char magic[8] = "grtest1";

cache_key cache_key_start(void) {
  return (cache_key){{GR_HASH_START, GR_HASH_START ^ UINT64_C(0x9e3779b97f4a7c15)}};
}

void cache_key_add(cache_key *k, const void *data, size_t bytes) {
  for (int i = 0; i < 2; i++) {
    k->half[i] = gr_hash_bytes(k->half[i], &bytes, sizeof bytes);
    k->half[i] = gr_hash_bytes(k->half[i], data, bytes);
  }
}

// False: there is no folder to keep entries in.
static bool find_folder(const char *kind, char out[PATH]) {
  const char *named = getenv("GRAPHRUN_TEST_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
             *home = getenv("HOME");
  int n = 0;
  if (named)
    n = *named ? snprintf(out, PATH, "%s/%s", named, kind) : 0;
  else if (xdg && *xdg == '/')
    n = snprintf(out, PATH, "%s/graphrun/tests/%s", xdg, kind);
  else if (home && *home)
    n = snprintf(out, PATH, "%s/.cache/graphrun/tests/%s", home, kind);
  return n > 0 && n < PATH - NAME;
}

static bool make_folders(char *path) {
  for (char *p = path + 1; *p; p++)
    if (*p == '/') {
      *p = 0;
      int failed = mkdir(path, 0777) && errno != EEXIST;
      *p = '/';
      if (failed) return false;
    }
  return !mkdir(path, 0777) || errno == EEXIST;
}

static void put_name(char *path, const cache_key *k) {
  snprintf(path + strlen(path), NAME, "/%016llx%016llx", (unsigned long long)k->half[0],
           (unsigned long long)k->half[1]);
}

static bool read_entry(FILE *f, const cache_key *k, char **out, size_t *bytes) {
  head h;
  if (fread(&h, sizeof h, 1, f) != 1 || memcmp(h.magic, magic, sizeof magic) ||
      memcmp(&h.key, k, sizeof *k) || h.bytes > MAX_ENTRY)
    return false;
  char *data = malloc(h.bytes + 1);
  if (data && fread(data, 1, h.bytes, f) == h.bytes && fgetc(f) == EOF &&
      gr_hash_bytes(GR_HASH_START, data, h.bytes) == h.hash) {
    data[h.bytes] = 0;
    *out = data, *bytes = h.bytes;
    return true;
  }
  free(data);
  return false;
}

bool cache_read(const char *kind, const cache_key *k, char **out, size_t *bytes) {
  char path[PATH];
  if (!find_folder(kind, path)) return false;
  put_name(path, k);
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  bool good = read_entry(f, k, out, bytes);
  fclose(f);
  return good;
}

void cache_write(const char *kind, const cache_key *k, const void *data, size_t bytes) {
  char path[PATH], unfinished[PATH + NAME];
  if (!find_folder(kind, path) || !make_folders(path)) return;
  put_name(path, k);
  snprintf(unfinished, sizeof unfinished, "%s.XXXXXX", path);
  int fd = mkstemp(unfinished);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
  head h = {.key = *k, .bytes = bytes, .hash = gr_hash_bytes(GR_HASH_START, data, bytes)};
  if (!f) return;
  memcpy(h.magic, magic, sizeof magic);
  bool written = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(data, 1, bytes, f) == bytes;
  if (fclose(f) || !written || rename(unfinished, path)) unlink(unfinished);
}

int cache_lock(const char *kind, const cache_key *k) {
  char path[PATH];
  if (!find_folder(kind, path) || !make_folders(path)) return -1;
  snprintf(path + strlen(path), NAME, "/lock.%02x", (unsigned)(k->half[0] >> 56));
  int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  while (lock >= 0 && flock(lock, LOCK_EX))
    if (errno != EINTR) close(lock), lock = -1;
  return lock;
}

void cache_unlock(int lock) {
  if (lock >= 0) close(lock);
}
