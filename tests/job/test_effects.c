// test_effects.c - every row of effects.def: where its condition holds, a value other than the
// default gives a line with the reason, and the default none; where all keys have an effect, no
// value does. Rows that refuse a value do so at its place.
#include <string.h>
#include "compose/schema/schema.h"
#include "job/effects.h"
#include "job/parts.h"
#include "tests/check.h"

// A run, as configuration, and what else decides.
typedef struct surroundings {
  const char *when, *yaml;
  bool gpu;
  int ranks;
} surroundings;

// Every key has an effect here.
static const surroundings full = {
    "full",
    "{model: {graph: g.yaml}, hooks: [a.lua], training: {precision: fp16, "
    "numerics: canonical}, "
    "distributed: {strategy: fsdp, max_restarts: 1}}",
    true, 4};
// Where a condition holds.
static const surroundings holds[] = {
    {"always", "{model: {graph: g.yaml}}", true, 2},
    {"on_cpus", "{model: {graph: g.yaml}}", false, 2},
    {"on_gpus", "{model: {graph: g.yaml}}", true, 2},
    {"disabled", "{model: {graph: g.yaml}, distributed: {enabled: false}}", false, 1},
    {"alone", "{model: {graph: g.yaml}, distributed: {strategy: fsdp}}", true, 1},
    {"not_fsdp", "{model: {graph: g.yaml}}", true, 2},
    {"not_split", "{model: {graph: g.yaml}}", true, 2},
    {"not_gathered", "{model: {graph: g.yaml}, distributed: {strategy: zero2}}", true, 2},
    {"not_sharded", "{model: {graph: g.yaml}}", true, 2},
    {"not_fp16", "{model: {graph: g.yaml}, training: {precision: bf16}}", true, 2},
    {"as_threads", "{model: {graph: g.yaml}, distributed: {backend: loopback}}", false, 2},
    {"not_launched", "{model: {graph: g.yaml}, distributed: {strategy: dp}}", false, 2},
    {"not_restarted", "{model: {graph: g.yaml}}", false, 2},
    {"never_fewer", "{model: {graph: g.yaml}, distributed: {max_restarts: 1}}", false, 2},
    {"dp_threads", "{model: {graph: g.yaml}, distributed: {strategy: dp}}", false, 2},
    {"one_mean", "{model: {graph: g.yaml}, distributed: {strategy: tp}}", false, 2},
    {"same_batch", "{model: {graph: g.yaml}, distributed: {strategy: tp}}", false, 2},
    {"not_resumed", "{model: {graph: g.yaml}, checkpoint: {resume: none}}", false, 2},
    {"not_divisible", "{model: {graph: g.yaml}, distributed: {mesh: {dp: 2}}}", false, 2},
    {"is_native", "{model: {graph: g.yaml}}", false, 2},
    {"undivided", "{model: {graph: g.yaml}}", false, 1},
    {"deterministic_on_gpus", "{model: {graph: g.yaml}, training: {deterministic: true}}", true, 1},
    {"canonical_on_gpus", "{model: {graph: g.yaml}}", true, 2},
    {"canonical_mesh",
     "{model: {graph: g.yaml}, "
     "distributed: {strategy: zero1, mesh: {dp: 2, tp: 1}}}",
     false, 2},
    {"canonical_by_ranks", "{model: {graph: g.yaml}, training: {lr_scale: sqrt}}", false, 2},
    {"canonical_by_bucket", "{model: {graph: g.yaml}, training: {batch_size: {total_length: 9}}}",
     false, 2},
    {"canonical_narrow",
     "{model: {graph: g.yaml}, "
     "distributed: {reduce_dtype: bf16}}",
     false, 2},
    {"canonical_loop", "{model: {graph: g.yaml}, loop: [train]}", false, 2},
    {"canonical_memory", "{model: {graph: g.yaml}, training: {memory: 1GB}}", false, 2},
    {"without_workers", "{model: {graph: g.yaml}, data: {workers: 0}}", false, 1},
    {"without_hooks", "{model: {graph: g.yaml}}", true, 2},
};
enum { N_HOLDS = sizeof holds / sizeof *holds };

// Values other than the default of keys whose type does not give one.
static const struct value {
  const char *key, *text;
} values[] = {{"distributed.ranks", "3"},
              {"data.prefetch", "5"},
              {"distributed.mesh", "{dp: 4}"},
              {"distributed.fsdp.wrap", "[block]"},
              {"distributed.gpu_ids", "[1, 0]"},
              {"distributed.max_restarts", "3"},
              {"distributed.min_ranks", "2"},
              {"distributed.strategy", "zero1"},
              {"training.virtual_shards", "16"},
              {"training.loss_scale.growth_factor", "4"},
              {"training.loss_scale.growth_interval", "7"},
              {"distributed.fsdp.sharding_strategy", "shard_grad_op"}};

static const char *other_value(gr_arena *a, const char *key) {
  const gr_schema_key *k = gr_schema_find(key);
  const char *words[32];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (!strcmp(values[i].key, key)) return values[i].text;
  int n = gr_schema_choices(a, k, words, 32);
  for (int i = 0; i < n; i++)
    if (strcmp(words[i], k->default_value)) return words[i];
  return "0.25";
}

// Sets the value of a key in a tree of maps.
static void put(gr_arena *a, gr_conf *map, const char *path, const char *text) {
  gr_conf *c;
  const char *dot = strchr(path, '.');
  if (!dot) {
    MUST(gr_conf_parse(a, "value.yaml", gr_arena_printf(a, "v: %s", text), &c));
    gr_conf_put(a, map, path, gr_conf_find(c, "v"));
    return;
  }
  const char *name = gr_arena_strndup(a, path, (size_t)(dot - path));
  if (gr_conf_index(map, name) < 0)
    gr_conf_put(a, map, name, gr_conf_make(a, GR_CONF_MAP, map->loc));
  put(a, gr_conf_find(map, name), dot + 1, text);
}

