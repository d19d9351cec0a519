// test_output_pair.c - two files, one of which names the other, are replaced together.
#include <errno.h>
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
}

// Nothing else is in the folder.
static void end(void) {
  unlink(path), unlink(other);
  if (rmdir(folder)) perror(folder), exit(1);
}

static int asked, failing_call;

static const char *first_word(const char *target, char text[10]) {
  FILE *f = fopen(target, "r");
  if (!f || !fgets(text, 10, f)) *text = 0;
  if (f) fclose(f);
  return text;
}

// A reader at any moment has two of the same age, or has no whole one, as after a kill there.
static void are_of_one_age(void) {
  char whole[10], part[10];
  first_word(path, whole), first_word(other, part);
  CHECK(!*whole || !strcmp(whole, part), "'%s' beside '%s'", part, whole);
}

static int fail_call(const char *op, const char *target) {
  (void)target;
  are_of_one_age();
  if (!strcmp(op, "unnamed")) return 0;  // a named one is made instead
  return ++asked == failing_call ? ENOSPC : 0;
}

static gr_status write_both(const char *text, gr_status s) {
  gr_output *part = NULL, *whole = NULL;
  gr_status opened = gr_output_open(NULL, other, &part);
  if (!opened) opened = gr_output_open(NULL, path, &whole);
  if (part) fputs(text, gr_output_stream(part));
  if (whole) fputs(text, gr_output_stream(whole));
  return gr_output_close_both(part, whole, opened ? opened : s);
}

static void two_files_are_replaced_together(void) {
  int failed = 1, old = 0;
  for (failing_call = 1; failed; failing_call++) {
    char whole[10];
    begin();
    MUST(write_both("the old", GR_OK));
    asked = 0, gr_output_fault = fail_call;
    gr_status s = write_both("the new", GR_OK);
    gr_output_fault = NULL;
    failed = s != NULL;
    are_of_one_age();
    first_word(path, whole);
    CHECK(failed ? gr_status_code(s) == GR_ERR_IO : !strcmp(whole, "the new"), "'%s'", whole);
    gr_status_drop(s);
    old += !strcmp(whole, "the old");
    end();
  }
  // Nothing of the old ones is lost before both are written and durable but for their names.
  CHECK(old >= 9, "%d failures leave the old files", old);
  begin();
  gr_status s = write_both("the new", gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the caller's"));
  CHECK(gr_status_code(s) == GR_ERR_CONFIG, "%s", gr_status_text(s));
  gr_status_drop(s);
  CHECK(access(path, F_OK) && access(other, F_OK), "something is written");
  end();
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"two_files_are_replaced_together", two_files_are_replaced_together});
}
