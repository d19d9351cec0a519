// test_output.c - whole files replace their targets or leave them; no link is followed, nothing is
// waited for.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/base.h"
#include "base/output.h"
#include "tests/check.h"

static char folder[200], path[280], other[256];

static void begin(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/graphrun-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) perror(folder), exit(1);
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  umask(027);
  gr_output_fault = NULL;
}

// Removes the folder, in which there must be `n` entries.
static void end(int n) {
  DIR *d = opendir(folder);
  int has = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    if (unlinkat(dirfd(d), e->d_name, 0)) unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    has++;
  }
  if (d) closedir(d);
  CHECK(has == n, "%d entries in the folder, not %d", has, n);
  if (rmdir(folder)) perror(folder), exit(1);
}

static void put(const char *target, const char *text) {
  FILE *f = fopen(target, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) perror(target), exit(1);
}

static void holds(const char *target, const char *text) {
  gr_arena *a = gr_arena_create();
  char *has;
  gr_status s = gr_file_read(a, target, 1000, &has, NULL);
  CHECK(!s && !strcmp(has, text), "'%s' has '%s', not '%s'", target, s ? gr_status_text(s) : has,
        text);
  gr_status_drop(s);
  gr_arena_destroy(a);
}

static mode_t mode_of(const char *target) {
  struct stat st;
  return lstat(target, &st) ? 0 : st.st_mode;
}

static gr_status write_text(const char *dir, const char *name, const char *text) {
  return gr_output_write(dir, name, text, strlen(text));
}

static void refused(gr_status s, const char *why) {
  CHECK(s && strstr(gr_status_text(s), why), "'%s' without '%s'", gr_status_text(s), why);
  CHECK(!s || gr_status_code(s) == GR_ERR_IO, "code %d", gr_status_code(s));
  gr_status_drop(s);
}

static void files_are_replaced(void) {
  begin();
  MUST(write_text(folder, "file", "one"));
  holds(path, "one");
  CHECK((mode_of(path) & 0777) == 0640, "mode %o", mode_of(path));
  CHECK(!chmod(path, 0604), "mode");
  MUST(write_text(NULL, path, "one more"));
  holds(path, "one more");
  CHECK((mode_of(path) & 0777) == 0604, "mode %o", mode_of(path));
  CHECK(!chdir(folder), "relative to a folder");
  MUST(write_text(NULL, "file", "one of three"));
  MUST(write_text(".", "file", "three"));
  CHECK(!chdir("/"), "back");
  holds(path, "three");
  end(1);
}

static void folders_are_entered(void) {
  begin();
  CHECK(!mkdir(other, 0700), "a folder");
  MUST(write_text(folder, "other/file", "text"));
  snprintf(path, sizeof path, "%s/other/file", folder);
  holds(path, "text");
  refused(write_text(folder, "none/file", "text"), "No such file");
  refused(write_text(NULL, "", "text"), "it is a folder");
  refused(write_text(NULL, folder, "text"), "it is a folder");
  refused(write_text(folder, "other", "text"), "it is a folder");
  snprintf(path, sizeof path, "%s/", other);
  refused(write_text(NULL, path, "text"), "it is a folder");
  snprintf(path, sizeof path, "%s/file", other);
  unlink(path);
  end(1);
}

// ---- Errors -----------------------------------------------------------------------------------

static const char *failing;
static bool without_unnamed;
static int fail(const char *op, const char *target) {
  (void)target;
  if (without_unnamed && !strcmp(op, "unnamed")) return EOPNOTSUPP;
  return !strcmp(op, failing) ? ENOSPC : 0;
}

static void fails_at(const char *op) {
  begin();
  put(path, "old");
  failing = op, gr_output_fault = fail;
  refused(write_text(folder, "file", "new"), strerror(ENOSPC));
  gr_output_fault = NULL;
  holds(path, "old");
  end(1);
}

