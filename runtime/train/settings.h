// settings.h - the values of configuration keys that a run uses, read once before any rank starts.
//
// Most fields are generated from the rows of compose/schema/schema.def, which document them and
// hold their defaults; the schema has filled in missing keys before they are read. A key with a
// fixed set of words has an enum whose constants end in the words: gr_strategy_fsdp for
// distributed.strategy=fsdp.
#pragma once
#include "runtime/hooks/hooks.h"
#include "runtime/report/other_names.h"

#define GR_WORD_CONSTANT(field, word) gr_##field##_##word,
#define GR_WORDS(field, path, default_value, unit, doc, ...) \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__)} gr_##field;
#define GR_WORDS_OR(field, path, type, default_value, unit, doc, ...)        \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__) \
                              gr_##field##_text} gr_##field;
#include "compose/schema/schema.def"

// A pattern of names, and what the `*` of the new name stand for: what those of `from` match.
typedef struct gr_pattern {
  const char *text;
  const char *to;  // of a rename; NULL: tensors of that name are left out
  gr_loc loc;
} gr_pattern;
// An entry of model.init_from: weights that another run or program has written.
typedef struct gr_init_entry {
  const char *from;
  gr_loc loc;
  gr_pattern *rename, *allow_missing, *allow_unused;
  int n_rename, n_allow_missing, n_allow_unused;
  bool ignores_unused;  // model.init_from is a path
} gr_init_entry;

#define GR_SETTING_INT int64_t
#define GR_SETTING_FLOAT double
#define GR_SETTING_BOOL bool
#define GR_SETTING_TEXT const char *
typedef struct gr_settings {
#define GR_SETTING(kind, field, ...) GR_SETTING_##kind field;
#define GR_WORDS(field, ...) gr_##field field;
#define GR_WORDS_OR(field, ...) \
  gr_##field field;             \
  const char *field##_text;
#include "compose/schema/schema.def"

  // Fields that follow from several keys, or are not one number or string.
  int batch;                      // rows of the global batch
  int rows, micro_batches;        // rows of a rank in a micro-batch; micro-batches of a step
  double lr;                      // base_lr, scaled to the global batch if that is configured
  int threads;                    // of a rank
  int *gpu_ids, n_gpu_ids;        // distributed.gpu_ids; none: it is null
  const void *optimizer_attr;     // attributes of the optimizer's op
  const void *optimizer_attr_1d;  // the same for weights of at most one dimension; NULL: no other
  double ema_decay;               // training.ema_decay; < 0: there are no averages
  struct gr_param_group *groups;  // (compiler/pass.h) of training.groups
  int n_groups;
  const char *unread;  // which keys are for other optimizers, as a sentence; or NULL
  const char **freeze;
  gr_loc *freeze_loc;
  int n_freeze;
  const char **freezable;  // training.freezable
  gr_loc *freezable_loc;
  int n_freezable;
  struct gr_wrap *wrap;  // distributed.fsdp.wrap (compiler/pass.h); NULL: it is null
  int n_wrap;
  struct gr_precision_rule *precision_rules;  // (compiler/pass.h) of training.precision_rules
  int n_precision_rules;
  gr_hook_script *hooks;
  int n_hooks;
  gr_param *hook_params;
  int n_hook_params;
  int64_t trace_first, trace_end;  // profile.steps: these steps are traced, the second excluded
  gr_init_entry *init_from;        // model.init_from, in order
  int n_init_from;
  gr_other_names tags, result_names;  // logging.tags, logging.results
} gr_settings;

// The learning rate of a step, from 0, before hooks change it. Linear warm-up: the first step has
// 1/warmup of the learning rate, not 0.
static inline double gr_settings_base_lr(const gr_settings *s, int64_t step) {
  return s->lr * (step < s->warmup ? (double)(step + 1) / (double)s->warmup : 1);
}
