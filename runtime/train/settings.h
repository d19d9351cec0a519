// settings.h - the settings of a run's parts: the fields of their keys, which are rows of
// compose/schema/schema.def, and what is derived from them (job/settings.h). Read once, before any
// rank starts.
#pragma once
#include "base/rename.h"
#include "compiler/options.h"
#include "compose/schema/fields.h"
#include "runtime/hooks/hooks.h"
#include "runtime/report/other_names.h"
#include "runtime/text/text.h"

struct gr_conf;
// A number, string or bool of the configuration as a parameter; false: it is none of these.
bool gr_param_of(const char *key, const struct gr_conf *, gr_param *out);  // rank/hparams.c

// An entry of model.init_from: weights that another run or program has written.
typedef struct gr_init_entry {
  const char *path;
  gr_loc loc;
  gr_pattern *rename, *allow_missing, *allow_unused;
  int n_rename, n_allow_missing, n_allow_unused;
  bool ignores_unused;                  // model.init_from is a path
  const struct gr_tensor_slice *given;  // n_given tensors that are here already: no file is read
  int n_given;
  bool shares_names;  // rename is a file of names, of which a model may lack some
} gr_init_entry;

typedef struct gr_model_settings {
#define GR_PART model
#include "compose/schema/fields.def"
  gr_init_entry *init_from;  // model.init_from, in order
  int n_init_from;
  gr_init_entry *teacher_init_from;  // model.teacher.init_from
  int n_teacher_init_from;
} gr_model_settings;

// The run ends after the first evaluation at or after so many epochs if the metric is worse.
typedef struct gr_rung {
  int64_t epochs;
  double value;
} gr_rung;

typedef struct gr_loop_settings {
#define GR_PART loop
#include "compose/schema/fields.def"
  double scaled_lr;  // lr for the global batch, by lr_scale
  gr_rung *rungs;    // training.stop_unless
  int n_rungs;
  gr_text_metric_spec *text_metrics;  // training.text_metrics
  int n_text_metrics;
} gr_loop_settings;

typedef struct gr_ranks_settings {
#define GR_PART ranks
#include "compose/schema/fields.def"
  int n;                    // by the keys and the mesh; 0: not known yet
  int threads_each;         // of a rank
  int *gpu_ids, n_gpu_ids;  // distributed.gpu_ids; none: it is null
} gr_ranks_settings;

typedef struct gr_comm_settings {
#define GR_PART comm
#include "compose/schema/fields.def"
} gr_comm_settings;

typedef struct gr_saving_settings {
#define GR_PART saving
#include "compose/schema/fields.def"
} gr_saving_settings;

typedef struct gr_outputs_settings {
#define GR_PART outputs
#include "compose/schema/fields.def"
  int64_t trace_first, trace_end;     // profile.steps: these are traced, the second excluded
  gr_other_names tags, result_names;  // logging.tags, logging.results
} gr_outputs_settings;

typedef struct gr_hooks_settings {
#define GR_PART hooks
#include "compose/schema/fields.def"
  gr_hook_script *scripts;  // of the paths
  gr_param *params;         // hooks_params
  int n_params;
} gr_hooks_settings;

typedef struct gr_settings {
  gr_options options;  // of the compiler
  gr_model_settings model;
  gr_loop_settings loop;
  gr_ranks_settings ranks;
  gr_comm_settings comm;
  gr_saving_settings saving;
  gr_outputs_settings outputs;
  gr_hooks_settings hooks;
} gr_settings;

// The learning rate of a step, from 0, before hooks change it. Linear warm-up: the first step has
// 1/warmup_steps of the learning rate, not 0.
static inline double gr_base_lr(const gr_loop_settings *s, int64_t step) {
  double warmup = (double)s->warmup_steps;
  return s->scaled_lr * (step < s->warmup_steps ? (double)(step + 1) / warmup : 1);
}
