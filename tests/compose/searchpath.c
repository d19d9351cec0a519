// searchpath.c - hydra.searchpath: folders beside that of the primary config in which others are
// looked for.
#include <unistd.h>
#include "base/port.h"
#include "compose/compose.h"
#include "tests/compose/folder.h"
#include "tests/compose/trees.h"

static char dir[] = "/tmp/gr-test-searchpath-XXXXXX";

static void file(const char *name, const char *text) {
  gr_arena *a = gr_arena_create();
  char *path = gr_arena_printf(a, "%s/%s", dir, name), *slash = strrchr(path, '/');
  *slash = 0;
  MUST(gr_make_dirs(path));
  *slash = '/';
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) abort();
  gr_arena_destroy(a);
}

// The value of port, of the first folder that has db/a.yaml; or an error.
static gr_status port(const char *path, const char *override, int64_t *out) {
  gr_arena *a = gr_arena_create();
  file("run.yaml", gr_arena_printf(a, "defaults: [db: a, _self_]\nfirst: %s/first\nlist: [1]\n%s\n",
                                   dir, path));
  gr_compose_request q = {.path = gr_arena_printf(a, "%s/run.yaml", dir),
                          .overrides = override ? &override : NULL,
                          .n_overrides = override != NULL};
  gr_composed c = {0};
  gr_status s = gr_compose(a, &q, &c);
  *out = 0;
  if (!s) s = gr_conf_int(c.job, "db.port", 0, out);
  return gr_arena_end(a, s);
}

static void folders_are_searched(void) {
  static const struct {
    const char *path, *override;
    int found;
  } cases[] = {
      {"hydra: {searchpath: [first]}", NULL, 1},
      {"hydra: {searchpath: [first, second]}", NULL, 1},
      {"hydra: {searchpath: [second, first]}", NULL, 2},
      {"hydra: {searchpath: [\"file://second\"]}", NULL, 2},
      {"hydra: {searchpath: [nothing, \"pkg://first\", second]}", NULL, 2},
      {"hydra: {searchpath: [first]}", "hydra.searchpath=[second]", 2},
      {"", "hydra.searchpath=[second]", 2},
      {"hydra: {searchpath: [\"${first}\"]}", NULL, 1},
      {"hydra: {searchpath: [\"file://${oc.env:GR_TEST_FOLDER}/second\"]}", NULL, 2},
      {"", "hydra.searchpath=['${oc.env:GR_TEST_FOLDER}/first']", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t found;
    MUST(port(cases[i].path, cases[i].override, &found));
    CHECK(found == cases[i].found, "case %zu: that of folder %lld", i, (long long)found);
  }
}

static void the_folder_of_the_config_comes_first(void) {
  int64_t found;
  file("db/a.yaml", "port: 3\n");
  MUST(port("hydra: {searchpath: [first]}", NULL, &found));
  CHECK(found == 3, "that of folder %lld", (long long)found);
  gr_arena *a = gr_arena_create();
  if (unlink(gr_arena_printf(a, "%s/db/a.yaml", dir))) abort();
  gr_arena_destroy(a);
}

static void others_are_refused(void) {
  static const struct {
    const char *path, *override, *says;
  } cases[] = {
      {"hydra: {searchpath: first}", NULL, "must be a list of strings, but is a string"},
      {"hydra: {searchpath: [first, 2]}", NULL, "must be a list of strings, but has an integer"},
      {"hydra: {searchpath: [\"${list}\"]}", NULL, "must be a list of strings, but has a list"},
      {"hydra: {searchpath: [\"${oc.env:GR_TEST_NONE}\"]}", NULL, "'GR_TEST_NONE' is not set"},
      {"", "hydra.searchpath=first", "must be a list of strings, but is a string"},
      {"hydra: {searchpath: null}", NULL, "there is no configuration 'db/a'"},
      {"", NULL, "there is no configuration 'db/a'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t found;
    expect(port(cases[i].path, cases[i].override, &found), cases[i].says);
  }
  file("second/db/a.yaml", "port: 2\nhydra: {searchpath: [first]}\n# @package _global_\n");
  file("second/db/a.yaml", "# @package _global_\nhydra: {searchpath: [first]}\n");
  int64_t found;
  expect(port("hydra: {searchpath: [second]}", NULL, &found),
         "in 'db/a': overriding hydra.searchpath is only supported from the primary config");
}

int main(int argc, char **argv) {
  if (!mkdtemp(dir) || chdir(dir) || setenv("GR_TEST_FOLDER", dir, 1)) abort();
  file("first/db/a.yaml", "port: 1\n");
  file("second/db/a.yaml", "port: 2\n");
  int code = RUN(argc, argv, {"folders_are_searched", folders_are_searched},
                 {"the_folder_of_the_config_comes_first", the_folder_of_the_config_comes_first},
                 {"others_are_refused", others_are_refused});
  folder_remove(dir);
  return code;
}
