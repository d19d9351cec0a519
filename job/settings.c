// settings.c - see settings.h.
#include "job/settings.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "compiler/pass.h"
#include "compose/schema/schema.h"
#include "job/groups.h"
#include "job/init_from.h"
#include "job/optimizer.h"
#include "job/other_names.h"
#include "job/precision.h"
#include "runtime/device/device.h"

#define GPU "gpu"  // another name of cuda

void gr_settings_register(void) {
  enum { MOST = 16 };
  static const char *words[MOST + 2] = {"auto", GPU};
  int n = 2;
  for (const gr_device_ops *const *d = gr_devices; *d && n < MOST; d++) words[n++] = (*d)->name;
  gr_schema_set_words("device", words);
}

typedef enum kind { INT, FLOAT, BOOL, TEXT, WORD } kind;

#define QUOTED(...) \
  (const char *const[]) { GR_EACH_WORD(GR_WORD_QUOTED, 0, __VA_ARGS__) NULL }
static const struct row {
  const char *path;
  kind kind;
  size_t offset;
  const char *const *words;  // of an enum, NULL-terminated
  size_t text;               // offset of the field for any other string, or 0
} rows[] = {
#define GR_SETTING(kind, field, path, ...) {path, kind, offsetof(gr_settings, field), NULL, 0},
#define GR_WORDS(field, path, default_value, unit, doc, ...) \
  {path, WORD, offsetof(gr_settings, field), QUOTED(__VA_ARGS__), 0},
#define GR_WORDS_OR(field, path, type, default_value, unit, doc, ...) \
  {path, WORD, offsetof(gr_settings, field), QUOTED(__VA_ARGS__),     \
   offsetof(gr_settings, field##_text)},
#include "compose/schema/schema.def"
};

static gr_status read_word(gr_conf *c, const struct row *r, char *base) {
  int at = 0;  // an enum's constants are its words, in order; the last one is any other string
  const char *text;
  _Static_assert(sizeof(gr_strategy) == sizeof at, "enums are ints");
  GR_TRY(gr_conf_text(c, r->path, "", &text));
  while (r->words[at] && strcmp(r->words[at], text)) at++;
  if (!r->words[at] && !r->text)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%s has no word '%s'", r->path, text);
  memcpy(base + r->offset, &at, sizeof at);
  if (r->text) memcpy(base + r->text, &text, sizeof text);
  return GR_OK;
}

// Words such as auto become 0.
static gr_status read_int(gr_conf *c, const struct row *r, int64_t *at) {
  gr_conf *v = gr_conf_find(c, r->path);
  *at = 0;
  return v->kind == GR_CONF_TEXT ? GR_OK : gr_conf_int(c, r->path, 0, at);
}

static gr_status read_row(gr_conf *c, const struct row *r, char *base) {
  void *at = base + r->offset;
  switch (r->kind) {
    case INT:
      return read_int(c, r, at);
    case FLOAT:
      return gr_conf_float(c, r->path, 0, at);
    case BOOL:
      return gr_conf_bool(c, r->path, false, at);
    case TEXT:
      return gr_conf_text(c, r->path, NULL, at);
    case WORD:
      return read_word(c, r, base);
  }
  return GR_OK;
}

// Reads a list of strings, such as files or patterns.
static gr_status read_texts(gr_arena *a, gr_conf *c, const char *path, const char *what,
                            const char ***out, gr_loc **locs, int *n) {
  gr_conf *list = gr_conf_find(c, path);
  *n = 0;
  if (!list || list->kind != GR_CONF_LIST) return GR_OK;
  *out = GR_NEW(a, const char *, list->n + 1);
  *locs = GR_NEW(a, gr_loc, list->n + 1);
  for (int i = 0; i < list->n; i++) {
    gr_conf *item = list->items[i];
    item->read = true;
    if (item->kind != GR_CONF_TEXT)
      return gr_fail(GR_ERR_CONFIG, item->loc, "%s: %s must be a string, found a %s", path, what,
                     gr_conf_kind_name(item->kind));
    (*locs)[*n] = item->loc;
    (*out)[(*n)++] = item->text;
  }
  return GR_OK;
}

// Scalars of hooks_params become ctx.params; nested values are an error.
static gr_status read_params(gr_arena *a, gr_conf *c, gr_param **out, int *n) {
  gr_conf *map = gr_conf_find(c, "hooks_params");
  *n = 0;
  if (!map || map->kind != GR_CONF_MAP) return GR_OK;
  *out = GR_NEW(a, gr_param, map->n + 1);
  for (int i = 0; i < map->n; i++) {
    gr_conf *v = map->items[i];
    gr_param *p = &(*out)[(*n)++];
    v->read = true;
    *p = (gr_param){.key = map->keys[i], .from = v->loc};
    if (v->kind == GR_CONF_INT)
      p->kind = GR_PARAM_INT, p->i = v->integer;
    else if (v->kind == GR_CONF_FLOAT)
      p->kind = GR_PARAM_FLOAT, p->f = v->number;
    else if (v->kind == GR_CONF_BOOL)
      p->kind = GR_PARAM_BOOL, p->i = v->truth;
    else if (v->kind == GR_CONF_TEXT)
      p->kind = GR_PARAM_TEXT, p->text = v->text;
    else
      return gr_fail(GR_ERR_CONFIG, v->loc,
                     "hooks_params.%s: scripts take numbers, strings and bools, found a %s",
                     map->keys[i], gr_conf_kind_name(v->kind));
  }
  return GR_OK;
}

static gr_status read_hooks(gr_arena *a, gr_conf *c, gr_settings *s) {
  const char **paths;
  gr_loc *locs;
  GR_TRY(read_params(a, c, &s->hook_params, &s->n_hook_params));
  GR_TRY(read_texts(a, c, "hooks", "the path of a Lua file", &paths, &locs, &s->n_hooks));
  s->hooks = GR_NEW(a, gr_hook_script, s->n_hooks + 1);
  for (int i = 0; i < s->n_hooks; i++)
    s->hooks[i] = (gr_hook_script){paths[i], locs[i], s->hook_params, s->n_hook_params};
  return GR_OK;
}

// One string may contain several patterns, "A, B", as in Hugging Face configurations.
static gr_status read_wrap(gr_arena *a, gr_conf *c, gr_settings *s) {
  static const char path[] = "distributed.fsdp.wrap";
  gr_conf *at = gr_conf_find(c, path);
  const char **texts = NULL;
  int n = 0;
  if (!at || at->kind == GR_CONF_NULL) return GR_OK;
  gr_conf one = {.kind = GR_CONF_LIST, .n = 1, .items = (gr_conf *[]){at}};
  gr_loc *locs = NULL;
  if (at->kind == GR_CONF_LIST)
    GR_TRY(read_texts(a, c, path, "a pattern of blocks or weights", &texts, &locs, &n));
  if (at->kind != GR_CONF_LIST) texts = &one.items[0]->text, locs = &at->loc, n = 1;
  size_t most = 1;
  for (int i = 0; i < n; i++) most += strlen(texts[i]);
  s->wrap = GR_NEW(a, gr_wrap, most);
  for (int i = 0; i < n; i++)
    for (const char *p = texts[i]; *(p += strspn(p, ", "));) {
      size_t len = strcspn(p, ", ");
      s->wrap[s->n_wrap++] = (gr_wrap){gr_arena_strndup(a, p, len), locs[i]};
      p += len;
    }
  return GR_OK;
}

enum { MAX_ROWS = 1000000000 };  // of a batch over all ranks; rounded up it is still an int

// A rank's rows of a batch, in the smallest equal micro-steps; the last may not be full.
static gr_status share_batch(const gr_conf *at, gr_settings *s, int ranks) {
  bool per_rank = s->batch_is == gr_batch_is_per_rank;
  int64_t batch = s->batch_size * (per_rank ? ranks : 1);
  if (batch > MAX_ROWS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, at->loc,
                           "%lld samples on each of %d ranks are %lld, more than the limit of %d "
                           "for a batch",
                           (long long)s->batch_size, ranks, (long long)batch, MAX_ROWS),
                   "training.batch_is=global divides training.batch_size over the ranks");
  int64_t of_rank = (batch + ranks - 1) / ranks;
  int64_t parts = s->accumulate < of_rank ? s->accumulate : of_rank;
  s->batch = (int)batch;
  s->rows = (int)((of_rank + parts - 1) / parts);
  s->micro_batches = (int)((of_rank + s->rows - 1) / s->rows);
  return GR_OK;
}

// Two ranks of a machine on one GPU would halve its memory for each, and NCCL refuses it.
static gr_status read_gpu_ids(gr_arena *a, gr_conf *c, gr_settings *s) {
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

static gr_status read_freezable(gr_arena *a, gr_conf *c, gr_settings *s) {
  GR_TRY(read_texts(a, c, "training.freezable", "a pattern of weight names", &s->freezable,
                    &s->freezable_loc, &s->n_freezable));
  if (s->n_freezable <= GR_MAX_FREEZABLE) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, s->freezable_loc[GR_MAX_FREEZABLE],
              "training.freezable has %d patterns, more than %d", s->n_freezable, GR_MAX_FREEZABLE),
      "the plan has programs for every combination of what may be frozen");
}

