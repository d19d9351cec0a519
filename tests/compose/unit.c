// unit.c - trees, access, interpolation, schema, limits: what the rest of graphrun relies on.
#include <unistd.h>
#include "compose/hydra/multirun.h"
#include "compose/interp/interp.h"
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "tests/compose/trees.h"

static void types(void) {
  gr_arena *a = gr_arena_create();
  SAME(json(a, parse(a, "[2e-3, 1e-4, 1e3, 1., .5, -.5, 1_000, 0x10, 017, 12:30, 1:2:3.5, .inf]")),
       "[0.002, 0.0001, 1000.0, 1.0, 0.5, \"-.5\", 1000, 16, 15, 750, 3723.5, \"Infinity\"]");
  SAME(json(a, parse(a, "[on, OFF, y, ~, null, '1', 2024-01-01, 08, 1e, \"a\\tb\"]")),
       "[true, false, \"y\", null, null, \"1\", \"2024-01-01\", \"08\", \"1e\", \"a\\tb\"]");
  SAME(json(a, parse(a, "{a: &x {p: 1, q: 2}, b: {<<: *x, q: 3}, c: *x}")),
       "{\"a\": {\"p\": 1, \"q\": 2}, \"b\": {\"p\": 1, \"q\": 3}, \"c\": {\"p\": 1, \"q\": 2}}");
  SAME(json(a, parse(a, "{1: a, true: b, 1.0: c}")), "{\"1\": \"c\"}");
  gr_arena_destroy(a);
}

static void accessors(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c = parse(a, "a: {b: [1, {c: 2.5}], d: hi, e: true, n: null, m: \"???\"}\n");
  int64_t i;
  double x;
  bool b;
  const char *t;
  MUST(gr_conf_int(c, "a.b[0]", 9, &i));
  CHECK(i == 1, "%lld", (long long)i);
  MUST(gr_conf_int(c, "a.none", 9, &i));
  CHECK(i == 9, "%lld", (long long)i);
  MUST(gr_conf_float(c, "a.b.1.c", 0, &x));
  CHECK(x == 2.5, "%g", x);
  MUST(gr_conf_float(c, "a.b[0]", 0, &x));
  CHECK(x == 1, "an integer is a float too");
  MUST(gr_conf_bool(c, "a.e", false, &b));
  MUST(gr_conf_text(c, "a.n", "preset", &t));
  SAME(t, "preset");
  expect(gr_conf_int(c, "a.d", 0, &i), "must be an integer");
  expect(gr_conf_float(c, "a.n", 0, &x), "must be a float");
  expect(gr_conf_text(c, "a.m", NULL, &t), "must be set");
  SAME(gr_conf_path(a, gr_conf_find(c, "a.b[1].c")), "a.b[1].c");
  gr_loc place = gr_conf_find(c, "a.d")->loc;
  CHECK(place.line == 1 && place.col == 26, "%d:%d", place.line, place.col);
  gr_arena_destroy(a);
}

static void unread(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c = parse(a, "lr: 1\nlrr: 2\nlist: [1, 2]\nmap: {x: 1}\n");
  int64_t i;
  MUST(gr_conf_int(c, "lr", 0, &i));
  gr_conf_find(c, "list");
  gr_conf_mark(gr_conf_find(c, "map"));
  gr_status s = gr_conf_unread(a, c);
  CHECK(gr_status_count(s) == 1 && gr_status_loc(s).line == 2, "%s", gr_status_text(s));
  CHECK(s && gr_status_hint(s) && strstr(gr_status_hint(s), "'lr'"), "the hint names 'lr'");
  gr_status_drop(s);
  gr_arena_destroy(a);
}

