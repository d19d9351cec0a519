// compat.c - translates compat.huggingface to the keys of this program. See schema.h; the table is
// compat.def.
#include <math.h>
#include <string.h>
#include "compose/schema/schema.h"

// Steps of logging, evaluation and saving where Transformers is told none; and any number of
// epochs.
enum { STEPS = 500, MAX_EPOCHS = 1000000000 };
static const char section[] = "compat.huggingface", script[] = "hooks/transformers.lua";

typedef struct work {
  gr_arena *arena;
  gr_conf *root;
  const struct row *row;  // the one at hand
  const gr_conf *value;   // its setting, or the default
  gr_text became;         // "KEY VALUE, KEY VALUE"
} work;

typedef struct row {
  const char *name, *default_value;
  gr_status (*how)(work *, const gr_conf *value);
  const char *key, *text;
} row;

// ---- Values -----------------------------------------------------------------------

// A setting of the section; NULL: it is not given, or of a wrong type, which the schema reports.
static gr_conf *setting(const work *w, const char *name) {
  const char *path = gr_arena_printf(w->arena, "%s.%s", section, name);
  gr_conf *c = gr_conf_look(w->root, path);
  const gr_schema_type *type = gr_schema_type_read(w->arena, gr_schema_find(path)->type);
  return c && gr_schema_type_fits(type, c) ? c : NULL;
}

static bool is_true(const work *w, const char *name) {
  const gr_conf *c = setting(w, name);
  return c && c->truth;
}
static int64_t count(const work *w, const char *name, int64_t otherwise) {
  const gr_conf *c = setting(w, name);
  return c ? c->integer : otherwise;
}
static gr_conf *integer(const work *w, int64_t i) {
  return gr_conf_make_int(w->arena, i, w->value->loc);
}
static gr_conf *truth(const work *w, bool b) {
  gr_conf *c = gr_conf_make(w->arena, GR_CONF_BOOL, w->value->loc);
  c->truth = b;
  return c;
}
static gr_conf *word(const work *w, const char *text) {
  return gr_conf_make_text(w->arena, text, w->value->loc);
}
// What follows from a setting and is not said by it, so that a key that is given wins.
static gr_conf *implied(gr_conf *c) {
  c->is_default = true;
  return c;
}

// ---- Keys -------------------------------------------------------------------------

// The value of a key, or of another name of it, that is given; NULL: it is not.
static gr_conf *given(const work *w, const char *key) {
  gr_conf *c = gr_conf_look(w->root, key);
  for (int i = 0; !c && i < gr_schema_count; i++)
    if (gr_schema_keys[i].alias_of && !strcmp(gr_schema_keys[i].alias_of, key))
      c = gr_conf_look(w->root, gr_schema_keys[i].path);
  return c && c->kind != GR_CONF_MISSING ? c : NULL;
}

static bool is_own(const work *w, const char *k) { return given(w, k) && !given(w, k)->is_default; }

static gr_status conflict(const work *w, const char *key, const gr_conf *asked,
                          const gr_conf *other) {
  gr_status s = gr_fail(GR_ERR_CONFIG, w->value->loc, "%s.%s asks for %s=%s, but it is %s", section,
                        w->row->name, key, gr_conf_written(w->arena, asked),
                        gr_conf_written(w->arena, other));
  return gr_hint(gr_note(s, other->loc, "the other is set here"), "keep one of them");
}

static gr_status refuse(work *w, const char *why) {
  return gr_fail(GR_ERR_CONFIG, w->value->loc, "%s.%s cannot be honoured: %s", section,
                 w->row->name, why);
}

static void say(work *w, const char *key, const char *value) {
  gr_text_printf(&w->became, "%s%s %s", w->became.len ? ", " : "", key, value);
}

static gr_status nothing(work *w, const char *why) {
  if (!w->value->is_default) say(w, "nothing:", why);
  return GR_OK;
}

// Gives a key a value. One that a file or an argument gives must be the same, but stays where the
// value is a default.
static gr_status set(work *w, const char *key, gr_conf *c) {
  const gr_conf *other = given(w, key);
  c->is_default |= w->value->is_default;
  if (other && !gr_conf_same(w->arena, other, c)) {
    if (c->is_default) return GR_OK;
    if (!other->is_default) return conflict(w, key, c, other);
  }
  say(w, key, gr_conf_written(w->arena, c));
  return other && !other->is_default ? GR_OK : gr_conf_put_at(w->arena, w->root, key, c);
}

// ---- What rows become -------------------------------------------------------------

static gr_status copy(work *w, const gr_conf *value) {
  return set(w, w->row->key, gr_conf_copy(w->arena, value));
}
static gr_status only_true(work *w, const gr_conf *v) {
  return (v->truth ? nothing : refuse)(w, w->row->text);
}

