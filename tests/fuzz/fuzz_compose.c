// fuzz_compose.c - any files and arguments are composed and checked, or errors, however much of
// them is wrong; and completion answers. The input has parts, each after a line "=== NAME": files,
// and the arguments, one on a line, after "=== arguments".
#include <stdlib.h>
#include "compose/compose.h"
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "fuzz.h"

enum { MAX_ARGUMENTS = 16 };

static char folder[] = "/tmp/graphrun-fuzz-XXXXXX";

static void remove_folder(void) {
  static const char *const names[] = {"/config.yaml", "/g/a.yaml", "/g/b.yaml", "/g", ""};
  char path[sizeof folder + 16];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s%s", folder, names[i]);
    remove(path);
  }
}

static void make_folder(void) {
  static bool made;
  if (made) return;
  made = mkdtemp(folder) != NULL;
  HOLDS(made && !atexit(remove_folder));
}

static void write_file(gr_arena *a, const char *name, const char *text, size_t len) {
  FILE *f = fopen(gr_arena_printf(a, "%s/%s.yaml", folder, name), "w");
  HOLDS(f && fwrite(text, 1, len, f) == len);
  HOLDS(!fclose(f));
}

static int read_arguments(gr_arena *a, const char *text, const char **out) {
  char *save = NULL;
  int n = 0;
  for (char *l = strtok_r(gr_arena_strdup(a, text), "\n", &save); l && n < MAX_ARGUMENTS;
       l = strtok_r(NULL, "\n", &save))
    out[n++] = l;
  return n;
}

// config.yaml, g/a.yaml and g/b.yaml, which are empty where the input does not have them.
static int write_files(gr_arena *a, const char *text, const char **arguments) {
  static const char *const names[] = {"config", "g/a", "g/b", "arguments"};
  int n = 0;
  HOLDS(!gr_make_dirs(gr_arena_printf(a, "%s/g", folder)));
  for (int i = 0; i < 4; i++) {
    const char *mark = gr_arena_printf(a, "=== %s\n", names[i]), *part = strstr(text, mark);
    part = part ? part + strlen(mark) : "";
    const char *end = strstr(part, "=== ");
    size_t len = end ? (size_t)(end - part) : strlen(part);
    if (i < 3)
      write_file(a, names[i], part, len);
    else
      n = read_arguments(a, gr_arena_strndup(a, part, len), arguments);
  }
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  const char *arguments[MAX_ARGUMENTS];
  gr_log_open(GR_ERROR, 0, 1);
  make_folder();
  int n = write_files(a, fuzz_text(a, data, size), arguments);
  gr_compose_request q = {.path = gr_arena_printf(a, "%s/config.yaml", folder),
                          .overrides = arguments,
                          .n_overrides = n,
                          .known = gr_schema_takes};
  gr_composed composed;
  gr_conf *conf = NULL;
  gr_status s = gr_compose_checked(a, &q, &composed, &conf);
  HOLDS(s || conf);
  gr_status_drop(s);
  gr_text t = gr_text_make(a);
  gr_show_completion(&t, a, &q, n ? arguments[n - 1] : "");
  if (composed.job) gr_conf_yaml(&t, composed.job);
  gr_arena_destroy(a);
  return 0;
}
