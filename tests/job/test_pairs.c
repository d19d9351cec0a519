// test_pairs.c - which of two keys wins where both say something of one thing: groups of weights
// against the optimizer's keys, rules of layout against the strategy's, and two names of one key.
#include <string.h>
#include "compiler/pass.h"
#include "compose/schema/schema.h"
#include "job/parts.h"
#include "job/settings.h"
#include "ops/optim/optim.h"
#include "tests/check.h"

static gr_arena *arena;

static gr_conf *read_text(const char *text, int ranks, gr_settings *out) {
  gr_conf *c;
  MUST(gr_conf_parse(arena, "run.yaml", gr_arena_printf(arena, "%s", text), &c));
  MUST(gr_schema_check(arena, c, true));
  MUST(gr_settings_read(arena, c, ranks, out));
  return c;
}

// ---- Groups -------------------------------------------------------------------------------------

static double attr_of(const char *optimizer, const void *attr, const char *name) {
  double x = -1;
  for (const gr_attr *p = gr_optim_find(optimizer)->attrs; p->name; p++)
    if (!strcmp(p->name, name)) memcpy(&x, (const char *)attr + p->offset, sizeof x);
  return x;
}

// What the optimizer of matrices and of vectors reads.
typedef struct expected {
  double beta1, beta2, eps, decay, decay_1d;
} expected;

static void is_read(const char *what, const gr_settings *s, const char *weight,
                    const expected *want) {
  gr_update_rule matrix = gr_update_rule_of(&s->options.optimizer, weight, 2),
                 vector = gr_update_rule_of(&s->options.optimizer, weight, 1);
  const expected got = {attr_of(matrix.op->name, matrix.attr, "beta1"),
                        attr_of(matrix.op->name, matrix.attr, "beta2"),
                        attr_of(matrix.op->name, matrix.attr, "eps"),
                        attr_of(matrix.op->name, matrix.attr, "weight_decay"),
                        attr_of(vector.op->name, vector.attr, "weight_decay")};
  CHECK(!memcmp(&got, want, sizeof got),
        "%s, %s: betas %g and %g, eps %g, decay %g and %g, not %g, %g, %g, %g, %g", what, weight,
        got.beta1, got.beta2, got.eps, got.decay, got.decay_1d, want->beta1, want->beta2, want->eps,
        want->decay, want->decay_1d);
}

static const struct {
  const char *training, *group;  // beside `optimizer: adamw`; of head.*
  expected others, head;
} group_rows[] = {
    {"", "", {.9, .999, 1e-8, 0, 0}, {.9, .999, 1e-8, 0, 0}},
    // A group has what training has, but for what it says itself.
    {"betas: [.8, .7]", "", {.8, .7, 1e-8, 0, 0}, {.8, .7, 1e-8, 0, 0}},
    {"betas: [.8, .7]", "beta2: .6", {.8, .7, 1e-8, 0, 0}, {.8, .6, 1e-8, 0, 0}},
    {"betas: [.8, .7]", "betas: [.5, .4]", {.8, .7, 1e-8, 0, 0}, {.5, .4, 1e-8, 0, 0}},
    {"eps: .1", "", {.9, .999, .1, 0, 0}, {.9, .999, .1, 0, 0}},
    {"eps: .1", "eps: .2", {.9, .999, .1, 0, 0}, {.9, .999, .2, 0, 0}},
    {"eps: .1", "betas: [.5, .4]", {.9, .999, .1, 0, 0}, {.5, .4, .1, 0, 0}},
    {"weight_decay: .3", "", {.9, .999, 1e-8, .3, .3}, {.9, .999, 1e-8, .3, .3}},
    {"weight_decay: .3", "weight_decay: 0", {.9, .999, 1e-8, .3, .3}, {.9, .999, 1e-8, 0, 0}},
    {"weight_decay: .3", "eps: .2", {.9, .999, 1e-8, .3, .3}, {.9, .999, .2, .3, .3}},
    {"", "weight_decay: .2", {.9, .999, 1e-8, 0, 0}, {.9, .999, 1e-8, .2, .2}},
    // optimizer_params goes before the keys that optimizers share, and groups before both.
    {"optimizer_params: {weight_decay: .4}, weight_decay: .3",
     "",
     {.9, .999, 1e-8, .4, .4},
     {.9, .999, 1e-8, .4, .4}},
    {"optimizer_params: {beta1: .6}, betas: [.8, .7]",
     "",
     {.6, .7, 1e-8, 0, 0},
     {.6, .7, 1e-8, 0, 0}},
    {"optimizer_params: {eps: .4}, eps: .3", "eps: .2", {.9, .999, .4, 0, 0}, {.9, .999, .2, 0, 0}},
    {"optimizer_params: {eps: .4}",
     "weight_decay: .1",
     {.9, .999, .4, 0, 0},
     {.9, .999, .4, .1, .1}},
    // Vectors decay where a group says how much, whatever decay_biases_and_norms says of others.
    {"decay_biases_and_norms: false, weight_decay: .3",
     "",
     {.9, .999, 1e-8, .3, 0},
     {.9, .999, 1e-8, .3, 0}},
    {"decay_biases_and_norms: false, weight_decay: .3",
     "eps: .2",
     {.9, .999, 1e-8, .3, 0},
     {.9, .999, .2, .3, 0}},
    {"decay_biases_and_norms: false, weight_decay: .3",
     "weight_decay: .1",
     {.9, .999, 1e-8, .3, 0},
     {.9, .999, 1e-8, .1, .1}},
    {"decay_biases_and_norms: false",
     "weight_decay: .1",
     {.9, .999, 1e-8, 0, 0},
     {.9, .999, 1e-8, .1, .1}},
    // Another optimizer has its own defaults; the same one, named again, those of training.
    {"betas: [.8, .7], eps: .1, weight_decay: .3",
     "optimizer: adam",
     {.8, .7, .1, .3, .3},
     {.9, .999, 1e-8, 0, 0}},
    {"betas: [.8, .7], eps: .1, weight_decay: .3",
     "optimizer: adamw",
     {.8, .7, .1, .3, .3},
     {.8, .7, .1, .3, .3}},
    {"optimizer_params: {beta1: .6}",
     "optimizer: adam, beta2: .5",
     {.6, .999, 1e-8, 0, 0},
     {.9, .5, 1e-8, 0, 0}},
};

