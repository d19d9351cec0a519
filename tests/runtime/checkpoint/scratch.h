// scratch.h - a directory of a test's own under the build folder, and ranks as threads.
#pragma once
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/check.h"

// The path of a name in a directory; the caller frees it.
static inline char *scratch_join(const char *dir, const char *name) {
  char *path = malloc(strlen(dir) + strlen(name) + 2);
  sprintf(path, "%s/%s", dir, name);
  return path;
}

// Removes a directory tree; it may be gone.
static inline void scratch_remove(const char *dir) {
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    char *path = scratch_join(dir, e->d_name);
    if (unlink(path)) scratch_remove(path);
    free(path);
  }
  if (d) closedir(d);
  rmdir(dir);
}

// A fresh directory of that name in the working directory; the name is static.
static inline const char *scratch_dir(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "scratch-%s-%d", name, (int)getpid());
  scratch_remove(path);
  mkdir(path, 0777);
  return path;
}

// A whole file, with a zero behind its *len bytes; the caller frees it. NULL, and 0 bytes: it
// cannot be read.
static inline char *scratch_read(const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  *len = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *len = (size_t)ftell(f);
  rewind(f);
  text = calloc(1, *len + 1);
  if (fread(text, 1, *len, f) != *len) *len = 0;
  fclose(f);
  return text;
}

// Writes a whole file; aborts where that fails.
static inline void scratch_write(const char *path, const void *data, size_t len) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, len, f) != len) abort();
  fclose(f);
}

// Copies a directory tree; `to` is new. Not durable, so far quicker than to write it again.
static inline void scratch_copy(const char *source, const char *target) {
  DIR *d = opendir(source);
  mkdir(target, 0777);
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t len;
    if (*e->d_name == '.') continue;
    char *a = scratch_join(source, e->d_name), *b = scratch_join(target, e->d_name);
    if (e->d_type == DT_DIR) {
      scratch_copy(a, b);
    } else {
      char *text = scratch_read(a, &len);
      scratch_write(b, text, len);
      free(text);
    }
    free(a), free(b);
  }
  if (d) closedir(d);
}

// An AND over threads.
typedef struct scratch_vote {
  pthread_barrier_t barrier;
  pthread_mutex_t lock;
  int refused;
} scratch_vote;
// A vote of so many threads, which may be held any number of times.
static inline void scratch_vote_open(scratch_vote *v, unsigned ranks) {
  memset(v, 0, sizeof *v);
  pthread_barrier_init(&v->barrier, NULL, ranks);
  pthread_mutex_init(&v->lock, NULL);
}
// Waits until all threads have called; *all_ok: whether all were ok (gr_saver_spec.agree).
static inline gr_status scratch_agree(void *ctx, bool ok, bool *all_ok) {
  scratch_vote *v = ctx;
  pthread_mutex_lock(&v->lock);
  v->refused += !ok;
  pthread_mutex_unlock(&v->lock);
  pthread_barrier_wait(&v->barrier);
  *all_ok = !v->refused;
  if (pthread_barrier_wait(&v->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) v->refused = 0;
  pthread_barrier_wait(&v->barrier);
  return GR_OK;
}