static void errors_leave_the_old_file(void) {
  static const char *const unnamed[] = {"write", "fsync", "name", "close", "rename"},
                           *const named[] = {"create", "write", "fsync", "close", "rename"};
  without_unnamed = false;
  for (int i = 0; i < 5; i++) fails_at(unnamed[i]);
  without_unnamed = true;
  for (int i = 0; i < 5; i++) fails_at(named[i]);
  begin();
  gr_output *o;
  put(path, "old");
  MUST(gr_output_open(folder, "file", &o));
  fputs("new", gr_output_stream(o));
  refused(gr_output_close(o, gr_fail(GR_ERR_IO, GR_NOWHERE, "the caller's")), "the caller's");
  holds(path, "old");
  end(1);
}

// On file systems without unnamed files.
static void a_named_temporary_is_new(void) {
  begin();
  gr_output *o, *too;
  without_unnamed = true, failing = "", gr_output_fault = fail;
  MUST(gr_output_open(folder, "file", &o));
  MUST(gr_output_open(folder, "file", &too));
  fputs("one", gr_output_stream(o)), fputs("second", gr_output_stream(too));
  MUST(gr_output_close(o, GR_OK));
  holds(path, "one");
  MUST(gr_output_close(too, GR_OK));
  holds(path, "second");
  end(1);
}

static void a_failed_sync_of_the_folder_is_told(void) {
  begin();
  without_unnamed = false, failing = "durable", gr_output_fault = fail;
  refused(write_text(folder, "file", "new"), strerror(ENOSPC));
  holds(path, "new");
  end(1);
}

static void two_writers_do_not_mix(void) {
  begin();
  gr_output *o[2];
  for (int i = 0; i < 2; i++) MUST(gr_output_open(NULL, path, &o[i]));
  for (int line = 0; line < 30000; line++)
    for (int i = 0; i < 2; i++) fputc('0' + i, gr_output_stream(o[i]));
  for (int i = 0; i < 2; i++) {
    char *text;
    size_t len;
    gr_arena *a = gr_arena_create();
    MUST(gr_output_close(o[i], GR_OK));
    MUST(gr_file_read(a, path, 100000, &text, &len));
    CHECK(len == 30000 && strspn(text, i ? "1" : "0") == len, "lines of both");
    gr_arena_destroy(a);
  }
  end(1);
}

// ---- Links ------------------------------------------------------------------------------------

static void planted_links_are_not_followed(void) {
  char beside[300];
  begin();
  put(other, "victim");
  snprintf(beside, sizeof beside, "%s.tmp", path);
  CHECK(!symlink(other, path) && !symlink(other, beside), "links");
  MUST(write_text(folder, "file", "new"));
  CHECK(S_ISREG(mode_of(path)), "the link is replaced");
  MUST(write_text(NULL, path, "newer"));
  holds(path, "newer"), holds(other, "victim");
  CHECK(!unlink(path) && !symlink("none", path), "a dangling link");
  MUST(write_text(folder, "file", "new"));
  holds(path, "new");
  end(3);
}

static void folders_that_are_links_are_refused(void) {
  int fd;
  begin();
  CHECK(!mkdir(other, 0700) && !symlink("other", path), "a link");
  refused(write_text(folder, "file/inside", "new"), "'file' is a symbolic link");
  refused(gr_output_append(folder, "file/inside", &fd), "'file' is a symbolic link");
  CHECK(fd == -1 && !rmdir(other), "nothing is written");
  end(1);
}

static void a_link_that_the_user_names_is_followed(void) {
  begin();
  put(other, "new and old");
  CHECK(!symlink("other", path), "a link");
  MUST(write_text(NULL, path, "new"));
  CHECK(S_ISLNK(mode_of(path)), "the link stays");
  holds(other, "new");
  CHECK(!unlink(other), "a dangling link");
  refused(write_text(NULL, path, "new"), "a file that does not exist");
  put(other, "victim");
  if (!chmod(folder, 01777) && !lchown(path, 12345, 12345) && !geteuid()) {
    CHECK(!chown(folder, 54321, 54321), "a folder of all");
    refused(write_text(NULL, path, "new"), "another user's symbolic link");
    holds(other, "victim");
  }
  end(2);
}