static void groups(void) {
  for (size_t i = 0; i < sizeof group_rows / sizeof *group_rows; i++) {
    gr_settings s;
    const char *comma = *group_rows[i].training ? ", " : "",
               *second = *group_rows[i].group ? ", " : "";
    const char *what = gr_arena_printf(
        arena, "{optimizer: adamw%s%s, groups: [{match: \"head.*\"%s%s}, {match: \"*\", lr: 1}]}",
        comma, group_rows[i].training, second, group_rows[i].group);
    read_text(gr_arena_printf(arena, "{model: {graph: g.yaml}, training: %s}", what), 1, &s);
    is_read(what, &s, "head.weight", &group_rows[i].head);
    is_read(what, &s, "body.weight", &group_rows[i].others);
    s.options.optimizer.n_groups = 0;
    is_read(what, &s, "head.weight", &group_rows[i].others);
  }
}

// ---- Layouts ------------------------------------------------------------------------------------

enum { R = GR_REPLICATE };

static const struct {
  const char *distributed, *layout;
  const char *weight;
  int64_t rows, columns;
  int placement[2];  // of the mesh's axes
} layout_rows[] = {
    {"strategy: fsdp, ranks: 4", "", "a.q.weight", 8, 8, {0}},
    {"strategy: fsdp, ranks: 4", "{match: '*.q.*', dp: S1}", "a.q.weight", 8, 8, {1}},
    {"strategy: fsdp, ranks: 4", "{match: '*.q.*', dp: S1}", "a.k.weight", 8, 8, {0}},
    {"strategy: fsdp, ranks: 4", "{match: '*.q.*', dp: R}", "a.q.weight", 8, 8, {R}},
    {"strategy: fsdp, ranks: 4", "{match: '*.q.*', dp: S1}", "a.q.weight", 2, 4, {1}},  // small
    {"strategy: fsdp, ranks: 4", "", "a.q.weight", 2, 4, {R}},
    {"strategy: fsdp, ranks: 4",
     "{match: '*', dp: R}, {match: '*.q.*', dp: S1}",
     "a.q.weight",
     8,
     8,
     {1}},
    {"strategy: fsdp, ranks: 4",
     "{match: '*.q.*', dp: S1}, {match: '*', dp: R}",
     "a.q.weight",
     8,
     8,
     {R}},
    {"strategy: fsdp, ranks: 4", "{match: '*', tp: S1}", "a.q.weight", 8, 8, {0}},
    {"strategy: ddp, ranks: 4", "", "a.q.weight", 8, 8, {R}},
    {"strategy: ddp, ranks: 4", "{match: '*.q.*', dp: S1}", "a.q.weight", 8, 8, {1}},
    {"strategy: zero2, ranks: 4", "{match: '*.q.*', dp: S0}", "a.q.weight", 8, 8, {0}},
    {"strategy: fsdp_tp, mesh: {dp: 2, tp: 2}", "", "a.q.weight", 8, 8, {0, R}},
    {"strategy: fsdp_tp, mesh: {dp: 2, tp: 2}",
     "{match: '*.q.*', tp: S0}",
     "a.q.weight",
     8,
     8,
     {1, 0}},
    {"strategy: fsdp_tp, mesh: {dp: 2, tp: 2}",
     "{match: '*.q.*', tp: S0, dp: R}",
     "a.q.weight",
     8,
     8,
     {R, 0}},
};

