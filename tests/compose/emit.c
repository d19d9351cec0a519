// emit.c - strings as YAML: those of golden/emit_in.yaml are written as PyYAML writes them
// (golden/emit_out.yaml), and are read again as what they were.
#include "base/file.h"
#include "tests/compose/trees.h"

static const char *folder;

static char *read_file(gr_arena *a, const char *name) {
  char *text = NULL;
  MUST(gr_file_read(a, gr_arena_printf(a, "%s/%s", folder, name), 1 << 20, &text, NULL));
  return text;
}

static void as_pyyaml_writes_them(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_conf_yaml(&t, parse(a, read_file(a, "emit_in.yaml")));
  char *wanted = read_file(a, "emit_out.yaml");
  int line = 1;
  size_t same = 0;
  for (; t.chars[same] && t.chars[same] == wanted[same]; same++) line += wanted[same] == '\n';
  while (same && wanted[same - 1] != '\n') same--;
  CHECK(!strcmp(t.chars, wanted), "line %d: wanted %.90s\n  found %.90s", line, wanted + same,
        t.chars + same);
  gr_arena_destroy(a);
}

static void and_read_again(void) {
  gr_arena *a = gr_arena_create();
  SAME(json(a, parse(a, read_file(a, "emit_out.yaml"))),
       json(a, parse(a, read_file(a, "emit_in.yaml"))));
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  folder = argv[1];
  return RUN(argc - 1, argv + 1, {"as_pyyaml_writes_them", as_pyyaml_writes_them},
             {"and_read_again", and_read_again});
}