// ---- What is not a regular file ---------------------------------------------------------------

static void a_fifo_is_written_through(void) {
  char text[10] = "";
  int fd;
  begin();
  CHECK(!mkfifo(path, 0600), "a FIFO");
  alarm(600);
  refused(write_text(folder, "file", "text"), "it is a FIFO");
  refused(gr_output_append(folder, "file", &fd), "it is a FIFO");
  refused(write_text(NULL, path, "text"), "no process reads it");
  int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  refused(write_text(folder, "file", "text"), "it is a FIFO");
  refused(gr_output_append(folder, "file", &fd), "it is a FIFO");
  MUST(write_text(NULL, path, "text"));
  alarm(0);
  CHECK(read(reader, text, sizeof text) == 4 && !strcmp(text, "text"), "'%s'", text);
  CHECK(S_ISFIFO(mode_of(path)), "it stays a FIFO");
  close(reader);
  end(1);
}

// Devices of the scratch folder: no test may touch the machine's.
static void a_device_stays_a_device(void) {
  begin();
  if (mknod(path, S_IFCHR | 0600, makedev(1, 3)) || mknod(other, S_IFCHR | 0600, makedev(1, 7))) {
    end(mode_of(path) != 0);
    SKIP("no right to make device nodes");
  }
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool usable = fd >= 0;
  if (usable) close(fd);
  if (usable) MUST(write_text(NULL, path, "text"));
  if (usable) refused(write_text(NULL, other, "text"), strerror(ENOSPC));
  refused(write_text(folder, "file", "text"), "it is a character device");
  refused(gr_output_append(folder, "file", &fd), "it is a character device");
  CHECK(S_ISCHR(mode_of(path)) && S_ISCHR(mode_of(other)), "they stay devices");
  end(2);
  if (!usable) SKIP("devices cannot be opened here");
}

static void descriptors_are_written_through(void) {
  char name[40], text[10] = "";
  int pipe_of[2];
  begin();
  CHECK(!pipe2(pipe_of, O_CLOEXEC), "a pipe");
  snprintf(name, sizeof name, "/dev/fd/%d", pipe_of[1]);
  MUST(write_text(NULL, name, "text"));
  CHECK(read(pipe_of[0], text, sizeof text) == 4 && !strcmp(text, "text"), "'%s'", text);
  close(pipe_of[0]), close(pipe_of[1]);
  // A file is written from where its descriptor is, and not replaced.
  put(path, "");
  int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  MUST(write_text(NULL, name, "one"));
  MUST(write_text(NULL, name, "two"));
  CHECK(gr_output_put(fd, "three", 5), "it is still open");
  holds(path, "onetwothree");
  close(fd);
  refused(write_text(NULL, name, "text"), strerror(EBADF));
  end(1);
}

// To standard output and errors, which a file stands for here.
static void standard_streams_are_written_through(void) {
  static const char *const names[] = {"/dev/stdout", "/dev/stderr"};
  begin();
  for (int i = 0; i < 2; i++) {
    fflush(NULL);
    int saved = fcntl(i + 1, F_DUPFD_CLOEXEC, 3),
        now = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(now, i + 1);
    gr_status s = write_text(NULL, names[i], names[i]);
    dup2(saved, i + 1);
    close(saved), close(now);
    MUST(s);
    holds(path, names[i]);
  }
  end(1);
}