// training.batch_size without training.batch_is counts the samples of all ranks.
static gr_status batch(work *w, const gr_conf *value) {
  const gr_conf *here = given(w, w->row->key), *accumulate = given(w, "training.accumulate");
  int64_t times = count(w, "gradient_accumulation_steps", 0);
  if (value->is_default && is_own(w, w->row->key)) return GR_OK;
  if (!times) times = accumulate && accumulate->kind == GR_CONF_INT ? accumulate->integer : 1;
  if (times > INT32_MAX) return refuse(w, "the batch is too large");
  gr_conf *size = integer(w, value->integer * times);
  if (is_own(w, w->row->key) && !is_own(w, "training.batch_is"))
    return gr_hint(conflict(w, w->row->key, size, here),
                   "one without training.batch_is=per_rank is of all ranks");
  GR_TRY(set(w, w->row->key, size));
  return set(w, "training.batch_is", word(w, "per_rank"));
}

static gr_status accumulate(work *w, const gr_conf *value) {
  if (!setting(w, "per_device_train_batch_size") && is_own(w, "training.batch_size"))
    return refuse(w, "it multiplies per_device_train_batch_size, which is not given");
  return copy(w, value);
}

static gr_status eval_batch(work *w, const gr_conf *value) {
  int64_t train = count(w, "per_device_train_batch_size", 8);
  if (value->integer == train) return nothing(w, "it is per_device_train_batch_size");
  return refuse(w, gr_arena_printf(w->arena, "%s, which is %lld", w->row->text, (long long)train));
}

static gr_status precision(work *w, const gr_conf *value) {
  const char *off = is_true(w, "fp16") ? "fp16" : is_true(w, "bf16") ? "bf16" : "fp32";
  return set(w, w->row->key, word(w, value->truth ? w->row->name : off));
}

static gr_status recompute(work *w, const gr_conf *v) {
  return v->truth ? set(w, w->row->key, word(w, "repeat")) : nothing(w, "all values are kept");
}

static gr_status epochs(work *w, const gr_conf *value) {
  if (count(w, "max_steps", 0) > 0) return nothing(w, "max_steps overrides it");
  if (gr_conf_number(value) != floor(gr_conf_number(value)))
    return refuse(w, "epochs are whole; max_steps ends a run within one");
  return set(w, w->row->key, integer(w, (int64_t)gr_conf_number(value)));
}

static gr_status steps(work *w, const gr_conf *value) {
  if (value->integer <= 0) return set(w, w->row->key, integer(w, 0));
  GR_TRY(copy(w, value));
  return set(w, "training.max_epochs", implied(integer(w, MAX_EPOCHS)));
}

// Puts the script that has the schedules of Transformers before those that are given.
static gr_status add_script(work *w, const gr_conf *value) {
  gr_conf *list = gr_conf_make(w->arena, GR_CONF_LIST, value->loc), *rest = given(w, "hooks");
  gr_conf_append(w->arena, list, word(w, script));
  if (rest && rest->kind != GR_CONF_LIST) return GR_OK;  // the schema reports it
  for (int i = 0; rest && i < rest->n; i++)
    if (!gr_conf_says(rest->items[i], script))
      gr_conf_append(w->arena, list, gr_conf_copy(w->arena, rest->items[i]));
  say(w, "hooks", script);
  return gr_conf_put_at(w->arena, w->root, "hooks", list);
}

static gr_status schedule(work *w, const gr_conf *value) {
  if (value->is_default && is_own(w, w->row->key)) return GR_OK;
  GR_TRY(add_script(w, value));
  return set(w, "hooks_params.schedule", word(w, value->text));
}

// warmup_steps, which is a share of all steps below 1, or warmup_ratio.
static gr_status warmup(work *w, const gr_conf *value) {
  const gr_conf *type = setting(w, "lr_scheduler_type"), *first = setting(w, "warmup_steps");
  double n = gr_conf_number(value);
  bool ratio = first != value || (n > 0 && n < 1);
  if (gr_conf_says(type, "constant") && n > 0)
    return refuse(w, "lr_scheduler_type is constant; constant_with_warmup warms up");
  if (!gr_conf_look(w->root, "hooks_params.schedule"))
    return refuse(w, "hooks are given, so it needs lr_scheduler_type");
  if (is_own(w, "training.warmup_steps") && n > 0)
    return conflict(w, "training.warmup_steps", value, given(w, "training.warmup_steps"));
  if (first && first != value && gr_conf_number(first) > 0)
    return nothing(w, "warmup_steps overrides it");
  if (ratio) return set(w, "hooks_params.warmup_ratio", gr_conf_copy(w->arena, value));
  return set(w, "hooks_params.warmup_steps", integer(w, (int64_t)n));
}

