// test_dir.c - folders of launchers that were killed, at whatever point: what a later one removes
// of them, and what not.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/launch/dir.h"
#include "runtime/launch/state.h"
#include "tests/check.h"

static char tmp[] = "/tmp/gr-test-launch-dir-XXXXXX";

static const char *in(const char *folder, const char *name) {
  static char path[4][512];
  static int next;
  char *out = path[next++ % 4];
  snprintf(out, sizeof *path, "%s/%s", folder, name);
  return out;
}
static bool exists(const char *path) { return !access(path, F_OK); }
static int write_file(const char *path) { return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
static void must(bool made) {
  if (!made) abort();
}

// The folder of a launcher that has been killed since.
static gr_launch_dir left_over(void) {
  gr_launch_dir l;
  MUST(gr_launch_dir_make(gr_launch_state_bytes(2), &l));
  close(l.file);  // which is what the system does then
  return l;
}

// A folder as of a launcher that was killed before its file had a name; old: more than a minute
// ago.
static void bare(char path[512], const char *file, bool old) {
  struct timespec then[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
  snprintf(path, 512, "%s/graphrun-XXXXXX", tmp);
  must(mkdtemp(path));
  if (file) close(write_file(in(path, file)));
  if (old) then[0] = then[1] = (struct timespec){.tv_sec = 1000000000};
  must(!utimensat(AT_FDCWD, path, then, 0));
}

static void its_folder_is_removed(void) {
  gr_launch_dir l;
  MUST(gr_launch_dir_make(gr_launch_state_bytes(2), &l));
  must(!mkdir(in(l.path, "session"), 0700));
  close(write_file(in(in(l.path, "session"), "file")));
  gr_launch_dir_clean();
  CHECK(exists(l.state_path), "that of a launcher that lives is removed by another one");
  gr_launch_dir_remove(&l);
  CHECK(!exists(l.path), "%s is left", l.path);
}

static void left_folders_are_removed(void) {
  gr_launch_dir l = left_over();
  must(!mkdir(in(l.path, "session"), 0700));
  must(!symlink("/etc", in(l.path, "link")));
  gr_launch_dir_clean();
  CHECK(!exists(l.path) && exists("/etc/passwd"), "%s is left", l.path);
}

// As when the launcher that removes it is killed before it is done: the next one goes on.
static void what_is_not_removed_at_once_is_removed_later(void) {
  gr_launch_dir l = left_over();
  char deep[512] = "";
  snprintf(deep, sizeof deep, "%s", l.path);
  for (int i = 0; i < 20; i++) {
    snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "/d");
    must(!mkdir(deep, 0700));
  }
  gr_launch_dir_clean();
  CHECK(exists(l.state_path), "nothing says any more that %s is left over", l.path);
  must(!rename(deep, in(tmp, "d")) && !rmdir(in(tmp, "d")));
  for (int i = 1; i < 20; i++) {
    deep[strlen(deep) - 2] = 0;
    if (i < 15) must(!rmdir(deep));
  }
  gr_launch_dir_clean();
  CHECK(!exists(l.path), "%s is left", l.path);
}

static void bare_folders_are_removed_when_old(void) {
  static const struct {
    const char *file;
    bool old, locked, removed;
  } cases[] = {{NULL, true, false, true},          {NULL, false, false, false},
               {"state.new", true, false, true},   {"state.new", false, false, false},
               {"state.new", true, true, false},   {"notes", true, false, false},
               {"state.note", true, false, false}, {"state.new", true, false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[512];
    bare(path, cases[i].file, cases[i].old);
    int fd = cases[i].locked ? write_file(in(path, cases[i].file)) : -1;
    if (fd >= 0) must(!flock(fd, LOCK_EX | LOCK_NB));
    gr_launch_dir_clean();
    CHECK(exists(path) != cases[i].removed, "case %zu: it %s", i,
          cases[i].removed ? "is left" : "is removed");
    if (exists(path) && cases[i].file)
      CHECK(!unlink(in(path, cases[i].file)), "case %zu: its file is removed", i);
    if (fd >= 0) close(fd);
    rmdir(path);
  }
}

static gr_launch_state read_head(const char *path) {
  gr_launch_state head;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  must(fd >= 0 && pread(fd, &head, sizeof head, 0) == sizeof head);
  close(fd);
  return head;
}
static void write_head(const char *path, const gr_launch_state *head) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd >= 0 && pwrite(fd, head, sizeof *head, 0) == sizeof *head);
  close(fd);
}

// Of another machine, or of one whose mpirun lives, which its ranks may need; and a file.
static void other_folders_are_left(void) {
  for (int i = 0; i < 3; i++) {
    gr_launch_dir l = left_over();
    gr_launch_state head = read_head(l.state_path);
    if (i == 1) snprintf(head.host, sizeof head.host, "another.machine");
    if (i == 2) atomic_store(&head.mpirun, (int)getpid());
    write_head(l.state_path, &head);
    gr_launch_dir_clean();
    CHECK(exists(l.state_path) == (i > 0), "case %d: it is %s", i, i ? "removed" : "left");
    if (i) gr_launch_dir_remove(&l);
    CHECK(!exists(l.path), "%s is left", l.path);
  }
  close(write_file(in(tmp, "graphrun-abcdef")));
  gr_launch_dir_clean();
  CHECK(!unlink(in(tmp, "graphrun-abcdef")), "a file is removed");
}

int main(int argc, char **argv) {
  must(mkdtemp(tmp) && !setenv("TMPDIR", tmp, 1));
  int failed = RUN(argc, argv, {"its_folder_is_removed", its_folder_is_removed},
                   {"left_folders_are_removed", left_folders_are_removed},
                   {"what_is_not_removed_at_once_is_removed_later",
                    what_is_not_removed_at_once_is_removed_later},
                   {"bare_folders_are_removed_when_old", bare_folders_are_removed_when_old},
                   {"other_folders_are_left", other_folders_are_left});
  return rmdir(tmp) || failed;
}
