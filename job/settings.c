// settings.c - see settings.h.
#include "job/settings.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "compiler/pass.h"
#include "compose/schema/schema.h"
#include "job/parts.h"
#include "runtime/device/device.h"

void gr_settings_register(void) {
  gr_optimizer_register();
  enum { MAX_WORDS = 32 };
  static const char *words[MAX_WORDS + 2] = {"auto"};
  int n = 1;
  for (const gr_device_ops *const *d = gr_devices; *d && n < MAX_WORDS; d++) {
    if ((*d)->alias) words[n++] = (*d)->alias;
    words[n++] = (*d)->name;
  }
  gr_schema_set_words("device", words);
}

typedef enum kind { INT, FLOAT, OPTIONAL, BOOL, TEXT, TEXTS, WORD } kind;

#define QUOTED(...) \
  (const char *const[]) { GR_EACH_WORD(GR_WORD_QUOTED, 0, __VA_ARGS__) NULL }
static const struct row {
  const char *path;
  kind kind;
  size_t offset;
  const char *const *words;  // of an enum, NULL-terminated
  size_t text;               // offset of the field for any other string, or 0
} rows[] = {
#define GR_SETTING(part, kind, field, path, ...) \
  {path, kind, GR_FIELD_OFFSET(part, field), NULL, 0},
#define GR_WORDS(part, field, path, default_value, unit, doc, ...) \
  {path, WORD, GR_FIELD_OFFSET(part, field), QUOTED(__VA_ARGS__), 0},
#define GR_WORDS_OR(part, field, path, type, default_value, unit, doc, ...) \
  {path, WORD, GR_FIELD_OFFSET(part, field), QUOTED(__VA_ARGS__),           \
   GR_FIELD_OFFSET(part, field##_text)},
#include "compose/schema/schema.def"
};

static gr_status read_word(gr_conf *c, const struct row *r, char *base) {
  int index = 0;  // an enum's constants are its words, in order; the last one is any other string
  const char *text;
  _Static_assert(sizeof(gr_strategy) == sizeof index, "enums are ints");
  GR_TRY(gr_conf_text(c, r->path, "", &text));
  while (r->words[index] && strcmp(r->words[index], text)) index++;
  if (!r->words[index] && !r->text)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%s has no word '%s'", r->path, text);
  memcpy(base + r->offset, &index, sizeof index);
  if (r->text) memcpy(base + r->text, &text, sizeof text);
  return GR_OK;
}

// Words such as auto and mappings become 0.
static gr_status read_int(gr_conf *c, const struct row *r, int64_t *out) {
  gr_conf *v = gr_conf_find(c, r->path);
  *out = 0;
  if (v->kind == GR_CONF_MAP) return GR_OK;
  return v->kind == GR_CONF_TEXT ? GR_OK : gr_conf_int(c, r->path, 0, out);
}

static gr_status read_optional(gr_conf *c, const struct row *r, gr_optional *out) {
  const gr_conf *v = gr_conf_find(c, r->path);
  out->given = v && v->kind != GR_CONF_NULL;
  return out->given ? gr_conf_float(c, r->path, 0, &out->value) : GR_OK;
}

static gr_status read_texts(gr_arena *a, gr_conf *c, const struct row *r, gr_texts *out) {
  gr_conf *key = gr_conf_find(c, r->path);
  if (!key || (key->kind != GR_CONF_LIST && key->kind != GR_CONF_TEXT)) return GR_OK;
  gr_conf_mark(key);
  gr_texts_add(a, key, out);
  return GR_OK;
}

static gr_status read_row(gr_arena *a, gr_conf *c, const struct row *r, char *base) {
  void *field = base + r->offset;
  switch (r->kind) {
    case INT:
      return read_int(c, r, field);
    case FLOAT:
      return gr_conf_float(c, r->path, 0, field);
    case OPTIONAL:
      return read_optional(c, r, field);
    case BOOL:
      return gr_conf_bool(c, r->path, false, field);
    case TEXT:
      return gr_conf_text(c, r->path, NULL, field);
    case TEXTS:
      return read_texts(a, c, r, field);
    case WORD:
      return read_word(c, r, base);
  }
  return GR_OK;
}

// ---- Derived, part by part ----------------------------------------------------------------------

// Scalars of hooks_params become ctx.params; nested values are an error.
static gr_status read_params(gr_arena *a, gr_conf *c, gr_param **out, int *n) {
  gr_conf *map = gr_conf_find(c, "hooks_params");
  *n = 0;
  if (map && map->kind != GR_CONF_MAP && map->kind != GR_CONF_NULL)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "hooks_params must be a mapping, but is a %s",
                           gr_conf_kind_name(map->kind)),
                   "hooks_params.NAME=VALUE sets what hooks read as ctx.params.NAME");
  if (!map || map->kind != GR_CONF_MAP) return GR_OK;
  *out = GR_NEW(a, gr_param, map->n + 1);
  for (int i = 0; i < map->n; i++) {
    gr_conf *v = map->items[i];
    gr_param *p = &(*out)[(*n)++];
    v->read = true;
    if (!gr_param_of(map->keys[i], v, p))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, v->loc,
                  "hooks_params.%s: scripts take numbers, strings and bools, found a %s",
                  map->keys[i], gr_conf_kind_name(v->kind)),
          "several values are a text, as hooks/multi_step.lua takes them: milestones: \"30,60\"");
  }
  return GR_OK;
}