static gr_status optimizer(work *w, const gr_conf *value) {
  return set(w, w->row->key, word(w, strcmp(value->text, "sgd") ? "adamw" : "sgd"));
}

static gr_status decay(work *w, const gr_conf *value) {
  GR_TRY(copy(w, value));
  return set(w, "training.decay_biases_and_norms", implied(truth(w, false)));
}

// Of both, each as it is given or as Transformers has it.
static gr_status betas(work *w, const gr_conf *value) {
  static const double usual[] = {0.9, 0.999};
  static const char *const names[] = {"adam_beta1", "adam_beta2"};
  gr_conf *list = gr_conf_make(w->arena, GR_CONF_LIST, value->loc);
  for (int i = 0; i < 2; i++) {
    const gr_conf *beta = setting(w, names[i]);
    gr_conf *item = gr_conf_make(w->arena, GR_CONF_FLOAT, value->loc);
    item->number = beta ? gr_conf_number(beta) : usual[i];
    gr_conf_append(w->arena, list, item);
  }
  return set(w, w->row->key, list);
}

// YAML reads `no` as false.
static gr_status only_no(work *w, const gr_conf *value) {
  return value->kind == GR_CONF_BOOL && value->truth ? refuse(w, "it is no bool") : GR_OK;
}

static gr_status evaluation(work *w, const gr_conf *value) {
  GR_TRY(only_no(w, value));
  if (value->is_default && setting(w, "evaluation_strategy")) return GR_OK;
  GR_TRY(set(w, w->row->key, integer(w, gr_conf_says(value, "epoch"))));
  if (!gr_conf_says(value, "steps")) return GR_OK;
  GR_TRY(add_script(w, value));
  return set(w, "hooks_params.eval_steps",
             integer(w, count(w, "eval_steps", count(w, "logging_steps", STEPS))));
}

static bool is_by_steps(const work *w, const char *strategy) {
  const gr_conf *c = setting(w, strategy);
  return gr_conf_says(c, "steps");
}

static gr_status eval_steps(work *w, const gr_conf *value) {
  if (!is_by_steps(w, "eval_strategy") && !is_by_steps(w, "evaluation_strategy"))
    return refuse(w, "eval_strategy is not steps");
  return set(w, "hooks_params.eval_steps", gr_conf_copy(w->arena, value));
}

static gr_status saving(work *w, const gr_conf *value) {
  GR_TRY(only_no(w, value));
  int64_t every = gr_conf_says(value, "steps") ? count(w, "save_steps", STEPS) : 0;
  if (value->is_default && is_own(w, "checkpoint.every_steps")) return GR_OK;
  GR_TRY(set(w, w->row->key, integer(w, gr_conf_says(value, "epoch"))));
  return set(w, "checkpoint.every_steps", integer(w, every));
}

static gr_status save_steps(work *w, const gr_conf *value) {
  if (setting(w, "save_strategy") && !is_by_steps(w, "save_strategy"))
    return refuse(w, "save_strategy is not steps");
  return copy(w, value);
}

static gr_status keep_best(work *w, const gr_conf *value) {
  const gr_conf *how = setting(w, "save_strategy");
  return set(w, w->row->key, integer(w, value->truth || gr_conf_says(how, "best")));
}

static gr_status limit(work *w, const gr_conf *value) {
  bool counts_best = is_true(w, "load_best_model_at_end") && value->integer > 1;
  return set(w, w->row->key, integer(w, value->integer - counts_best));
}

static gr_status metric(work *w, const gr_conf *value) {
  const char *name = value->text + 5 * !strncmp(value->text, "eval_", 5);
  size_t n = strlen(name);
  bool loss = n >= 4 && !strcmp(name + n - 4, "loss");
  GR_TRY(set(w, w->row->key, word(w, name)));
  if (setting(w, "greater_is_better")) return GR_OK;
  return set(w, "checkpoint.mode", implied(word(w, loss ? "min" : "max")));
}

static gr_status greater(work *w, const gr_conf *v) {
  return set(w, w->row->key, word(w, v->truth ? "max" : "min"));
}

static gr_status generate(work *w, const gr_conf *value) {
  if (!value->truth) return set(w, w->row->key, integer(w, 0));
  if (!setting(w, "generation_max_length") && !is_own(w, w->row->key))
    return refuse(w, "it needs generation_max_length, the length of what is generated");
  say(w, w->row->key, "above 0");
  return GR_OK;
}