static void layouts(void) {
  for (size_t i = 0; i < sizeof layout_rows / sizeof *layout_rows; i++) {
    gr_settings s;
    const char *text =
        gr_arena_printf(arena, "{model: {graph: g.yaml}, distributed: {%s, layout: [%s]}}",
                        layout_rows[i].distributed, layout_rows[i].layout);
    read_text(text, 4, &s);
    gr_options *o = &s.options;
    const gr_mesh *m = &o->sharding.mesh;
    o->sharding.replicate_below = 64;
    gr_value w = {.name = layout_rows[i].weight,
                  .kind = GR_KIND_WEIGHT,
                  .type = {GR_F32, 2, {layout_rows[i].rows, layout_rows[i].columns}}};
    for (int a = 0; a < GR_MAX_MESH; a++) w.layout.placement[a] = GR_REPLICATE;
    gr_layout got = gr_weight_layout(m, &w, o);
    for (int a = 0; a < m->n_axes; a++)
      CHECK((int)got.placement[a] == layout_rows[i].placement[a], "%s: %s is %d over %s, not %d",
            text, w.name, (int)got.placement[a], m->axis[a].name, layout_rows[i].placement[a]);
  }
}

// ---- Two names of one key -----------------------------------------------------------------------

// Sets the value of a key in a tree of maps; text is its YAML.
static void put(gr_conf *map, const char *path, const char *text) {
  gr_conf *c;
  const char *dot = strchr(path, '.');
  if (!dot) {
    MUST(gr_conf_parse(arena, "value.yaml", gr_arena_printf(arena, "v: %s", text), &c));
    gr_conf_put(arena, map, path, gr_conf_find(c, "v"));
    return;
  }
  const char *name = gr_arena_strndup(arena, path, (size_t)(dot - path));
  if (gr_conf_index(map, name) < 0)
    gr_conf_put(arena, map, name, gr_conf_make(arena, GR_CONF_MAP, map->loc));
  put(gr_conf_find(map, name), dot + 1, text);
}

static gr_conf *with_defaults(const gr_conf **seen) {
  gr_conf *c;
  MUST(gr_conf_parse(arena, "run.yaml", "{model: {graph: g.yaml}}", &c));
  MUST(gr_schema_check(arena, c, true));
  MUST(gr_schema_share(arena, c, seen));
  return c;
}

static void is_text(const gr_conf *root, const char *path, const char *want, const char *what) {
  const gr_conf *c = gr_conf_find((gr_conf *)root, path);
  const char *got = c && c->kind == GR_CONF_TEXT ? c->text : "(no text)";
  CHECK(!strcmp(got, want), "%s: '%s' is '%s', not '%s'", what, path, got, want);
}

// One name in a file, and then the other as an argument: the argument sets both.
static void the_last_wins(const char *first, const char *last, const char *key) {
  const gr_conf **seen = gr_schema_aliases(arena);
  gr_conf *c = with_defaults(seen);
  const char *what = gr_arena_printf(arena, "%s, and then %s", first, last);
  put(c, first, "in_file");
  MUST(gr_schema_share(arena, c, seen));
  put(c, last, "as_argument");
  MUST(gr_schema_share(arena, c, seen));
  is_text(c, first, "as_argument", what);
  is_text(c, last, "as_argument", what);
  gr_schema_rename(c);
  is_text(c, key, "as_argument", what);
}

static void both_at_once(const gr_schema_key *k) {
  for (int same = 0; same < 2; same++) {
    const gr_conf **seen = gr_schema_aliases(arena);
    gr_conf *c = with_defaults(seen);
    put(c, k->path, "one"), put(c, k->alias_of, same ? "one" : "two");
    gr_status s = gr_schema_share(arena, c, seen);
    CHECK((s == NULL) == same, "%s and %s, %s value", k->path, k->alias_of,
          same ? "one" : "another");
    CHECK(!s || strstr(gr_status_text(s), "are two names of one key"), "%s", gr_status_text(s));
    gr_status_drop(s);
  }
}

static void names(void) {
  int n = 0;
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (!k->alias_of) continue;
    the_last_wins(k->path, k->alias_of, k->alias_of);
    the_last_wins(k->alias_of, k->path, k->alias_of);
    both_at_once(k);
    for (int j = 0; j < gr_schema_count; j++)  // two other names of one key
      if (j != i && gr_schema_keys[j].alias_of && !strcmp(gr_schema_keys[j].alias_of, k->alias_of))
        the_last_wins(k->path, gr_schema_keys[j].path, k->alias_of);
    n++;
  }
  CHECK(n >= 10, "%d other names", n);
}

int main(int argc, char **argv) {
  gr_settings_register();
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"groups", groups}, {"layouts", layouts}, {"names", names});
  gr_arena_destroy(arena);
  return failed;
}