// A run with a key set to a value; gr_effects in *out.
static void make(gr_arena *a, const surroundings *s, const char *key, const char *text,
                 gr_effects *out) {
  gr_settings *set = GR_NEW(a, gr_settings, 1);
  gr_conf *c;
  MUST(gr_conf_parse(a, "run.yaml", s->yaml, &c));
  put(a, c, key, text);
  MUST(gr_schema_check(a, c, true));
  MUST(gr_settings_read(a, c, s->ranks, set));
  *out = (gr_effects){c, set, s->gpu, s->ranks};
}

// Whether a line gives the value, with the reason.
static bool is_listed(gr_arena *a, const gr_effects *e, const char *key, const char *why) {
  const char *lines[GR_MAX_EFFECTS], *start = gr_arena_printf(a, "%s=", key);
  int n = gr_effects_list(a, e, lines);
  for (int i = 0; i < n; i++)
    if (strstr(lines[i], start) && (!why || strstr(lines[i], why))) return true;
  return false;
}

static const surroundings *find(const char *when) {
  for (int i = 0; i < N_HOLDS; i++)
    if (!strcmp(holds[i].when, when)) return &holds[i];
  CHECK(false, "no surroundings for %s", when);
  return &full;
}

static void row(const char *key, const char *when, const char *why) {
  gr_arena *a = gr_arena_create();
  gr_effects e;
  const gr_schema_key *k = gr_schema_find(key);
  const char *other = other_value(a, key);
  if (!k) CHECK(false, "%s is no key", key);
  if (!k) return;
  make(a, find(when), key, other, &e);
  CHECK(is_listed(a, &e, key, why), "%s=%s where %s has no line", key, other, when);
  make(a, find(when), key, k->default_value, &e);
  CHECK(!is_listed(a, &e, key, NULL), "%s is its default, %s, and has a line", key,
        k->default_value);
  if (strcmp(when, "always")) {
    make(a, &full, key, other, &e);
    CHECK(!is_listed(a, &e, key, NULL), "%s=%s has an effect, and a line", key, other);
  }
  gr_arena_destroy(a);
}

static void rows(void) {
#define GR_NO_EFFECT(key, when, why) row(key, #when, why);
#include "job/effects.def"
}

static void refused_row(const char *key, const char *when, const char *why) {
  gr_arena *a = gr_arena_create();
  gr_effects e;
  make(a, find(when), key, other_value(a, key), &e);
  gr_status s = gr_effects_check(a, &e);
  CHECK(gr_status_code(s) == GR_ERR_CONFIG, "%s is accepted where %s", key, when);
  CHECK(s && strstr(gr_status_text(s), why), "the error gives the reason");
  gr_status_drop(s);
  make(a, find(when), key, gr_schema_find(key)->default_value, &e);
  MUST(gr_effects_check(a, &e));
  e.gpu = !e.gpu;
  MUST(gr_effects_check(a, &e));
  gr_arena_destroy(a);
}

static void refusals(void) {
#define GR_REFUSED(key, when, why, hint) refused_row(key, #when, why);
#include "job/effects.def"
}

// What has an effect, or is the default written in another way, has no line.
static void no_lines(void) {
  static const struct {
    const char *when, *key, *text;
  } cases[] = {{"not_gathered", "distributed.fsdp.wrap", "[block]"},
               {"not_fp16", "training.loss_scale.init", "65536"},
               {"not_fp16", "training.loss_scale.growth_factor", "2"},
               {"not_fp16", "training.loss_scale.min", "1"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_arena *a = gr_arena_create();
    gr_effects e;
    make(a, find(cases[i].when), cases[i].key, cases[i].text, &e);
    CHECK(!is_listed(a, &e, cases[i].key, NULL), "%s=%s where %s has a line", cases[i].key,
          cases[i].text, cases[i].when);
    gr_arena_destroy(a);
  }
}

// What a run does otherwise than asked: the best by accuracy is not the lowest, unless that is
// asked for; validation data are not the training data.
static void differences(void) {
  static const struct {
    const char *section, *yaml, *says;  // says: NULL: no line
  } cases[] = {{"checkpoint", "{metric: accuracy}", "checkpoint.mode=max"},
               {"checkpoint", "{metric: accuracy, mode: min}", NULL},
               {"checkpoint", "{metric: accuracy, mode: max}", NULL},
               {"checkpoint", "{metric: loss}", NULL},
               {"data", "{source: table, table: {path: a.csv, eval_path: a.csv}}", "eval_path"},
               {"data", "{source: table, table: {path: [a.csv, b.csv], eval_path: [a.csv, b.csv]}}",
                "eval_path"},
               {"data", "{source: table, table: {path: [a.csv, b.csv], eval_path: b.csv}}", NULL},
               {"data", "{source: table, table: {path: a.csv}}", NULL},
               {"data", "{source: speech, table: {path: a.csv, eval_path: a.csv}}", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_arena *a = gr_arena_create();
    const char *lines[GR_MAX_DIFFERENCES];
    gr_effects e;
    make(a, find("on_gpus"), cases[i].section, cases[i].yaml, &e);
    int n = gr_effects_differences(&e, lines);
    CHECK(n == (cases[i].says != NULL) && (!n || strstr(lines[0], cases[i].says)),
          "%s has %d lines", cases[i].yaml, n);
    gr_arena_destroy(a);
  }
}

int main(int argc, char **argv) {
  gr_settings_register();
  return RUN(argc, argv, {"rows", rows}, {"refusals", refusals}, {"no_lines", no_lines},
             {"differences", differences});
}
