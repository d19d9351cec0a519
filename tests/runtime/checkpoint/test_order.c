// test_order.c - what a save makes durable, and in which order. A process that is killed leaves
// what it wrote in the page cache, so that test_kill would not notice a missing fsync; here the
// calls themselves are seen: this program has its own fsync, renameat, unlinkat and mkdirat, which
// log and pass on. Creations and writes come from gr_disk_fault.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/checkpoint/dir.h"
#include "tests/runtime/checkpoint/tiny.h"

enum { MOST = 200 };
static char lines[MOST][200];
static int n_lines;
static char root[PATH_MAX];  // paths are logged relative to it; empty: nothing is logged

// The last write of one file may have been split; one line is enough.
static void note(const char *op, const char *path) {
  size_t n = strlen(root);
  if (!n || strncmp(path, root, n)) return;
  char line[200];
  snprintf(line, sizeof line, "%s %s", op, path[n] ? path + n + 1 : ".");
  if (n_lines < MOST && (!n_lines || strcmp(lines[n_lines - 1], line)))
    strcpy(lines[n_lines++], line);
}

static void note_at(const char *op, int fd, const char *name) {
  char link[64], path[PATH_MAX] = "", full[2 * PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = fd == AT_FDCWD ? -1 : readlink(link, path, sizeof path - 1);
  path[len < 0 ? 0 : len] = 0;
  snprintf(full, sizeof full, "%s%s%s", path, name ? "/" : "", name ? name : "");
  note(op, full);
}

int fsync(int fd);
int fsync(int fd) {
  note_at("fsync", fd, NULL);
  return (int)syscall(SYS_fsync, fd);
}
int renameat2(int from_dir, const char *source, int to_dir, const char *target, unsigned flags) {
  note_at(flags ? "swap" : "rename", from_dir, source);
  return (int)syscall(SYS_renameat2, from_dir, source, to_dir, target, flags);
}
int renameat(int from_dir, const char *source, int to_dir, const char *target) {
  return renameat2(from_dir, source, to_dir, target, 0);
}
int unlinkat(int dir, const char *name, int flags) {
  note_at(flags ? "rmdir" : "unlink", dir, name);
  return (int)syscall(SYS_unlinkat, dir, name, flags);
}
int mkdirat(int dir, const char *name, mode_t mode) {
  note_at("mkdir", dir, name);
  return (int)syscall(SYS_mkdirat, dir, name, mode);
}

// Paths here are relative to the working directory, as the test gave them.
static int log_files(const char *op, const char *path, size_t *bytes) {
  char full[2 * PATH_MAX], here[PATH_MAX];
  (void)bytes;
  if (strstr(path, ".lock") || (strcmp(op, "create") && strcmp(op, "write"))) return 0;
  snprintf(full, sizeof full, "%s/%s", getcwd(here, sizeof here), path);
  note(op, full);
  return 0;
}

static void log_in(const char *dir) {
  n_lines = 0;
  *root = 0;
  if (dir && !realpath(dir, root)) *root = 0;
  gr_disk_fault = dir ? log_files : NULL;
}

// The lines without those of the lock and of opening, in order.
static void expect_lines(const char *const *want, int n) {
  for (int i = 0; i < n || i < n_lines; i++) {
    const char *has = i < n_lines ? lines[i] : "nothing", *expected = i < n ? want[i] : "nothing";
    CHECK(!strcmp(has, expected), "operation %d is '%s', not '%s'", i, has, expected);
    if (strcmp(has, expected)) return;
  }
}
#define EXPECT_LINES(...)                          \
  expect_lines((const char *const[]){__VA_ARGS__}, \
               (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

#define FILE0 "rank-00000.safetensors.zst"
#define TMP3 ".tmp-step-00000003"

static gr_saver *opened(const char *dir, int keep_last) {
  static tiny t;
  static gr_tensor_slice pieces[3];
  gr_saver *s;
  tiny_fill(&t, 3);
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = pieces, .keep_last = keep_last};
  spec.n_pieces = tiny_pieces(&t, 0, 1, pieces);
  MUST(gr_saver_open(&spec, &s));
  return s;
}

// Data before the names of it, all of it before the manifest, the manifest before the rename, and
// the rename before anything older goes.
static void a_save(void) {
  const char *dir = scratch_dir("order");
  for (int step = 1; step < 3; step++) MUST(tiny_save(dir, 1, step, step, 5));
  gr_saver *s = opened(dir, 1);
  log_in(dir);
  MUST(gr_saver_begin(s, 3, NULL, 0));
  MUST(gr_saver_finish(s));
  EXPECT_LINES("mkdir " TMP3, "create " TMP3 "/" FILE0, "write " TMP3 "/" FILE0,
               "fsync " TMP3 "/" FILE0, "create " TMP3 "/rank-00000.json",
               "write " TMP3 "/rank-00000.json", "fsync " TMP3 "/rank-00000.json",
               "unlink " TMP3 "/rank-00000.json", "fsync " TMP3, "create " TMP3 "/manifest.json",
               "write " TMP3 "/manifest.json", "fsync " TMP3 "/manifest.json", "fsync " TMP3,
               "rename " TMP3, "fsync .", "rename step-00000001",
               "unlink .trash-step-00000001/manifest.json", "unlink .trash-step-00000001/" FILE0,
               "rmdir .trash-step-00000001", "rename step-00000002",
               "unlink .trash-step-00000002/manifest.json", "unlink .trash-step-00000002/" FILE0,
               "rmdir .trash-step-00000002");
  log_in(NULL);
  gr_saver_close(s);
  scratch_remove(dir);
}

// In the place of an older one of the same step: that goes only when the new one's name is durable.
static void a_replacement(void) {
  const char *dir = scratch_dir("replacement");
  MUST(tiny_save(dir, 1, 3, 1, 5));
  gr_saver *s = opened(dir, 1);
  log_in(dir);
  MUST(gr_saver_begin(s, 3, NULL, 0));
  MUST(gr_saver_finish(s));
  int swap = 0;
  while (swap < n_lines && strncmp(lines[swap], "swap", 4)) swap++;
  CHECK(swap > 2 && swap + 1 < n_lines, "no swap");
  CHECK(!strcmp(lines[swap - 1], "fsync " TMP3), "before the swap: %s", lines[swap - 1]);
  CHECK(!strcmp(lines[swap + 1], "fsync ."), "after the swap: %s", lines[swap + 1]);
  log_in(NULL);
  gr_saver_close(s);
  scratch_remove(dir);
}

// A directory that was created is durable, its name in its parent included.
static void a_new_folder(void) {
  const char *dir = scratch_dir("folders");
  char inner[300];
  snprintf(inner, sizeof inner, "%s/a/b", dir);
  log_in(dir);
  MUST(gr_make_dirs(inner));
  EXPECT_LINES("fsync .", "fsync a");
  n_lines = 0;
  MUST(gr_make_dirs(inner));
  CHECK(!n_lines, "it syncs what was there: %s", lines[0]);
  log_in(NULL);
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  return RUN(argc, argv, {"a_save", a_save}, {"a_replacement", a_replacement},
             {"a_new_folder", a_new_folder});
}
