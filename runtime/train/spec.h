// spec.h - everything a run needs, made from a configuration (job/job.h) before any rank
// starts: settings, plan, data set, device.
//
// Ranks that are threads share one spec. It is immutable while they run, except for the data set,
// which is thread-safe. The caller owns it and all it points to, in one arena.
#pragma once
#include "base/adjustable.h"
#include "compiler/plan/plan.h"
#include "compose/tree/conf.h"
#include "runtime/data/dataset.h"
#include "runtime/device/device.h"
#include "runtime/train/inputs.h"
#include "runtime/train/phases.h"
#include "runtime/train/settings.h"

// What the ranks do: train, or use the weights of a run's checkpoint.
typedef enum gr_run_kind { GR_RUN_TRAIN, GR_RUN_EVAL, GR_RUN_PREDICT } gr_run_kind;

typedef struct gr_words {
  const char **list;
  int n;
} gr_words;

// A replay is training that runs one step of a run's again, shows its values, and writes nothing to
// the run's folder.
typedef struct gr_replay_spec {
  int64_t step;                // counted from 1; 0: this is no replay
  gr_words print;              // patterns of names of values; none: all that is not printed
  const char *save, *against;  // folders of values, .npy: to write, to compare with; or NULL
  const char *tolerance;       // y and y +- tolerance x (1 + |y|) are the same; NULL: bits
} gr_replay_spec;

// Of every task but training, and of replays.
typedef struct gr_weights_spec {
  const char *run;    // the folder of the run
  const char *which;  // its checkpoint: "best", "last" or a step
  const char *out;    // the file of predictions; NULL: standard output
  int64_t tokens;     // that continue each sequence; 0: the model's predictions
  gr_replay_spec replay;
  bool train, validation, json;  // which splits are evaluated, together; results as JSON
} gr_weights_spec;

typedef struct gr_run_spec {
  gr_run_kind kind;
  gr_weights_spec weights;
  gr_settings set;
  const gr_device_ops *device;
  gr_plan *plan;
  gr_program_inputs *inputs;  // of the plan's programs, in their order
  gr_adjustable *adjust;      // n_adjust values that hooks may set
  int n_adjust;
  const char **programs;  // names of those that the run has: phases refer to these
  int n_programs;
  gr_phase loop;     // one pass through it is an epoch
  bool looped;       // it is `loop:` of the configuration, and not epochs of train
  gr_dataset *data;  // NULL: a plan alone is made, from the contract
  const gr_contract *contract;
  const int *batches;  // by bucket: chosen for training.batch_size.memory, and so counted; or NULL
  gr_conf *conf;       // the configuration, resolved and checked
  gr_conf *written;    // the same as it was composed, with its interpolations
  // The texts of .hydra/config.yaml, hydra.yaml and overrides.yaml; config_dir NULL: not written.
  const char *config_dir, *config_yaml, *hydra_yaml, *overrides_yaml;
  bool (*is_neutral)(const char *key);  // changes nothing that is computed; set with identity
  const char *identity;    // of this run (identity.h); NULL: not on this rank, or of no run
  const char *model_yaml;  // the text of the model's file, which the run's folder keeps
  const char *about_json;  // the program, the machine and the origins of values; or NULL
  const char *graph_def;   // the training program as a tensorflow.GraphDef
  size_t graph_def_bytes;
  const char *plan_json;            // the plan, as `graphrun plan --json` prints it; or NULL
  const char *plan_svg;             // its picture, as `graphrun plan --svg` draws it; or NULL
  const char *run_dir;              // hydra.run.dir; NULL: it is not set
  size_t launch_bytes, plan_bytes;  // memory that MPI_Init and compiling used, for the final report
  bool plain;                       // reference kernels only
  bool profile;                     // print the time by op at the end
} gr_run_spec;