static gr_status derive_hooks(gr_arena *a, gr_conf *c, gr_hooks_settings *s) {
  GR_TRY(read_params(a, c, &s->params, &s->n_params));
  s->scripts = GR_NEW(a, gr_hook_script, s->paths.n + 1);
  for (int i = 0; i < s->paths.n; i++)
    s->scripts[i] = (gr_hook_script){s->paths.text[i], s->paths.loc[i], s->params, s->n_params};
  return GR_OK;
}

enum { MAX_ROWS = 1000000000 };  // of a batch over all ranks; rounded up it is still an int

// A rank's rows of a batch, in the smallest equal micro-steps; the last may not be full. parts: of
// a batch. each: the virtual shards of a rank, or 0.
static gr_status derive_batch(gr_conf *c, int parts, int each, gr_batch_settings *s) {
  if (!s->batch_size) return GR_OK;  // a mapping: it follows from the data
  bool per_rank = s->batch_is == gr_batch_is_per_rank;
  int64_t batch = s->batch_size * (per_rank ? parts : 1);
  if (batch > MAX_ROWS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(c, "training.batch_size")->loc,
                           "%lld samples on each of %d ranks are %lld, more than the limit of %d "
                           "for a batch",
                           (long long)s->batch_size, parts, (long long)batch, MAX_ROWS),
                   "training.batch_is=global divides training.batch_size over the ranks");
  int64_t of_rank = (batch + parts - 1) / parts;
  int64_t steps = s->accumulate < of_rank ? s->accumulate : of_rank;
  if (each) steps = each;
  s->global = (int)batch;
  s->rows = (int)((of_rank + steps - 1) / steps);
  s->micro_batches = each ? each : (int)((of_rank + s->rows - 1) / s->rows);
  return GR_OK;
}

static void derive_lr(int parts, gr_loop_settings *s) {
  double scale[] = {
      [gr_lr_scale_none] = 1, [gr_lr_scale_linear] = parts, [gr_lr_scale_sqrt] = sqrt(parts)};
  s->scaled_lr = s->lr * scale[s->lr_scale];
}

