// show.c - how a configuration was composed, as `graphrun config` prints it: --defaults, --tree,
// --explain, --diff.
#include "compose/show.h"
#include <sys/stat.h>
#include "tests/compose/folder.h"
#include "tests/compose/trees.h"

#define LONG \
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
static char dir[] = "/tmp/gr-test-show-XXXXXX";

static void file(const char *name, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) abort();
}

static void folder(const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  if (mkdir(path, 0700)) abort();
}

// What is printed, with the folder's name left out.
static const char *bare(gr_arena *a, const char *text) {
  gr_text t = gr_text_make(a);
  for (const char *found; (found = strstr(text, dir)); text = found + strlen(dir) + 1)
    gr_text_putn(&t, text, (size_t)(found - text));
  gr_text_put(&t, text);
  return t.chars;
}

static void compose_run(gr_arena *a, const char *name, const char *const *overrides, int n,
                        gr_composed *out) {
  gr_compose_request q = {
      .path = gr_arena_printf(a, "%s/%s", dir, name), .overrides = overrides, .n_overrides = n};
  MUST(gr_compose(a, &q, out));
}

static void make_files(void) {
  if (!mkdtemp(dir)) abort();
  folder("db"), folder("server");
  file("run.yaml",
       "defaults:\n  - base\n  - db: mysql\n  - optional server: none_of_them\n  - _self_\n"
       "name: run\nlist: [1, 2, 3]\nlong: " LONG "a\nempty: {}\n");
  file("base.yaml", "name: base\nports: {a: 1, b: {c: 2}}\n");
  file("db/mysql.yaml", "driver: mysql\nport: 2\n");
  file("db/postgres.yaml", "driver: postgres\nport: 3\n");
  file("other.yaml", "defaults: [base, _self_]\nname: other\nlong: " LONG "b\nmore: 1\n");
}

// ---- Which files ------------------------------------------------------------------------------

static void defaults_and_tree(void) {
  gr_arena *a = gr_arena_create();
  const char *const lines[] = {"db=postgres"};
  gr_composer c;
  gr_compose_request q = {
      .path = gr_arena_printf(a, "%s/run.yaml", dir), .overrides = lines, .n_overrides = 1};
  MUST(gr_composer_open(&c, a, &q));
  MUST(gr_composer_list(&c, true));
  gr_text t = gr_text_make(a), tree = gr_text_make(a);
  gr_show_defaults(&t, &c);
  SAME(t.chars,
       "config       package  _self_ parent\n"
       "base                         run\n"
       "db/postgres  db              run\n"
       "run                   yes    -\n");
  gr_show_tree(&tree, &c);
  SAME(tree.chars,
       "run\n  base\n  db: postgres\n  server: none_of_them  (optional, not found)\n  _self_\n");
  gr_arena_destroy(a);
}

// ---- Origins ----------------------------------------------------------------------------------

static void shows_origin(gr_conf *job, const char *key, const char *text) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  MUST(gr_show_origin(&t, job, key));
  SAME(bare(a, t.chars), text);
  gr_arena_destroy(a);
}

static void origins(void) {
  gr_arena *a = gr_arena_create();
  const char *const lines[] = {"name=new", "list.1=7", "+db.user=me"};
  gr_composed c;
  compose_run(a, "run.yaml", lines, 3, &c);
  shows_origin(c.job, "name",
               "name\n  \"new\"  argument 1:1:6\n  \"run\"  run.yaml:6:7  (replaced)\n"
               "  \"base\"  base.yaml:1:7  (replaced)\n");
  shows_origin(c.job, "list", "list\n  list[1]: 7  argument 2:1:8\n  [1, 7, 3]  run.yaml:7:7\n");
  shows_origin(c.job, "ports",
               "ports\n  ports.a: 1  base.yaml:2:12\n  ports.b.c: 2  base.yaml:2:22\n");
  shows_origin(c.job, "db",
               "db\n  db.driver: \"mysql\"  db/mysql.yaml:1:9\n  db.port: 2  db/mysql.yaml:2:7\n"
               "  db.user: \"me\"  argument 3:1:10\n");
  shows_origin(c.job, "empty", "empty\n");
  gr_arena_destroy(a);
}

