// test_output_kind.c - a file that the user names by mistake is not replaced.
#include <fcntl.h>
#include <unistd.h>
#include "base/base.h"
#include "base/output.h"
#include "base/output_kind.h"
#include "tests/check.h"

static const char table[] = "a,b\n1,2\n", tensors[] = "\x08\0\0\0\0\0\0\0{}      ";
static char folder[200], path[280];

static void begin(const char *text, size_t n) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/graphrun-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) perror(folder), exit(1);
  snprintf(path, sizeof path, "%s/file", folder);
  MUST(gr_output_write(folder, "file", text, n));
}

static void end(void) { CHECK(!unlink(path) && !rmdir(folder), "one file in the folder"); }

static gr_status write_named(const char *text) {
  return gr_output_write(NULL, path, text, strlen(text));
}

static void refused(gr_status s) {
  static const char why[] = "it is there, and is no file that this command writes";
  CHECK(gr_status_code(s) == GR_ERR_IO && strstr(gr_status_text(s), why), "'%s'",
        gr_status_text(s));
  gr_status_drop(s);
}

static void holds(const char *text) {
  gr_arena *a = gr_arena_create();
  char *found;
  MUST(gr_file_read(a, path, 1000, &found, NULL));
  CHECK(!strcmp(found, text), "'%s', not '%s'", found, text);
  gr_arena_destroy(a);
}

static void a_table_is_kept(void) {
  begin(table, strlen(table));
  refused(write_named("<!doctype html>"));
  refused(write_named("{}"));
  refused(gr_output_write(NULL, path, tensors, sizeof tensors));
  holds(table);
  MUST(write_named("a,b\n5,6\n"));
  holds("a,b\n5,6\n");
  end();
}

static void what_a_command_has_written_is_replaced(void) {
  begin("", 0);
  MUST(write_named("<svg>"));
  MUST(write_named("<svg width=\"1\">"));
  holds("<svg width=\"1\">");
  MUST(gr_output_write(folder, "file", tensors, sizeof tensors));
  refused(write_named("<svg>"));
  MUST(gr_output_write(NULL, path, "\x10\0\0\0\0\0\0\0{", 9));
  end();
}

static void kinds(void) {
  begin(table, strlen(table));
  int dir = open(folder, O_RDONLY | O_DIRECTORY);
  CHECK(!gr_output_is_other_kind(dir, "none", "<svg", 4), "there is none");
  CHECK(!gr_output_is_other_kind(dir, "file", "", 0), "nothing is written");
  CHECK(!gr_output_is_other_kind(dir, "file", "a,b\n3,4", 7), "a table");
  CHECK(!gr_output_is_other_kind(dir, "file", "a", 1), "as far as it goes");
  CHECK(gr_output_is_other_kind(dir, "file", "b", 1), "another letter");
  CHECK(gr_output_is_other_kind(dir, "file", "a,b\n\0", 5), "no text");
  CHECK(gr_output_is_other_kind(dir, "file", "\x7f\x45LF", 4), "no table");
  close(dir);
  end();
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a_table_is_kept", a_table_is_kept},
             {"what_a_command_has_written_is_replaced", what_a_command_has_written_is_replaced},
             {"kinds", kinds});
}
