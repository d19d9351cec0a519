// settings.h - what a run reads of its configuration, read once, before any rank starts.
//
// Most fields come from the rows of compose/schema/schema.def, which say what they mean and hold
// the defaults: by now every key is there. A key that takes words has an enum, whose constants are
// spelt as the words are: gr_strategy_fsdp, of distributed.strategy=fsdp.
#pragma once
#include "runtime/hooks/hooks.h"

#define GR_WORD_CONSTANT(field, word) gr_##field##_##word,
#define GR_WORDS(field, path, default_value, unit, doc, ...) \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__)} gr_##field;
#define GR_WORDS_OR(field, path, type, default_value, unit, doc, ...)        \
  typedef enum gr_##field{GR_EACH_WORD(GR_WORD_CONSTANT, field, __VA_ARGS__) \
                              gr_##field##_text} gr_##field;
#include "compose/schema/schema.def"

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

  // What follows from several keys, or is more than a number or a text.
  int batch;                   // rows of the global batch
  int rows, micro_batches;     // of a rank in a micro-step, and micro-steps of a step
  double lr;                   // base_lr, scaled
  int threads;                 // of a rank
  const void *optimizer_attr;  // of its op
  const char **freeze;
  gr_loc *freeze_loc;
  int n_freeze;
  struct gr_wrap *wrap;  // (compiler/pass.h) of distributed.fsdp.wrap; NULL: it is null
  int n_wrap;
  gr_hook_script *hooks;
  int n_hooks;
  gr_param *hook_params;
  int n_hook_params;
  gr_loc init_loc;  // of model.init_from
} gr_settings;
