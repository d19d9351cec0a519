// broken.c - broken configurations and arguments, each with the message it must give.
//
// bad/cases.txt has a line for each: name, file, arguments, with tabs between. The message is
// compared with bad/NAME/expected.txt; with GR_UPDATE set it is written there instead, to be
// read before it is committed.
#include <unistd.h>
#include "base/base.h"
#include "cli/config.h"
#include "job/parts.h"
#include "tests/check.h"

enum { MAX_ARGS = 16, MAX_LINES = 8 };  // of one error

static int count_of(const char *s, const char *word) {
  int n = 0;
  while ((s = strstr(s, word))) n++, s++;
  return n;
}

// The printed error, or "" when there was none. Standard output is not checked here.
static char *message_of(int argc, char **argv) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  gr_status s = gr_cli_config(argc, argv, 0);
  gr_status_print(f, s);
  if (s) fprintf(f, "exit code %d\n", gr_status_exit(s));
  gr_status_drop(s);
  fclose(f);
  return text;
}

static void check_case(gr_arena *a, const char *name, int argc, char **argv) {
  const char *path = gr_arena_printf(a, "bad/%s/expected.txt", name);
  char *expected = "", *found = message_of(argc, argv);
  if (getenv("GR_UPDATE")) {
    FILE *f = gr_make_dirs(gr_arena_printf(a, "bad/%s", name)) ? NULL : fopen(path, "w");
    CHECK(f && fputs(found, f) >= 0, "cannot write %s", path);
    if (f) fclose(f);
  } else {
    gr_status_drop(gr_file_read(a, path, 1 << 16, &expected, NULL));
    CHECK(!strcmp(found, expected), "%s\n--- wanted\n%s--- found\n%s", name, expected, found);
  }
  CHECK(*found, "%s: there was no error", name);
  int errors = count_of(found, " error: "), lines = count_of(found, "\n") - 1;
  CHECK(lines <= MAX_LINES * errors, "%s: %d lines for %d errors", name, lines, errors);
  free(found);
}

static void broken(void) {
  gr_arena *a = gr_arena_create();
  char *text, *argv[MAX_ARGS], *line_end = NULL, *word_end = NULL;
  MUST(gr_file_read(a, "bad/cases.txt", 1 << 20, &text, NULL));
  int n = 0;
  for (char *l = strtok_r(text, "\n", &line_end); l; l = strtok_r(NULL, "\n", &line_end), n++) {
    const char *name = strtok_r(l, "\t", &word_end);
    int argc = 0;
    for (char *w = strtok_r(NULL, "\t", &word_end); w && argc < MAX_ARGS;
         w = strtok_r(NULL, "\t", &word_end))
      argv[argc++] = w;
    check_case(a, name, argc, argv);
  }
  CHECK(n >= 60, "only %d cases", n);
  printf("  %d broken configurations\n", n);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  if (argc > 1 && chdir(argv[1])) return 1;
  unsetenv("GRAPHRUN_NO_SUCH_VARIABLE");
  setenv("GRAPHRUN_VARIABLE", "3", 1);
  gr_optimizer_register();
  return RUN(1, argv, {"broken", broken});
}