static void misses(gr_conf *job, const char *key, const char *hint) {
  gr_arena *a = gr_arena_create();
  gr_conf *found;
  gr_status s = gr_show_find(a, job, key, &found);
  const char *said = s ? gr_status_hint(s) : NULL;
  CHECK(gr_status_code(s) == GR_ERR_USAGE && said && strstr(said, hint), "%s: %s; expected '%s'",
        key, said ? said : "no hint", hint);
  gr_status_drop(s);
  gr_arena_destroy(a);
}

static void keys_that_are_not_there(void) {
  gr_arena *a = gr_arena_create();
  gr_composed c;
  compose_run(a, "run.yaml", NULL, 0, &c);
  misses(c.job, "prts.a", "did you mean 'ports.a'?");
  misses(c.job, "training.lr", "it is not set: --resolve shows its default");
  misses(c.job, "training.lrr", "did you mean 'training.lr'? It is not set");
  misses(c.job, "zzzzzzzz", "it has: name, ports, ");
  misses(gr_conf_find(c.job, "ports"), "d", "it has: a, b");
  gr_arena_destroy(a);
}

// ---- Differences ------------------------------------------------------------------------------

static void differences(void) {
  gr_arena *a = gr_arena_create();
  gr_composed x, y;
  compose_run(a, "run.yaml", NULL, 0, &x);
  compose_run(a, "other.yaml", NULL, 0, &y);
  gr_text t = gr_text_make(a), none = gr_text_make(a);
  CHECK(gr_show_diff(&t, x.job, y.job), "there are differences");
  SAME(bare(a, t.chars),
       "- name: \"run\"  (run.yaml:6:7)\n+ name: \"other\"  (other.yaml:2:7)\n"
       "- db: {\"driver\": \"mysql\", \"port\": 2}  (db/mysql.yaml:1:1)\n"
       "- list: [1, 2, 3]  (run.yaml:7:7)\n"
       "- long: ...aaaaaaaaaaaaaaaaaaaaaaaaa\"  (run.yaml:8:7)\n"
       "+ long: ...aaaaaaaaaaaaaaaaaaaaaaaab\"  (other.yaml:3:7)\n"
       "- empty: {}  (run.yaml:9:8)\n"
       "+ more: 1  (other.yaml:4:7)\n");
  CHECK(!gr_show_diff(&none, x.job, x.job) && !none.len, "none: %s", none.chars);
  gr_arena_destroy(a);
}

// Values that do not fit into a line are cut between characters, wherever these begin.
static void long_values(void) {
  for (int before = 0; before < 4; before++) {
    gr_arena *a = gr_arena_create();
    gr_text v[2] = {gr_text_make(a), gr_text_make(a)}, t = gr_text_make(a), d = gr_text_make(a);
    for (int i = 0; i < 2; i++) {
      gr_text_printf(&v[i], "k: %.*s", before, "aaa");
      for (int k = 0; k < 40; k++) gr_text_put(&v[i], "\u20ac");
      gr_text_put(&v[i], i ? "\u00e9x" : "\u00e9y");
      for (int k = 0; k < 40; k++) gr_text_put(&v[i], "\u20ac");
    }
    gr_conf *x = parse(a, v[0].chars), *y = parse(a, v[1].chars);
    MUST(gr_show_origin(&t, x, "k"));
    gr_show_diff(&d, x, y);
    CHECK(gr_utf8_valid(t.chars) && strlen(t.chars) < 110, "%d: %s", before, t.chars);
    CHECK(gr_utf8_valid(d.chars) && strstr(d.chars, "\u00e9y\u20ac") &&
              strstr(d.chars, "\u00e9x\u20ac"),
          "%d: %s", before, d.chars);
    gr_arena_destroy(a);
  }
}

int main(int argc, char **argv) {
  make_files();
  int code = RUN(argc, argv, {"defaults_and_tree", defaults_and_tree}, {"origins", origins},
                 {"keys_that_are_not_there", keys_that_are_not_there}, {"differences", differences},
                 {"long_values", long_values});
  folder_remove(dir);
  return code;
}