static void large_maps(void) {
  enum { N = 500 };
  gr_arena *a = gr_arena_create();
  gr_conf *m = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  for (int i = 0; i < N; i++)
    gr_conf_put(a, m, gr_arena_printf(a, "k%d", i), gr_conf_make(a, GR_CONF_NULL, GR_NOWHERE));
  gr_conf_remove(m, 7);
  gr_conf *copy = gr_conf_copy(a, m);
  for (int i = 0; i < 40; i++)
    gr_conf_put(a, copy, gr_arena_printf(a, "n%d", i), gr_conf_make(a, GR_CONF_NULL, GR_NOWHERE));
  CHECK(gr_conf_index(m, "k7") < 0 && gr_conf_index(m, "k8") == 7, "removed");
  CHECK(gr_conf_index(copy, "k499") == 498 && gr_conf_index(copy, "n39") == 538,
        "copied and grown");
  gr_arena_destroy(a);
}

static void written(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_conf_yaml(
      &t, parse(a, "{a: [1, [b, {c: d}], {}], e: 'yes', f: '1', g: 1e-5, '': [], h: \"x\\ny\"}"));
  SAME(t.chars,
       "a:\n- 1\n- - b\n  - c: d\n- {}\ne: 'yes'\nf: '1'\ng: 1.0e-05\n? ''\n: []\nh: 'x\n\n  y'\n");
  gr_arena_destroy(a);
}

// A text as an argument is that text, once it is parsed and resolved.
static void texts_as_arguments(void) {
  static const char *const texts[] = {"",
                                      "runs/1",
                                      "a b, c=d",
                                      "a\"b",
                                      "a'b",
                                      "e\\",
                                      "e\\\\\"",
                                      "$\\\"x",
                                      "${b}",
                                      "\\${b}",
                                      "x\\\\${oc.env:HOME}\\",
                                      "$${b}",
                                      "${",
                                      "\\",
                                      "{a: [1",
                                      "ü\t"};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    gr_override o;
    gr_conf *map = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
    MUST(gr_override_parse(a, gr_override_of_text(a, "++k", texts[i]), 1, &o));
    gr_conf_add(a, map, "k", o.value.one);
    MUST(gr_conf_resolve(a, map, true));
    SAME(map->items[0]->text, texts[i]);
  }
  gr_arena_destroy(a);
}

static void resolved(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c =
      parse(a,
            "a: 1\nb: ${a}\nc: {d: '${..a}', e: ['${a}', '${.[0]}']}\nf: 'x${a}y${n}'\nn: null\n"
            "g: '\\${a} \\\\${a}'\nh: ${c}\nk: a\ni: '${${k}}'\n"
            "j: \"${oc.decode:'[1, {x: 2.5}]'}\"\nl: ${oc.select:nope,${a}}\n"
            "v: '${oc.dict.values:c}'\nw: '${oc.dict.keys:c}'\n");
  MUST(gr_conf_resolve(a, c, true));
  SAME(json(a, c),
       "{\"a\": 1, \"b\": 1, \"c\": {\"d\": 1, \"e\": [1, 1]}, \"f\": \"x1yNone\", \"n\": null, "
       "\"g\": \"${a} \\\\1\", \"h\": {\"d\": 1, \"e\": [1, 1]}, \"k\": \"a\", \"i\": 1, "
       "\"j\": [1, {\"x\": 2.5}], \"l\": 1, \"v\": [1, [1, 1]], \"w\": [\"d\", \"e\"]}");
  expect(gr_conf_resolve(a, parse(a, "a: ${b}\nb: ${c}\nc: ${a}\n"), true), "refers to itself");
  expect(gr_conf_resolve(a, parse(a, "a: {b: '${a}'}\n"), true), "which contains it");
  expect(gr_conf_resolve(a, parse(a, "a: ${oc.exec:ls}\n"), true), "there is no resolver");
  gr_arena_destroy(a);
}

// ---- Hostile files -----------------------------------------------------------------