static gr_status generated(work *w, const gr_conf *value) {
  const gr_conf *prefix = gr_conf_look(w->root, "data.speech.text.prefix");
  int before = prefix ? prefix->n : 0;
  if (!is_true(w, "predict_with_generate"))
    return refuse(w, "nothing is generated without predict_with_generate: true");
  if (strcmp(w->row->name, "generation_max_length")) return copy(w, value);
  if (value->integer <= before) return refuse(w, "data.speech.text.prefix is as long");
  return set(w, w->row->key, integer(w, value->integer - before));
}

// The words of `fsdp`, of its list or its string, each between blanks: " full_shard auto_wrap ".
static const char *words_of(const work *w, const gr_conf *fsdp) {
  gr_text t = gr_text_make(w->arena);
  gr_text_put(&t, fsdp->kind == GR_CONF_BOOL && fsdp->truth ? " full_shard auto_wrap " : " ");
  if (fsdp->kind == GR_CONF_TEXT) gr_text_printf(&t, "%s ", fsdp->text);
  for (int i = 0; fsdp->kind == GR_CONF_LIST && i < fsdp->n; i++)
    gr_text_printf(&t, "%s ", fsdp->items[i]->text);
  for (char *s = t.chars; *s; s++)
    if (*s == ',') *s = ' ';
  return t.chars;
}

static gr_status fsdp(work *w, const gr_conf *value) {
  static const char *const known[] = {"full_shard",   "shard_grad_op", "no_shard",
                                      "hybrid_shard", "offload",       "auto_wrap"};
  enum { KNOWN = 6, STRATEGIES = 4 };
  const char *words = words_of(w, value), *which = NULL;
  bool bad = false, offload = false, any = false;
  for (size_t n; *(words += strspn(words, " ")); words += n, any = true) {
    int k = 0;
    for (n = strcspn(words, " "); k < KNOWN; k++)
      if (n == strlen(known[k]) && !strncmp(words, known[k], n)) break;
    bad |= k == KNOWN || (k < STRATEGIES && which);
    if (k < STRATEGIES) which = known[k];
    offload |= k == STRATEGIES;
  }
  if (bad || (any && !which))
    return refuse(w,
                  "its words are one of full_shard, shard_grad_op, no_shard and hybrid_shard, "
                  "and offload and auto_wrap");
  if (!which) return set(w, w->row->key, word(w, "ddp"));
  GR_TRY(set(w, w->row->key, word(w, "fsdp")));
  GR_TRY(set(w, "distributed.fsdp.sharding_strategy", word(w, which)));
  return offload ? set(w, "distributed.fsdp.offload_params", truth(w, true)) : GR_OK;
}

static gr_status wrap(work *w, const gr_conf *value) {
  const gr_conf *on = setting(w, "fsdp");
  if (on && !strstr(words_of(w, on), " auto_wrap ")) return refuse(w, "fsdp has no auto_wrap");
  return copy(w, value);
}

// ---- All of them ------------------------------------------------------------------

static const row rows[] = {
#define GR_COMPAT(name, type, default_value, how, key, text) {name, default_value, how, key, text},
#include "compose/schema/compat.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS < (int)GR_MAX_COMPAT, "a line for each row has room");

static gr_conf *default_of(const work *w) {
  gr_conf *c = NULL;
  const gr_schema_key key = {.path = w->row->name, .default_value = w->row->default_value};
  gr_status_drop(gr_schema_default(w->arena, &key, &c));
  if (c) c->is_default = true;
  return c;
}

gr_status gr_schema_translate(gr_arena *a, gr_conf *root, const char *lines[GR_MAX_COMPAT],
                              int *n) {
  const gr_conf *map = gr_conf_look(root, section);
  gr_status all = GR_OK;
  gr_text defaults = gr_text_make(a);
  *n = 0;
  if (!map || map->kind != GR_CONF_MAP) return GR_OK;
  gr_conf_mark(gr_conf_find(root, "compat"));
  for (int i = 0; i < N_ROWS; i++) {
    work w = {a, root, &rows[i], NULL, gr_text_make(a)};
    const gr_conf *value = w.value = setting(&w, rows[i].name);
    if (!value) value = w.value = default_of(&w);
    if (!value) continue;
    all = gr_also(all, rows[i].how(&w, value));
    if (value->is_default && w.became.len)
      gr_text_printf(&defaults, "%s%s", defaults.len ? ", " : "", w.became.chars);
    else if (!value->is_default)
      lines[(*n)++] = gr_arena_printf(a, "compat: %s %s -> %s", rows[i].name,
                                      gr_conf_written(a, value), w.became.chars);
  }
  if (defaults.len)
    lines[(*n)++] =
        gr_arena_printf(a, "compat: what it leaves out, as in Transformers: %s", defaults.chars);
  return all;
}
