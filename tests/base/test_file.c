// test_file.c - only regular files are opened, and nothing is waited for.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/base.h"
#include "tests/check.h"

static char folder[200], path[256];

static void begin(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/graphrun-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) perror(folder), exit(1);
  snprintf(path, sizeof path, "%s/file", folder);
}
static void end(void) {
  if (remove(path) || rmdir(folder)) perror(folder), exit(1);
}

// Nothing at `path` can be opened, whichever way; a wait ends the test.
static void refused(const char *target, const char *what) {
  gr_arena *a = gr_arena_create();
  char *text;
  int fd;
  FILE *f;
  alarm(600);
  gr_status all[3] = {gr_file_open(target, GR_ERR_DATA, &fd),
                      gr_file_stream(target, GR_ERR_DATA, &f),
                      gr_file_read(a, target, 100, &text, NULL)};
  alarm(0);
  CHECK(fd == -1 && !f, "nothing is open");
  for (int i = 0; i < 3; i++) {
    CHECK(all[i], "%s is opened (%d)", what, i);
    CHECK(strstr(gr_status_text(all[i]), what), "'%s' without '%s'", gr_status_text(all[i]), what);
    CHECK(strstr(gr_status_text(all[i]), target), "'%s' without its path", gr_status_text(all[i]));
    CHECK(gr_status_code(all[i]) == (i < 2 ? GR_ERR_DATA : GR_ERR_IO), "code %d",
          gr_status_code(all[i]));
    CHECK(gr_status_hint(all[i]), "'%s' without a hint", gr_status_text(all[i]));
    gr_status_drop(all[i]);
  }
  gr_arena_destroy(a);
}

// What a file takes is known before it is read: its bytes, and not twice as much. Of one that says
// no size, as those of /proc, there is all, too.
static void files_take_their_bytes(void) {
  enum { BYTES = 3 << 20 };
  gr_arena *a = gr_arena_create();
  char *text, *large = malloc(BYTES);
  size_t len;
  begin();
  for (size_t i = 0; i < BYTES; i++) large[i] = (char)('a' + i % 23);
  FILE *f = fopen(path, "w");
  CHECK(f && fwrite(large, 1, BYTES, f) == BYTES && !fclose(f), "written");
  size_t before = gr_arena_bytes(a);
  MUST(gr_file_read(a, path, BYTES, &text, &len));
  CHECK(len == BYTES && !memcmp(text, large, BYTES) && !text[BYTES], "%zu bytes", len);
  CHECK(gr_arena_bytes(a) - before < BYTES + BYTES / 2, "%zu bytes of memory",
        gr_arena_bytes(a) - before);
  MUST(gr_file_read(a, "/proc/self/environ", BYTES, &text, NULL));
  MUST(gr_file_read(a, "/proc/self/smaps", BYTES, &text, &len));
  CHECK(len > 4096 && text[len - 1] == '\n' && !text[len], "%zu bytes of /proc", len);
  free(large);
  gr_arena_destroy(a);
  end();
}