static void hostile(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c = NULL;
  gr_text t = gr_text_make(a);
  for (int i = 0; i < 100000; i++) gr_text_put(&t, "[");
  expect(gr_conf_parse(a, "deep", t.chars, &c), "nested deeper");
  t = gr_text_make(a);
  gr_text_put(&t, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
  for (int i = 1; i < 9; i++)
    gr_text_printf(&t, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
                   i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
  expect(gr_conf_parse(a, "laughs", t.chars, &c), "more than");
  expect(gr_conf_parse(a, "cycle", "a: &a [*a]\n", &c), "inside its own anchor");
  t = gr_text_make(a);
  gr_text_put(&t, "a0: [x, x, x, x, x, x, x, x, x, x]\n");
  for (int i = 1; i < 9; i++)
    gr_text_printf(&t, "a%d: ['${a%d}', '${a%d}', '${a%d}', '${a%d}', '${a%d}', '${a%d}']\n", i,
                   i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
  expect(gr_conf_resolve(a, parse(a, t.chars), true), "more than");
  t = gr_text_make(a);
  gr_text_put(&t, "a0: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
  for (int i = 1; i < 30; i++) gr_text_printf(&t, "a%d: ${a%d}${a%d}\n", i, i - 1, i - 1);
  expect(gr_conf_resolve(a, parse(a, t.chars), true), "more than");
  t = gr_text_make(a);
  for (int i = 0; i < 1100000; i++) gr_text_put(&t, " ");
  expect(gr_conf_parse(a, "large", t.chars, &c), "larger than");
  gr_arena_destroy(a);
}

// ---- Schema ------------------------------------------------------------------------

static void schema(void) {
  gr_arena *a = gr_arena_create();
  gr_conf *c = parse(
      a, "model: {graph: g.yaml, params: {any: [1, {x: y}]}}\ntraining: {optimizer: ADAMW}\n");
  double lr;
  const char *text;
  MUST(gr_schema_check(a, c, true));
  MUST(gr_conf_float(c, "training.lr", 0, &lr));
  CHECK(lr == 1e-3, "%g", lr);
  CHECK(gr_conf_find(c, "training.lr")->is_default, "a default is marked");
  MUST(gr_conf_text(c, "training.optimizer", NULL, &text));
  SAME(text, "adamw");
  MUST(gr_conf_unread(a, parse(a, "{}")));
  expect(gr_schema_check(a, parse(a, "model: {graph: x}\nvars: {a: \"???\"}\n"), true),
         "'vars.a' must be set");
  gr_arena_destroy(a);
}

// Every row's default must be of the row's type, and its type must be understood.
static void schema_table(void) {
  gr_arena *a = gr_arena_create();
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    const gr_schema_type *type = gr_schema_type_read(a, k->type);
    if (*k->default_value && strcmp(k->default_value, "???"))
      CHECK(gr_schema_type_fits(type, parse(a, k->default_value)), "%s: %s is not of %s", k->path,
            k->default_value, k->type);
    CHECK(*k->doc, "%s has no documentation", k->path);
    CHECK(gr_schema_find(k->path) == k, "%s is there twice", k->path);
  }
  gr_arena_destroy(a);
}

// The rows of a section follow each other: the JSON Schema has one object for it, and lists of keys
// one part.
static void schema_sections(void) {
  for (int i = 0; i < gr_schema_count; i++) {
    const char *path = gr_schema_keys[i].path;
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
      size_t n = (size_t)(dot - path) + 1;
      int before = i;
      while (before && strncmp(gr_schema_keys[before - 1].path, path, n)) before--;
      CHECK(!before || before == i, "%s follows %s", path, gr_schema_keys[i - 1].path);
    }
  }
}

// No integer is cut where it is used: what a row takes fits in 32 bits unless the row says more,
// and such rows are few and known.
static void schema_ranges(void) {
  gr_arena *a = gr_arena_create();
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    for (const gr_schema_type *t = gr_schema_type_read(a, k->type); t; t = t->next) {
      const gr_schema_type *whole = t->item ? t->item : t;
      if (whole->kind != GR_SCHEMA_INT) continue;
      CHECK(whole->max <= INT32_MAX || !strcmp(k->path, "training.seed") ||
                !strcmp(k->path, "compat.huggingface.seed"),
            "%s", k->path);
      gr_conf over = {.kind = GR_CONF_INT, .integer = INT64_C(4294967304)};
      CHECK(gr_schema_type_fits(whole, &over) == (whole->max > INT32_MAX), "%s", k->path);
      over.integer = INT64_MIN;
      CHECK(!gr_schema_type_fits(whole, &over), "%s", k->path);
    }
  }
  gr_conf seed = {.kind = GR_CONF_INT, .integer = INT64_MAX};
  CHECK(gr_schema_type_fits(gr_schema_type_read(a, "int >= 0 <= 9223372036854775807"), &seed),
        "the largest integer");
  seed.integer = 3;
  CHECK(!gr_schema_type_fits(gr_schema_type_read(a, "int > 3 < 9"), &seed), "open below");
  seed.integer = 9;
  CHECK(!gr_schema_type_fits(gr_schema_type_read(a, "int > 3 < 9"), &seed), "open above");
  gr_arena_destroy(a);
}

// ---- Composition -------------------------------------------------------------------

static void write_file(gr_arena *a, const char *dir, const char *name, const char *text) {
  char *path = gr_arena_printf(a, "%s/%s", dir, name), *slash = strrchr(path, '/');
  *slash = 0;
  MUST(gr_make_dirs(path));
  *slash = '/';
  FILE *f = fopen(path, "w");
  CHECK(f && fputs(text, f) >= 0, "cannot write %s", path);
  if (f) fclose(f);
}

static gr_compose_request request(gr_arena *a, const char *const *overrides, int n) {
  const char *dir = gr_arena_printf(a, "/tmp/graphrun-unit-%d", (int)getpid());
  write_file(a, dir, "run.yaml", "defaults:\n- db: mysql\n- _self_\ntop: ${db.port}\n");
  write_file(a, dir, "db/mysql.yaml", "driver: mysql\nport: 1\n");
  write_file(a, dir, "db/postgres.yaml", "driver: postgres\nport: 2\n");
  return (gr_compose_request){
      .path = gr_arena_printf(a, "%s/run.yaml", dir), .overrides = overrides, .n_overrides = n};
}

static void composed(void) {
  gr_arena *a = gr_arena_create();
  const char *const lines[] = {"db=postgres", "+db.user=\"a b\"", "hydra.run.dir=out/${db.driver}"};
  gr_compose_request q = request(a, lines, 3);
  gr_composed c;
  MUST(gr_compose(a, &q, &c));
  SAME(json(a, c.job),
       "{\"db\": {\"driver\": \"postgres\", \"port\": 2, \"user\": \"a b\"}, "
       "\"top\": \"${db.port}\"}");
  gr_saved saved = gr_show_saved(a, &c);
  SAME(saved.config, "db:\n  driver: postgres\n  port: 2\n  user: a b\ntop: ${db.port}\n");
  SAME(saved.overrides, "- db=postgres\n- +db.user=\"a b\"\n");
  CHECK(strstr(saved.hydra, "hydra:\n  mode: null\n") == saved.hydra, "%.60s", saved.hydra);
  gr_conf *run = gr_conf_find(c.hydra, "run");
  MUST(gr_conf_resolve(a, run, true));
  SAME(gr_conf_find(run, "dir")->text, "out/postgres");
  MUST(gr_conf_resolve(a, c.job, true));
  CHECK(gr_conf_find(c.job, "top")->integer == 2, "%s", json(a, c.job));
  gr_arena_destroy(a);
}

static void origins(void) {
  gr_arena *a = gr_arena_create();
  const char *const lines[] = {"db.port=7"};
  gr_compose_request q = request(a, lines, 1);
  gr_composed c;
  gr_text t = gr_text_make(a);
  MUST(gr_compose(a, &q, &c));
  MUST(gr_show_origin(&t, c.job, "db.port"));
  CHECK(strstr(t.chars, "7  argument 1:1:9\n") && strstr(t.chars, "mysql.yaml:2:7  (replaced)"),
        "%s", t.chars);
  expect(gr_show_origin(&t, c.job, "db.prt"), "there is no key");
  gr_arena_destroy(a);
}

static void completion(void) {
  gr_arena *a = gr_arena_create();
  gr_compose_request q = request(a, NULL, 0);
  const struct {
    const char *word, *found;
  } cases[] = {{"db=", "db=mysql\ndb=postgres\n"},
               {"db=p", "db=postgres\n"},
               {"db.d", "db.driver=\n"},
               {"~top", "~top\n"},
               {"training.opt", "training.optimizer=\ntraining.optimizer_params=\n"},
               {"training.optimizer=ad", "training.optimizer=adam\ntraining.optimizer=adamw\n"},
               {"distributed.en", "distributed.enabled=\n"},
               {"top=", "top=$\\{db.port\\}\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_text t = gr_text_make(a);
    gr_show_completion(&t, a, &q, cases[i].word);
    SAME(t.chars, cases[i].found);
  }
  gr_arena_destroy(a);
}

static void sweeps(void) {
  gr_arena *a = gr_arena_create();
  const char *const lines[] = {"db=glob(*)", "top=range(0,1,0.3)", "+x=choice('a b',c)", "+y=1"};
  gr_compose_request q = request(a, lines, 4);
  gr_job_list jobs;
  MUST(gr_multirun_list(a, &q, &jobs));
  CHECK(jobs.n == 16 && jobs.n_each == 4, "%d jobs of %d", jobs.n, jobs.n_each);
  SAME(jobs.overrides[0][2], "+x=a\\ b");
  SAME(jobs.overrides[7][1], "top=0.9");
  SAME(jobs.overrides[15][0], "db=postgres");
  const char *const turned[] = {"top=sort(range(0,5,2),reverse=true)"};
  q = request(a, turned, 1);
  MUST(gr_multirun_list(a, &q, &jobs));
  CHECK(jobs.n == 3, "%d jobs", jobs.n);
  SAME(jobs.overrides[0][0], "top=4");
  SAME(jobs.overrides[2][0], "top=0");
  const char *const interval[] = {"top=interval(0,1)"};
  q = request(a, interval, 1);
  expect(gr_multirun_list(a, &q, &jobs), "no list of values");
  const char *const endless[] = {"top=range(0,200000)"};
  q = request(a, endless, 1);
  expect(gr_multirun_list(a, &q, &jobs), "more than 100000 values");
  gr_arena_destroy(a);
}

// Of a sweep the order of the runs, of a list the elements: all of them, each time the same.
static void shuffled(void) {
  gr_arena *a = gr_arena_create();
  const char *const sweep[] = {"top=shuffle(range(0,6))"}, *const list[] = {
                                                               "+l=shuffle([0,1,2,3,4,5])"};
  gr_compose_request q = request(a, sweep, 1);
  gr_job_list jobs, again;
  gr_composed c;
  int of_runs = 0, of_list = 0, moved = 0;
  MUST(gr_multirun_list(a, &q, &jobs));
  MUST(gr_multirun_list(a, &q, &again));
  CHECK(jobs.n == 6, "%d jobs", jobs.n);
  for (int i = 0; i < jobs.n; i++) {
    int value = atoi(strchr(jobs.overrides[i][0], '=') + 1);
    SAME(again.overrides[i][0], jobs.overrides[i][0]);
    of_runs |= 1 << value, moved += value != i;
  }
  q = request(a, list, 1);
  MUST(gr_compose(a, &q, &c));
  const gr_conf *l = gr_conf_find(c.job, "l");
  for (int i = 0; i < l->n; i++) of_list |= 1 << l->items[i]->integer;
  CHECK(of_runs == 63 && of_list == 63 && moved, "%d %d, %d moved", of_runs, of_list, moved);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  (void)argc;
  gr_schema_set_words("training.optimizer", (const char *const[]){"sgd", "adam", "adamw", NULL});
  gr_log_open(GR_ERROR, 0, 1);
  int status =
      RUN(1, argv, {"types", types}, {"access", accessors}, {"unread", unread},
          {"large maps", large_maps}, {"written", written},
          {"texts as arguments", texts_as_arguments}, {"resolved", resolved}, {"hostile", hostile},
          {"schema", schema}, {"schema table", schema_table}, {"schema sections", schema_sections},
          {"schema ranges", schema_ranges}, {"composed", composed}, {"origins", origins},
          {"completion", completion}, {"sweeps", sweeps}, {"shuffled", shuffled});
  char line[128];
  snprintf(line, sizeof line, "rm -rf /tmp/graphrun-unit-%d", (int)getpid());
  return system(line) ? 1 : status;
}