// More than a pipe holds, to a reader that begins when it is full, by a writer that may not wait.
static void a_full_pipe_is_waited_for(void) {
  static unsigned char all[300000], got[sizeof all + 1];
  int pipe_of[2];
  size_t n = 0;
  for (size_t i = 0; i < sizeof all; i++) all[i] = (unsigned char)(i % 251);
  CHECK(!pipe2(pipe_of, O_CLOEXEC) && !fcntl(pipe_of[1], F_SETFL, O_NONBLOCK), "a pipe");
  pid_t writer = fork();
  if (!writer) {
    close(pipe_of[0]);
    _exit(!gr_output_put(pipe_of[1], all, sizeof all));
  }
  close(pipe_of[1]);
  for (ssize_t part; (part = read(pipe_of[0], got + n, sizeof got - n)) > 0;) n += (size_t)part;
  int state = 0;
  CHECK(waitpid(writer, &state, 0) == writer && !state, "the writer ends with %d", state);
  CHECK(n == sizeof all && !memcmp(all, got, n), "%zu bytes", n);
  close(pipe_of[0]);
}

static void a_socket_is_refused(void) {
  begin();
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
  bool made = s >= 0 && strlen(path) < 100 && !bind(s, (struct sockaddr *)&address, sizeof address);
  if (made) refused(write_text(NULL, path, "text"), "it is a socket");
  if (made) refused(write_text(folder, "file", "text"), "it is a socket");
  close(s);
  end(made);
}

// ---- Logs -------------------------------------------------------------------------------------

static void logs_grow(void) {
  int fd, too;
  begin();
  MUST(gr_output_append(folder, "file", &fd));
  CHECK(gr_output_put(fd, "one", 3), "written");
  MUST(gr_output_append(folder, "file", &too));
  CHECK(gr_output_put(too, "two", 3) && gr_output_put(fd, "three", 5), "written");
  holds(path, "onetwothree");
  CHECK((mode_of(path) & 0777) == 0640, "mode %o", mode_of(path));
  CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "closed in other programs");
  close(fd), close(too);
  MUST(gr_output_append(NULL, path, &fd));
  CHECK(gr_output_put(fd, "four", 4) && !close(fd), "by a path");
  holds(path, "onetwothreefour");
  put(other, "victim");
  CHECK(!unlink(path) && !symlink("other", path), "a link");
  refused(gr_output_append(folder, "file", &fd), "'file' is a symbolic link");
  refused(gr_output_append(NULL, path, &fd), "'file' is a symbolic link");
  CHECK(fd == -1, "nothing is open");
  holds(other, "victim");
  end(2);
}

static void files_of_an_open_folder(void) {
  begin();
  int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = gr_output_new_at(dir, "file");
  CHECK(fd >= 0 && !close(fd), "a new file");
  CHECK(gr_output_new_at(dir, "file") < 0 && errno == EEXIST, "not a second time");
  CHECK((fd = gr_output_update_at(dir, "file")) >= 0 && !close(fd), "updated");
  CHECK(!symlink("file", other), "a link");
  CHECK(gr_output_update_at(dir, "other") < 0 && errno == ELOOP, "links are not followed");
  CHECK(gr_output_new_at(dir, "other") < 0 && errno == EEXIST, "links are not followed");
  close(dir);
  end(2);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"files_are_replaced", files_are_replaced},
             {"folders_are_entered", folders_are_entered},
             {"errors_leave_the_old_file", errors_leave_the_old_file},
             {"a_named_temporary_is_new", a_named_temporary_is_new},
             {"a_failed_sync_of_the_folder_is_told", a_failed_sync_of_the_folder_is_told},
             {"two_writers_do_not_mix", two_writers_do_not_mix},
             {"planted_links_are_not_followed", planted_links_are_not_followed},
             {"folders_that_are_links_are_refused", folders_that_are_links_are_refused},
             {"a_link_that_the_user_names_is_followed", a_link_that_the_user_names_is_followed},
             {"a_fifo_is_written_through", a_fifo_is_written_through},
             {"a_device_stays_a_device", a_device_stays_a_device},
             {"descriptors_are_written_through", descriptors_are_written_through},
             {"standard_streams_are_written_through", standard_streams_are_written_through},
             {"a_full_pipe_is_waited_for", a_full_pipe_is_waited_for},
             {"a_socket_is_refused", a_socket_is_refused}, {"logs_grow", logs_grow},
             {"files_of_an_open_folder", files_of_an_open_folder});
}
