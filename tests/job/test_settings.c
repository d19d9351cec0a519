// test_settings.c - rows of schema.def: every word of a key is the constant of its enum, every
// default is read, and other names override.
#include <string.h>
#include "compose/schema/schema.h"
#include "job/args.h"
#include "job/parts.h"
#include "job/settings.h"
#include "runtime/data/dataset.h"
#include "tests/check.h"

// Composes `text` and reads it, for one rank.
static gr_settings read_text(gr_arena *a, const char *text) {
  gr_conf *c;
  gr_settings s;
  MUST(gr_conf_parse(a, "run.yaml", text, &c));
  MUST(gr_schema_check(a, c, true));
  MUST(gr_settings_read(a, c, 1, &s));
  return s;
}

// "a.b.c" and a value as one line of flow YAML, beside a model and a teacher.
static const char *with(gr_arena *a, const char *path, const char *value) {
  gr_text t = gr_text_make(a);
  const char *model = "model.", *teacher = "model.teacher.";
  int depth = 0;
  gr_text_put(&t, "{model: {graph: g.yaml");
  if (!strncmp(path, teacher, strlen(teacher)))
    gr_text_put(&t, ", teacher: {graph: t.yaml, init_from: t, match: {y: y}, "),
        depth = 2, path += strlen(teacher);
  else if (!strncmp(path, model, strlen(model)))
    gr_text_put(&t, ", "), depth = 1, path += strlen(model);
  else
    gr_text_put(&t, "}, ");
  for (size_t n; path[n = strcspn(path, ".")]; path += n + 1, depth++)
    gr_text_printf(&t, "%.*s: {", (int)n, path);
  gr_text_printf(&t, "%s: %s", path, value);
  while (depth--) gr_text_put(&t, "}");
  gr_text_put(&t, "}");
  return t.chars;
}

static int n_words;

static void is_word(const char *path, const char *word, size_t offset, int want) {
  gr_arena *a = gr_arena_create();
  int got;
  gr_settings s = read_text(a, with(a, path, word));
  memcpy(&got, (char *)&s + offset, sizeof got);
  CHECK(got == want, "%s=%s is %d, not %d", path, word, got, want);
  n_words++;
  gr_arena_destroy(a);
}

static void words(void) {
#define ONE(of, word) is_word(stored, #word, offset, gr_##of##_##word);
#define GR_WORDS(part, field, path, default_value, unit, doc, ...) \
  {                                                                \
    static const char stored[] = path;                             \
    const size_t offset = GR_FIELD_OFFSET(part, field);            \
    GR_EACH_WORD(ONE, field, __VA_ARGS__)                          \
  }
#define GR_WORDS_OR(part, field, path, type, ...) GR_WORDS(part, field, path, __VA_ARGS__)
#include "compose/schema/schema.def"
  CHECK(n_words >= 30, "%d words", n_words);
}

static void defaults(void) {
  gr_arena *a = gr_arena_create();
  gr_settings s = read_text(a, "model: {graph: g.yaml}\n");
  CHECK(!strcmp(s.model.graph, "g.yaml") && !s.model.n_init_from && !s.outputs.dir,
        "texts and nulls");
  CHECK(s.loop.lr == 1e-3 && s.options.batch.batch_size == 16 && s.comm.timeout == 300, "numbers");
  CHECK(s.loop.final_train_eval && !s.options.precision.mixed_precision, "truths");
  CHECK(!s.ranks.n && !s.ranks.threads && s.ranks.threads_each >= 1, "auto is 0 until it is known");
  CHECK(s.options.sharding.strategy == gr_strategy_ddp && s.outputs.log_level == gr_log_level_info,
        "words");
  CHECK(s.saving.resume == gr_resume_auto, "resume is %d", (int)s.saving.resume);
  CHECK(!s.options.optimizer.ema_decay.given && !s.options.optimizer.freeze.n, "not given");
  s = read_text(a, with(a, "checkpoint.resume", "some/folder"));
  CHECK(s.saving.resume == gr_resume_text && !strcmp(s.saving.resume_text, "some/folder"),
        "another text");
  s = read_text(a, with(a, "training.ema_decay", "0"));
  CHECK(s.options.optimizer.ema_decay.given && s.options.optimizer.ema_decay.value == 0,
        "a number that may be left out is 0");
  s = read_text(a, with(a, "model.freeze", "[\"a.*\", b]"));
  const gr_texts *freeze = &s.options.optimizer.freeze;
  CHECK(freeze->n == 2 && !strcmp(freeze->text[0], "a.*") && freeze->loc[1].line == 1, "a list");
  gr_arena_destroy(a);
}

static void other_names(void) {
  gr_arena *a = gr_arena_create();
  gr_settings s = read_text(a, with(a, "training.distributed_strategy", "ZERO2"));
  gr_strategy strategy = s.options.sharding.strategy;
  CHECK(strategy == gr_strategy_zero2, "the strategy is %d", (int)strategy);
  int n = 0;
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    n += k->alias_of != NULL;
    CHECK(!k->alias_of || gr_schema_find(k->alias_of), "%s is a name of nothing", k->path);
  }
  CHECK(n >= 10, "%d other names", n);
  gr_arena_destroy(a);
}

static void same_limit(gr_arena *a, const char *path, int64_t limit) {
  int64_t to = gr_schema_type_read(a, gr_schema_find(path)->type)->max;
  CHECK(to == limit, "%s takes up to %lld, the code %lld", path, (long long)to, (long long)limit);
}

// What a row lets through is what arrays are made for, so that no number compiles and fails later.
static void limits(void) {
  gr_arena *a = gr_arena_create();
  same_limit(a, "data.buckets", GR_MAX_BUCKETS);
  same_limit(a, "distributed.ranks", GR_MAX_RANKS);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  gr_settings_register();
  return RUN(argc, argv, {"words", words}, {"defaults", defaults}, {"other_names", other_names},
             {"limits", limits});
}