// Two ranks of a machine on one GPU would halve its memory for each, and NCCL refuses it.
static gr_status read_gpu_ids(gr_arena *a, gr_conf *c, gr_ranks_settings *s) {
  gr_conf *ids = gr_conf_find(c, "distributed.gpu_ids");
  if (ids->kind != GR_CONF_LIST) return GR_OK;
  s->gpu_ids = GR_NEW(a, int, ids->n + 1);
  for (; s->n_gpu_ids < ids->n; s->n_gpu_ids++) {
    const gr_conf *id = ids->items[s->n_gpu_ids];
    for (int k = 0; k < s->n_gpu_ids; k++)
      if (s->gpu_ids[k] == id->integer)
        return gr_hint(
            gr_fail(GR_ERR_CONFIG, id->loc, "GPU %lld is listed twice", (long long)id->integer),
            "each rank of a machine has a GPU of its own");
    s->gpu_ids[s->n_gpu_ids] = (int)id->integer;
  }
  return GR_OK;
}

static void derive_ranks(int ranks, gr_ranks_settings *s) {
  int share = gr_processors() / (ranks ? ranks : 1);
  s->threads_each = s->threads ? (int)s->threads : share > 1 ? share : 1;
}

static gr_status check_freezable(const gr_texts *freezable) {
  if (freezable->n <= GR_MAX_FREEZABLE) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, freezable->loc[GR_MAX_FREEZABLE],
              "training.freezable has %d patterns, more than %d", freezable->n, GR_MAX_FREEZABLE),
      "the plan has programs for every combination of what may be frozen");
}

static gr_status derive_traced_steps(gr_conf *c, gr_outputs_settings *s) {
  char rest;
  if (!s->profile_steps) return GR_OK;
  int n =
      sscanf(s->profile_steps, "%" SCNd64 ":%" SCNd64 "%c", &s->trace_first, &s->trace_end, &rest);
  if (n == 2 && s->trace_first >= 0 && s->trace_first < s->trace_end) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(c, "profile.steps")->loc,
                         "profile.steps: expected FIRST:END, found '%s'", s->profile_steps),
                 "profile.steps=20:25 traces the steps 20 to 24; the first step of a run is 0");
}

// What does not depend on the number of ranks.
static gr_status derive(gr_arena *a, gr_conf *c, gr_settings *s) {
  gr_optimizer_settings *optimizer = &s->options.optimizer;
  GR_TRY(derive_hooks(a, c, &s->hooks));
  GR_TRY(read_gpu_ids(a, c, &s->ranks));
  GR_TRY(derive_traced_steps(c, &s->outputs));
  GR_TRY(check_freezable(&optimizer->freezable));
  GR_TRY(gr_batch_read(c, s));
  GR_TRY(gr_precision_read(a, c, &s->options.precision));
  GR_TRY(gr_other_names_read(a, c, &s->outputs));
  GR_TRY(gr_rungs_read(a, c, &s->loop));
  GR_TRY(gr_text_metrics_read(a, c, &s->loop));
  GR_TRY(gr_optimizer_read(a, c, optimizer));
  GR_TRY(gr_groups_read(a, c, s->loop.lr, optimizer));
  GR_TRY(gr_lora_read(a, c, optimizer));
  GR_TRY(gr_init_from_read(a, c, "model.init_from", &s->model.init_from, &s->model.n_init_from));
  return gr_teacher_read(a, c, s);
}

gr_status gr_settings_read(gr_arena *a, gr_conf *c, int ranks, gr_settings *s) {
  *s = (gr_settings){0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    GR_TRY(read_row(a, c, &rows[i], (char *)s));
  GR_TRY(derive(a, c, s));
  gr_sharding_settings *sharding = &s->options.sharding;
  s->ranks.n = s->ranks.enabled ? (int)s->ranks.ranks : 1;
  GR_TRY(gr_sharding_read(a, c, s->ranks.enabled, ranks ? ranks : s->ranks.n, sharding));
  if (gr_conf_find(c, "distributed.mesh")->kind == GR_CONF_MAP) s->ranks.n = sharding->ranks;
  int parts = ranks ? sharding->data_ranks : 1;
  derive_ranks(ranks, &s->ranks);
  derive_lr(parts, &s->loop);
  return derive_batch(c, parts, ranks ? sharding->shards_each : 0, &s->options.batch);
}
