// kept.h - the configuration that a run keeps in its folder, for commands that use a run's weights.
#pragma once
#include "compose/tree/conf.h"
#include "job/args.h"
#include "runtime/checkpoint/checkpoint.h"

// Folders above that of a configuration in which its input files are searched, too.
enum { GR_FOLDERS_ABOVE = 2 };

typedef struct gr_kept_run {
  const char *dir;                         // the run's folder
  const char *config;                      // its .hydra/config.yaml
  const char *model;                       // its copy of the model's file, or NULL
  const char *tokenizer;                   // its copy of the tokenizer's file, or NULL
  const char *dirs[2 + GR_FOLDERS_ABOVE];  // where the run searched its input files, in order
  int n_dirs;
} gr_kept_run;

// Finds the files of a run in its folder. GR_ERR_USAGE if `dir` is NULL, GR_ERR_CONFIG if it is not
// the folder of a run. All in the arena.
GR_MUST_USE gr_status gr_kept_find(gr_arena *, const char *dir, gr_kept_run *out);

// Changes a run's composed configuration into one for using its weights: without hooks and initial
// weights, unless arguments give them. inputs: also without the files of samples, because others
// take their place.
void gr_kept_adjust(gr_arena *, const gr_kept_run *, bool inputs, gr_conf *conf);
// Warns of arguments that say how a model is trained, where nothing is.
void gr_kept_warn(const gr_kept_run *, gr_conf *conf);
// The same into one that traces nothing and has the run's own copies of the model and the
// tokenizer. no_ema: without averages of the weights, so that the trained ones are used.
void gr_kept_use_files(gr_arena *, const gr_kept_run *, bool no_ema, gr_conf *conf);

// Opens a checkpoint by what a user names: a run's folder, a folder of checkpoints, or one
// checkpoint. which: as gr_run_find_checkpoint, NULL: the best. GR_ERR_CHECKPOINT, GR_ERR_CONFIG.
GR_MUST_USE gr_status gr_kept_checkpoint(gr_arena *, const char *path, const char *which,
                                         gr_checkpoint **out);
