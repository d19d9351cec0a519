// settings.h - what a run reads of its configuration, read once, before any rank starts.
//
// Defaults are the schema's (compose/schema/schema.def): by now every key is there.
#pragma once
#include "runtime/hooks/hooks.h"

typedef struct gr_settings {
  int batch;                // rows of the global batch
  int rows, micro_batches;  // of a rank in a micro-step, and micro-steps of a step
  double lr, base;          // after and before lr_scale
  int64_t batch_size, accumulate, warmup, max_epochs, max_steps, log_every, eval_every, seed, ranks;
  int threads;
  bool final_train_eval, progress, events, lines, enabled, mixed_precision;
  int64_t show_samples;
  const char *batch_is, *lr_scale, *loss_norm, *precision, *strategy, *sharding, *state_dict,
      *prefetch, *backend, *optimizer;
  double clip, timeout;
  const void *optimizer_attr;  // of its op
  const char *dir;                                // output.dir, or NULL
  const char *ckpt_dir, *resume, *metric, *mode;  // ckpt_dir NULL: in dir
  int64_t every_steps, every_epochs, keep_last, keep_best, zstd_level;
  const char **freeze;
  gr_loc *freeze_loc;
  int n_freeze;
  struct gr_wrap *wrap;  // (compiler/pass.h) of distributed.fsdp.wrap; NULL: it is null
  int n_wrap;
  gr_hook_script *hooks;
  int n_hooks;
  gr_param *hook_params;
  int n_hook_params;
  double hook_seconds;
  const char *graph, *init_from;  // the model's file; weights, or NULL
  gr_loc init_loc;
  const char *log_level;
} gr_settings;