static gr_status read_ema_decay(gr_conf *c, gr_settings *s) {
  const gr_conf *at = gr_conf_find(c, "training.ema_decay");
  s->ema_decay = -1;
  return !at || at->kind == GR_CONF_NULL
             ? GR_OK
             : gr_conf_float(c, "training.ema_decay", -1, &s->ema_decay);
}

static gr_status read_traced_steps(gr_conf *c, gr_settings *s) {
  char rest;
  if (!s->profile_steps) return GR_OK;
  int n =
      sscanf(s->profile_steps, "%" SCNd64 ":%" SCNd64 "%c", &s->trace_first, &s->trace_end, &rest);
  if (n == 2 && s->trace_first >= 0 && s->trace_first < s->trace_end) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(c, "profile.steps")->loc,
                         "profile.steps: expected FIRST:END, found '%s'", s->profile_steps),
                 "profile.steps=20:25 traces the steps 20 to 24; the first step of a run is 0");
}

gr_status gr_settings_read(gr_arena *a, gr_conf *c, int ranks, int data_ranks, gr_settings *s) {
  *s = (gr_settings){0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) GR_TRY(read_row(c, &rows[i], (char *)s));
  GR_TRY(read_texts(a, c, "model.freeze", "a pattern of weight names", &s->freeze, &s->freeze_loc,
                    &s->n_freeze));
  GR_TRY(read_wrap(a, c, s));
  GR_TRY(read_hooks(a, c, s));
  GR_TRY(read_gpu_ids(a, c, s));
  GR_TRY(read_traced_steps(c, s));
  GR_TRY(read_ema_decay(c, s));
  GR_TRY(read_freezable(a, c, s));
  GR_TRY(gr_precision_read(a, c, s));
  GR_TRY(gr_other_names_read(a, c, s));
  GR_TRY(gr_optimizer_read(a, c, &s->optimizer_attr, &s->unread));
  GR_TRY(gr_groups_read(a, c, s));
  GR_TRY(gr_init_from_read(a, c, s));
  if (s->device && !strcmp(s->device, GPU)) s->device = "cuda";
  if (!s->enabled) s->ranks = 1;
  int n = data_ranks ? data_ranks : 1, share = gr_processors() / (ranks ? ranks : 1);
  s->threads = s->given_threads ? (int)s->given_threads : share > 1 ? share : 1;
  GR_TRY(share_batch(gr_conf_find(c, "training.batch_size"), s, n));
  double scale[] = {[gr_lr_scale_none] = 1, [gr_lr_scale_linear] = n, [gr_lr_scale_sqrt] = sqrt(n)};
  s->lr = s->base_lr * scale[s->lr_scale];
  return GR_OK;
}

// ---- What a device does otherwise --------------------------------------------------------------

int gr_settings_differences(const gr_settings *s, int devices, const char *out[GR_DIFFERENCES]) {
  int n = 0;
  if (s->unread) out[n++] = s->unread;
  if (devices) return n;
  if (s->backend == gr_backend_nccl && s->enabled)
    out[n++] = "distributed.backend is nccl, but there is no GPU here: ranks compute on CPUs";
  if (s->mixed_precision && s->precision == gr_precision_fp32)
    out[n++] =
        "training.mixed_precision is asked for: on CPUs that is fp32; training.precision=bf16 says "
        "otherwise";
  if (s->precision == gr_precision_tf32)
    out[n++] = "training.precision=tf32 is fp32 on CPUs, which have no tf32";
  return n;
}
