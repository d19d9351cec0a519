// settings.c - see settings.h.
#include "cli/settings.h"
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "cli/optimizer.h"
#include "compiler/pass.h"

typedef enum kind { INT, FLOAT, BOOL, TEXT } kind;

static const struct row {
  const char *path;
  kind kind;
  size_t offset;
} rows[] = {
    {"model.graph", TEXT, offsetof(gr_settings, graph)},
    {"model.init_from", TEXT, offsetof(gr_settings, init_from)},
    {"training.batch_size", INT, offsetof(gr_settings, batch_size)},
    {"training.batch_is", TEXT, offsetof(gr_settings, batch_is)},
    {"training.accumulate", INT, offsetof(gr_settings, accumulate)},
    {"training.lr", FLOAT, offsetof(gr_settings, base)},
    {"training.lr_scale", TEXT, offsetof(gr_settings, lr_scale)},
    {"training.loss_norm", TEXT, offsetof(gr_settings, loss_norm)},
    {"training.warmup_steps", INT, offsetof(gr_settings, warmup)},
    {"training.max_epochs", INT, offsetof(gr_settings, max_epochs)},
    {"training.max_steps", INT, offsetof(gr_settings, max_steps)},
    {"training.log_every", INT, offsetof(gr_settings, log_every)},
    {"training.eval_every", INT, offsetof(gr_settings, eval_every)},
    {"training.final_train_eval", BOOL, offsetof(gr_settings, final_train_eval)},
    {"training.seed", INT, offsetof(gr_settings, seed)},
    {"training.mixed_precision", BOOL, offsetof(gr_settings, mixed_precision)},
    {"training.precision", TEXT, offsetof(gr_settings, precision)},
    {"training.optimizer", TEXT, offsetof(gr_settings, optimizer)},
    {"training.grad_clip", FLOAT, offsetof(gr_settings, clip)},
    {"distributed.enabled", BOOL, offsetof(gr_settings, enabled)},
    {"distributed.strategy", TEXT, offsetof(gr_settings, strategy)},
    {"distributed.fsdp.sharding_strategy", TEXT, offsetof(gr_settings, sharding)},
    {"distributed.fsdp.state_dict_type", TEXT, offsetof(gr_settings, state_dict)},
    {"distributed.fsdp.backward_prefetch", TEXT, offsetof(gr_settings, prefetch)},
    {"distributed.backend", TEXT, offsetof(gr_settings, backend)},
    {"distributed.timeout", FLOAT, offsetof(gr_settings, timeout)},
    {"hooks_seconds", FLOAT, offsetof(gr_settings, hook_seconds)},
    {"output.dir", TEXT, offsetof(gr_settings, dir)},
    {"logging.progress", BOOL, offsetof(gr_settings, progress)},
    {"logging.tensorboard", BOOL, offsetof(gr_settings, events)},
    {"logging.jsonl", BOOL, offsetof(gr_settings, lines)},
    {"logging.level", TEXT, offsetof(gr_settings, log_level)},
    {"logging.show_samples", INT, offsetof(gr_settings, show_samples)},
    {"checkpoint.dir", TEXT, offsetof(gr_settings, ckpt_dir)},
    {"checkpoint.resume", TEXT, offsetof(gr_settings, resume)},
    {"checkpoint.metric", TEXT, offsetof(gr_settings, metric)},
    {"checkpoint.mode", TEXT, offsetof(gr_settings, mode)},
    {"checkpoint.every_steps", INT, offsetof(gr_settings, every_steps)},
    {"checkpoint.every_epochs", INT, offsetof(gr_settings, every_epochs)},
    {"checkpoint.keep_last", INT, offsetof(gr_settings, keep_last)},
    {"checkpoint.keep_best", INT, offsetof(gr_settings, keep_best)},
    {"checkpoint.level", INT, offsetof(gr_settings, zstd_level)},
};

static gr_status read_row(gr_conf *c, const struct row *r, char *base) {
  void *at = base + r->offset;
  if (!gr_conf_find(c, r->path))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the schema has no key %s", r->path);
  switch (r->kind) {
    case INT:
      return gr_conf_int(c, r->path, 0, at);
    case FLOAT:
      return gr_conf_float(c, r->path, 0, at);
    case BOOL:
      return gr_conf_bool(c, r->path, false, at);
    case TEXT:
      return gr_conf_text(c, r->path, NULL, at);
  }
  return GR_OK;
}

// A list of texts, such as files or patterns.
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
      return gr_fail(GR_ERR_CONFIG, item->loc, "%s: %s is text, not a %s", path, what,
                     gr_conf_kind_name(item->kind));
    (*locs)[*n] = item->loc;
    (*out)[(*n)++] = item->text;
  }
  return GR_OK;
}

// Scalars of hooks_params become ctx.params; anything deeper is an error that says so.
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
                     "hooks_params.%s: scripts take numbers, texts and truths, not a %s",
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

// One text may hold several patterns, "A, B", as Hugging Face has it.
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

