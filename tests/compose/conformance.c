// conformance.c - composition against results recorded from Hydra 1.3.5 itself.
//
// The recordings are files of JSON lines (input, and the answer or that it is an error), beside
// the configurations they are about. Values, types and the order of keys must be equal, and
// what is an error there must be one here, but for the few differences in `intended`.
#include <unistd.h>
#include "compose/composer.h"
#include "compose/hydra/multirun.h"
#include "compose/interp/interp.h"
#include "json_read.h"
#include "parsed.h"
#include "tests/check.h"

static const char *folder;    // of the recordings
static const char *unpacked;  // where generated.tar.gz was unpacked
static int shown;

// Cases where this composer answers otherwise on purpose.
static const struct {
  const char *file, *text, *reason;
} intended[] = {
    {"parse.jsonl", "abs(-10)", "functions of the recording's own program"},
    {"parse.jsonl", "empty()", "functions of the recording's own program"},
    {"parse.jsonl", "sum()", "functions of the recording's own program"},
    {"parse.jsonl", "sum(1,2,3)", "functions of the recording's own program"},
    {"parse.jsonl", "range(10,20,step=5)", "functions of the recording's own program"},
    {"parse.jsonl", "range(start=10,stop=20,step=5)", "functions of the recording's own program"},
    {"parse.jsonl", "range(10,step=5,stop=20)", "functions of the recording's own program"},
    {"parse.jsonl", "sort(10,1,5,reverse=true)", "functions of the recording's own program"},
    {"defaults.jsonl", "include_nested_group_name_", "_name_ went with Hydra 1.1's mode"},
    {"defaults.jsonl", "include_nested_config_item_name_", "_name_ went with Hydra 1.1's mode"},
    {"defaults.jsonl", "config_with_same_name_as_group", "_name_ inside a name, in 1.1's mode"},
    {"defaults.jsonl", "test_extend_from_group_with_same_name_as_config", "the same"},
    {"defaults.jsonl", "interpolation_legacy_with_self", "${defaults.1.x} went with 1.1's mode"},
    {"compose.jsonl", "config.yml", ".yml went with Hydra 1.1's mode"},
    {"compose.jsonl", "config +db=validated_mysql", "a class registered in Python"},
    {"compose.jsonl", "config +db=mysql", "a class registered in Python"},
    {"compose.jsonl", "configs", "a file listed twice is merged again the second time"},
    {"defaults.jsonl", "run =1", "without a key: an error when values are set"},
    {"defaults.jsonl", "only_self ~", "the same"},
    {"defaults.jsonl", "first ~", "the same"},
    {"defaults.jsonl", "first ~=1", "the same"},
};

static bool is_intended(const char *file, const char *text) {
  for (size_t i = 0; i < sizeof intended / sizeof *intended; i++)
    if (!strcmp(intended[i].file, file) && !strcmp(intended[i].text, text)) return true;
  return false;
}

// ---- Comparing -------------------------------------------------------------------

static const char *as_json(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.chars;
}

static void judge(gr_arena *a, const char *file, const gr_conf *kase, const char *name, gr_status s,
                  const gr_conf *got) {
  const gr_conf *ok =
      gr_conf_index(kase, "ok") >= 0 ? kase->items[gr_conf_index(kase, "ok")] : NULL;
  const char *wanted = ok ? as_json(a, ok) : "an error";
  const char *found = s ? gr_status_text(s) : as_json(a, got);
  bool good = ok ? !s && !strcmp(wanted, found) : s != NULL;
  check_checks++;
  if (good) return;
  check_failed++;
  if (shown++ < 40)
    fprintf(stderr, "%s: %s\n  wanted: %s\n  found:  %s\n", file, name, wanted, found);
}

typedef void runner(gr_arena *, const char *file, gr_conf *kase);

static void each_line(const char *file, runner *run) {
  gr_arena *a = gr_arena_create();
  char *text;
  gr_status missing =
      gr_file_read(a, gr_arena_printf(a, "%s/%s", folder, file), 1 << 26, &text, NULL);
  gr_status_drop(missing);
  if (missing) {
    gr_arena_destroy(a);
    SKIP("%s/%s is not there", folder, file);
  }
  int n = 0;
  for (const char *s = text; *s; n++) {
    gr_arena *one = gr_arena_create();
    gr_conf *kase = json_read(one, &s);
    CHECK(kase != NULL, "%s: line %d is not JSON", file, n + 1);
    if (kase) run(one, file, kase);
    s += strcspn(s, "\n");
    s += *s == '\n';
    gr_arena_destroy(one);
  }
  printf("  %s: %d cases\n", file, n);
  gr_arena_destroy(a);
}