// By eight bytes or by one, wherever a character of several bytes is.
static void texts_are_utf8(void) {
  char text[40];
  static const char *const good[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    for (int place = 0; place < 20; place++) {
      int n = snprintf(text, sizeof text, "%.*s%s%s", place, "abcdefghijklmnopqrst", good[i], "uv");
      CHECK(gr_utf8_after(text, text + n) == text + n, "'%s'", text);
      CHECK(gr_utf8_after(text, text + place + 1) == text + place + strlen(good[i]),
            "a character that begins before the end, in '%s'", text);
      text[place] = (char)0x80;
      CHECK(gr_utf8_after(text, text + n) == text + place, "a bad byte in place %d", place);
    }
}

static void regular_files_are_read(void) {
  gr_arena *a = gr_arena_create();
  char *text;
  size_t len;
  begin();
  FILE *f = fopen(path, "w");
  CHECK(f && fputs("two\nlines\n", f) >= 0 && !fclose(f), "written");
  MUST(gr_file_read(a, path, 100, &text, &len));
  CHECK(len == 10 && !strcmp(text, "two\nlines\n"), "'%s'", text);
  MUST(gr_file_stream(path, GR_ERR_IO, &f));
  CHECK(fgetc(f) == 't' && fcntl(fileno(f), F_GETFD) == FD_CLOEXEC, "closed in other programs");
  fclose(f);
  MUST(gr_file_read(a, path, 10, &text, &len));
  gr_status large = gr_file_read(a, path, 9, &text, &len);
  CHECK(large && strstr(gr_status_text(large), "larger than 9 bytes"), "one byte too many");
  gr_status_drop(large);
  CHECK(!gr_file_kind(path), "%s", gr_file_kind(path));
  end();
  refused(path, "No such file");
  gr_arena_destroy(a);
}

static void a_fifo_is_not_waited_for(void) {
  begin();
  CHECK(!mkfifo(path, 0600), "a FIFO");
  refused(path, "it is a FIFO");
  CHECK(!strcmp(gr_file_kind(path), "a FIFO"), "%s", gr_file_kind(path));
  // Not even one that someone writes to.
  int writer = open(path, O_RDWR | O_CLOEXEC);
  CHECK(writer >= 0 && write(writer, "text", 4) == 4, "a writer");
  refused(path, "it is a FIFO");
  close(writer);
  end();
}

static void other_things_are_named(void) {
  begin();
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
  if (s >= 0 && !bind(s, (struct sockaddr *)&address, sizeof address)) {
    refused(path, "it is a socket");
    end();
  }
  close(s);
  refused("/dev/zero", "it is a character device");
  refused("/", "it is a folder");
}

// Whatever the system says, a hint says what to do.
static void every_errno_has_a_hint(void) {
  for (int e = 1; e < 134; e++) {
    gr_status s = gr_fail_errno(GR_ERR_IO, e, "cannot read '%s'", "x");
    CHECK(gr_status_hint(s) && *gr_status_hint(s), "%d without a hint", e);
    CHECK(strstr(gr_status_text(s), strerror(e)), "'%s' without its reason", gr_status_text(s));
    gr_status_drop(s);
  }
  gr_status s = gr_fail_errno(GR_ERR_DATA, EMFILE, "cannot read '%s'", "x");
  CHECK(!strcmp(gr_status_text(s), "cannot read 'x': Too many open files"), "'%s'",
        gr_status_text(s));
  CHECK(strstr(gr_status_hint(s), "ulimit -n"), "'%s'", gr_status_hint(s));
  gr_status_drop(s);
}

// A caret under a line of a FIFO would have to be read from it.
static void an_error_in_a_fifo_is_printed(void) {
  char *text = NULL;
  size_t n = 0;
  begin();
  CHECK(!mkfifo(path, 0600), "a FIFO");
  gr_status s = gr_fail(GR_ERR_CONFIG, ((gr_loc){path, 3, 1}), "wrong");
  FILE *f = open_memstream(&text, &n);
  alarm(600);
  gr_status_print(f, s);
  alarm(0);
  fclose(f);
  CHECK(strstr(text, "/file:3:1: config error: wrong\n"), "%s", text);
  gr_status_drop(s);
  free(text);
  end();
}

// ---- Files below a folder -----------------------------------------------------------------------

static void below(const char *name, const char *why) {
  int fd;
  alarm(600);
  gr_status s = gr_file_open_below(folder, name, GR_ERR_DATA, &fd);
  alarm(0);
  if (!why) {
    CHECK(!s && fd >= 0, "'%s': %s", name, gr_status_text(s));
    if (!s) close(fd);
  } else {
    CHECK(s && fd == -1 && strstr(gr_status_text(s), why), "'%s' without '%s'", gr_status_text(s),
          why);
  }
  gr_status_drop(s);
}

// Neither a path nor a link leads out of the folder, and nothing but a file is opened.
static void files_below_a_folder(void) {
  begin();
  CHECK(!mkdir(path, 0700) && !chdir(path), "a folder");
  FILE *f = fopen("inner", "w");
  CHECK(f && !fclose(f) && !mkfifo("fifo", 0600), "files");
  CHECK(!symlink("inner", "link") && !symlink("/etc", "out") && !symlink("..", "up"), "links");
  below("file/inner", NULL), below("file//inner", NULL), below("./file/inner", NULL);
  below("file/..inner", "No such file"), below("file/none", "No such file");
  below("none/inner", "No such file"), below("file/inner/x", "Not a directory");
  static const char *const outside[] = {"",         "/etc/passwd", "..",           "../x",
                                        "file/..",  "file/../x",   "file/../../x", "//etc/passwd",
                                        "./../x/y", "file/./../y"};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    below(outside[i], "not below that folder");
  below("file/link", "symbolic link"), below("file/out/passwd", "symbolic link");
  below("file/up/file/inner", "symbolic link");
  below("file", "not a regular file"), below("file/", "");
  below("file/fifo", "not a regular file");
  static const char *const names[] = {"inner", "fifo", "link", "out", "up"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CHECK(!unlink(names[i]), "removed");
  CHECK(!chdir("/"), "back");
  end();
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"regular_files_are_read", regular_files_are_read},
             {"files_take_their_bytes", files_take_their_bytes}, {"texts_are_utf8", texts_are_utf8},
             {"a_fifo_is_not_waited_for", a_fifo_is_not_waited_for},
             {"other_things_are_named", other_things_are_named},
             {"every_errno_has_a_hint", every_errno_has_a_hint},
             {"an_error_in_a_fifo_is_printed", an_error_in_a_fifo_is_printed},
             {"files_below_a_folder", files_below_a_folder});
}