static int64_t int_or_auto(gr_conf *c, const char *path) {
  gr_conf *v = gr_conf_find(c, path);
  return v && v->kind == GR_CONF_INT ? v->integer : 0;
}

// Other names, first those of Hugging Face's trainer. Where one is given it overrides.
static const char *const other_names[][2] = {
    {"data.kind", "data.source"},
    {"training.num_workers", "data.workers"},
    {"training.distributed_strategy", "distributed.strategy"},
    {"training.ddp_backend", "distributed.backend"},
    {"training.ddp_find_unused_parameters", "distributed.find_unused_parameters"},
    {"training.fsdp_config.fsdp_sharding_strategy", "distributed.fsdp.sharding_strategy"},
    {"training.fsdp_config.fsdp_transformer_layer_cls_to_wrap", "distributed.fsdp.wrap"},
    {"training.fsdp_config.fsdp_backward_prefetch", "distributed.fsdp.backward_prefetch"},
    {"training.fsdp_config.fsdp_state_dict_type", "distributed.fsdp.state_dict_type"},
    {"training.fsdp_config.fsdp_offload_params", "distributed.fsdp.offload_params"},
    {"distributed.fsdp.transformer_layer_cls_to_wrap", "distributed.fsdp.wrap"},
};

static void rename_one(gr_conf *c, const char *from_path, const char *to_path) {
  gr_conf *from = gr_conf_find(c, from_path), *to = gr_conf_find(c, to_path);
  if (!from || !to || from->kind == GR_CONF_NULL) return;
  gr_conf was = *to;
  *to = *from;
  to->key_loc = was.key_loc, to->up = was.up;
  for (int i = 0; i < to->n && to->items; i++) to->items[i]->up = to;
}

void gr_settings_rename(gr_conf *c) {
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
    rename_one(c, other_names[i][0], other_names[i][1]);
}

enum { MAX_ROWS = 1000000000 };  // of a batch over all ranks: an int, also rounded up to the ranks

// A rank's rows of a batch, in micro-steps of as few as can be; the last may not be full.
static gr_status share_batch(const gr_conf *at, gr_settings *s, int ranks) {
  bool per_rank = !strcmp(s->batch_is, "per_rank");
  int64_t batch = s->batch_size * (per_rank ? ranks : 1);
  if (batch > MAX_ROWS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, at->loc,
                           "%lld samples on each of %d ranks are %lld, more than the %d that a "
                           "batch can have",
                           (long long)s->batch_size, ranks, (long long)batch, MAX_ROWS),
                   "training.batch_is=global divides training.batch_size over the ranks");
  int64_t of_rank = (batch + ranks - 1) / ranks;
  int64_t parts = s->accumulate < of_rank ? s->accumulate : of_rank;
  s->batch = (int)batch;
  s->rows = (int)((of_rank + parts - 1) / parts);
  s->micro_batches = (int)((of_rank + s->rows - 1) / s->rows);
  return GR_OK;
}

gr_status gr_settings_read(gr_arena *a, gr_conf *c, int ranks, int data_ranks, gr_settings *s) {
  *s = (gr_settings){0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) GR_TRY(read_row(c, &rows[i], (char *)s));
  GR_TRY(read_texts(a, c, "model.freeze", "a pattern of weight names", &s->freeze, &s->freeze_loc,
                    &s->n_freeze));
  GR_TRY(read_wrap(a, c, s));
  GR_TRY(read_hooks(a, c, s));
  GR_TRY(gr_optimizer_read(a, c, &s->optimizer_attr));
  s->init_loc = gr_conf_find(c, "model.init_from")->loc;
  int64_t wanted = int_or_auto(c, "distributed.ranks");
  s->ranks = s->enabled ? wanted : 1;
  int n = data_ranks ? data_ranks : 1, share = gr_processors() / (ranks ? ranks : 1);
  int64_t threads = int_or_auto(c, "distributed.threads");
  s->threads = threads ? (int)threads : share > 1 ? share : 1;
  GR_TRY(share_batch(gr_conf_find(c, "training.batch_size"), s, n));
  s->lr = s->base * (!strcmp(s->lr_scale, "linear") ? n
                     : !strcmp(s->lr_scale, "sqrt") ? sqrt(n)
                                                    : 1);
  return GR_OK;
}

int gr_settings_differences(const gr_settings *s, const char *out[GR_DIFFERENCES]) {
  static const char *const precisions[][2] = {
      {"tf32", "tf32 is asked for, but CPU ranks compute in fp32"},
      {"bf16", "bf16 is asked for, but CPU ranks compute in fp32"},
      {"fp16", "fp16 is asked for, but CPU ranks compute in fp32"},
  };
  int n = 0;
  if (!strcmp(s->backend, "nccl") && s->enabled)
    out[n++] = "distributed.backend is nccl, but there is no GPU here: using MPI on CPUs";
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions && !s->mixed_precision; i++)
    if (!strcmp(s->precision, precisions[i][0])) out[n++] = precisions[i][1];
  if (s->mixed_precision)
    out[n++] = "training.mixed_precision is asked for, but CPU ranks compute in fp32";
  return n;
}