static const char *text_of(gr_conf *map, const char *key) {
  const char *text = NULL;
  gr_conf *v = gr_conf_member(map, key);
  if (v && v->kind >= GR_CONF_TEXT && v->kind <= GR_CONF_INTERP) text = v->text;
  return text;
}

// ---- The override grammar ----------------------------------------------------------

static void run_parse(gr_arena *a, const char *file, gr_conf *kase) {
  const char *text = gr_conf_member(kase, "text")->text;
  gr_conf *got = NULL;
  if (is_intended(file, text)) return;
  gr_status s = parsed_rule(a, text_of(kase, "rule"), text, &got);
  judge(a, file, kase, text, s, got);
  gr_status_drop(s);
}

// ---- Composition -------------------------------------------------------------------

static gr_compose_request request(gr_arena *a, const char *base, gr_conf *kase) {
  gr_conf *list = gr_conf_member(kase, "overrides");
  const char **lines = GR_NEW(a, const char *, list->n + 1);
  for (int i = 0; i < list->n; i++) lines[i] = list->items[i]->text;
  return (gr_compose_request){
      .overrides = lines,
      .n_overrides = list->n,
      .path = gr_arena_printf(a, "%s/%s/%s", base, text_of(kase, "dir"), text_of(kase, "config"))};
}

// A config in a sub-folder is a primary by its whole name: the folder stays the search path.
static gr_status open_case(gr_composer *c, gr_arena *a, const char *base, gr_conf *kase) {
  gr_compose_request q = request(a, base, kase);
  const char *config = text_of(kase, "config"), *slash = strrchr(config, '/');
  GR_TRY(gr_composer_open(c, a, &q));
  if (!slash) return GR_OK;
  c->primary = config;
  c->sources = gr_sources_make(a);
  gr_sources_add(&c->sources, gr_arena_printf(a, "%s/%s", base, text_of(kase, "dir")));
  return GR_OK;
}

static const char *case_name(gr_arena *a, gr_conf *kase) {
  const char *id = text_of(kase, "id");
  return gr_arena_printf(a, "%s %s/%s %s", id ? id : "", text_of(kase, "dir"),
                         text_of(kase, "config"), as_json(a, gr_conf_member(kase, "overrides")));
}

static gr_status compose_all(gr_arena *a, const char *base, gr_conf *kase, gr_composed *out) {
  gr_composer c;
  GR_TRY(open_case(&c, a, base, kase));
  GR_TRY(gr_composer_single(&c));
  GR_TRY(gr_composer_list(&c, true));
  return gr_composer_merge(&c, out);
}

static gr_status compose(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  gr_composed composed = {0};
  gr_status s = compose_all(a, base, kase, &composed);
  *out = composed.job;
  return s;
}

static gr_status resolve(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  GR_TRY(compose(a, base, kase, out));
  return gr_conf_resolve(a, *out, true);
}

static gr_status print(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  gr_text t = gr_text_make(a);
  gr_conf *job;
  GR_TRY(compose(a, base, kase, &job));
  gr_conf_yaml(&t, job);
  *out = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  (*out)->text = t.chars;
  return GR_OK;
}

// hydra.runtime.choices, without Hydra's own groups.
static gr_status choices(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  gr_composed composed;
  GR_TRY(compose_all(a, base, kase, &composed));
  const gr_conf *all = gr_conf_find(composed.hydra, "runtime.choices");
  *out = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  for (int i = 0; i < all->n; i++)
    if (strncmp(all->keys[i], "hydra/", 6)) gr_conf_put(a, *out, all->keys[i], all->items[i]);
  return GR_OK;
}

// Of a sweep that Hydra takes for one of no runs, and that is an error here.
static bool has_no_runs(gr_status s) {
  return s && (!strcmp(gr_status_text(s), "there is no value to sweep over") ||
               !strcmp(gr_status_text(s), "no option of the group matches the pattern"));
}

// The tree of each run of a sweep.
static gr_status sweep(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  gr_job_list jobs;
  gr_compose_request q = request(a, base, kase);
  gr_status s = gr_multirun_list(a, &q, &jobs);
  *out = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  if (has_no_runs(s)) {
    gr_status_drop(s);
    return GR_OK;
  }
  GR_TRY(s);
  for (int j = 0; j < jobs.n; j++) {
    gr_composed composed;
    q.overrides = jobs.overrides[j], q.n_overrides = jobs.n_all;
    GR_TRY(gr_compose(a, &q, &composed));
    gr_conf_append(a, *out, composed.job);
  }
  return GR_OK;
}

static gr_conf *show_part(gr_arena *a, const gr_default_part *p, bool generated) {
  gr_conf *m = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE),
          *l = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  put_text(a, m, "path", p->config->path);
  put_text(a, m, "package", p->package);
  if (generated) put_bool(a, m, "self", p->is_self);
  put_text(a, m, "parent", p->parent);
  if (!generated) put_bool(a, m, "self", p->is_self);
  if (!generated) put_bool(a, m, "primary", p->primary);
  for (int i = 0; i < m->n; i++) gr_conf_append(a, l, m->items[i]);
  return l;
}

static gr_status list_defaults(gr_arena *a, const char *base, gr_conf *kase, bool generated,
                               gr_conf **out) {
  gr_composer c;
  GR_TRY(open_case(&c, a, base, kase));
  GR_TRY(gr_composer_list(&c, generated));
  *out = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  for (int i = 0; i < c.defaults.n_parts; i++)
    if (strncmp(c.defaults.parts[i].config->path, "hydra/", 6))
      gr_conf_append(a, *out, show_part(a, &c.defaults.parts[i], generated));
  return GR_OK;
}

// "config override override"
static const char *short_name(gr_arena *a, gr_conf *kase) {
  gr_text t = gr_text_make(a);
  const gr_conf *list = gr_conf_member(kase, "overrides");
  gr_text_put(&t, text_of(kase, "config"));
  for (int i = 0; i < list->n; i++) gr_text_printf(&t, " %s", list->items[i]->text);
  return t.chars;
}

static void run_defaults(gr_arena *a, const char *file, gr_conf *kase) {
  gr_conf *got = NULL;
  if (is_intended(file, short_name(a, kase))) return;
  gr_status s = list_defaults(a, folder, kase, false, &got);
  judge(a, file, kase, case_name(a, kase), s, got);
  gr_status_drop(s);
}

static gr_status defaults_generated(gr_arena *a, const char *base, gr_conf *kase, gr_conf **out) {
  return list_defaults(a, base, kase, true, out);
}

// Without an "op" a case is about the composed tree.
static void run_op(gr_arena *a, const char *file, const char *base, gr_conf *kase) {
  static const struct {
    const char *op;
    gr_status (*run)(gr_arena *, const char *base, gr_conf *kase, gr_conf **out);
  } ops[] = {{"compose", compose}, {"resolve", resolve}, {"defaults", defaults_generated},
             {"yaml", print},      {"choices", choices}, {"sweep", sweep}};
  const char *op = text_of(kase, "op") ? text_of(kase, "op") : "compose";
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (strcmp(ops[i].op, op)) continue;
    gr_conf *got = NULL;
    gr_status s = ops[i].run(a, base, kase, &got);
    judge(a, file, kase, gr_arena_printf(a, "%s: %s", op, case_name(a, kase)), s, got);
    gr_status_drop(s);
    return;
  }
  CHECK(false, "%s: there is no op '%s'", file, op);
}

static void run_compose(gr_arena *a, const char *file, gr_conf *kase) {
  if (!is_intended(file, short_name(a, kase))) run_op(a, file, folder, kase);
}

static void run_generated(gr_arena *a, const char *file, gr_conf *kase) {
  run_op(a, file, unpacked, kase);
}

static void parse(void) { each_line("parse.jsonl", run_parse); }
// Texts of these kinds are not in every set of recordings.
static void each_text(const char *file) {
  gr_arena *a = gr_arena_create();
  bool there = gr_is_file(gr_arena_printf(a, "%s/%s", folder, file));
  gr_arena_destroy(a);
  if (there) each_line(file, run_parse);
}

static void refer(void) { each_text("refer.jsonl"); }
static void yaml(void) { each_text("yaml.jsonl"); }
static void defaults(void) { each_line("defaults.jsonl", run_defaults); }
static void composed(void) { each_line("compose.jsonl", run_compose); }
static void generated(void) { each_line("generated.jsonl", run_generated); }

static bool unpack(const char *to) {
  char line[2048];
  if (access(folder, R_OK)) return false;
  snprintf(line, sizeof line, "mkdir -p '%s' && tar -xzf '%s/generated.tar.gz' -C '%s'", to, folder,
           to);
  return !system(line);
}

int main(int argc, char **argv) {
  gr_arena *a = gr_arena_create();
  setenv("A", "set", 1);
  unsetenv("NOPE");
  gr_log_open(GR_ERROR, 0, 1);
  folder = argc > 1 ? argv[1] : "recorded";
  const char *to = argc > 2 ? argv[2] : "/tmp";
  unpacked = gr_arena_printf(a, "%s/generated", to);
  if (!unpack(to)) {
    printf("SKIPPED: the recordings (%s) are not there\n", folder);
    gr_arena_destroy(a);
    return 0;
  }
  int status = RUN(1, argv, {"parse", parse}, {"refer", refer}, {"yaml", yaml},
                   {"defaults", defaults}, {"compose", composed}, {"generated", generated});
  gr_arena_destroy(a);
  return status;
}
