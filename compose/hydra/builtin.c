// builtin.c - see builtin.h. Logging, launchers and help texts belong to Hydra's Python code and
// are empty here; their groups exist so that choosing an option is not an error.
#include "compose/hydra/builtin.h"
#include <stddef.h>
#include <string.h>

static const char hydra_config[] =
    "defaults:\n"
    "- output: default\n"
    "- launcher: basic\n"
    "- sweeper: basic\n"
    "- help: default\n"
    "- hydra_help: default\n"
    "- hydra_logging: default\n"
    "- job_logging: default\n"
    "- callbacks: null\n"
    "- env: default\n"
    "- _self_\n"
    "mode: null\n"
    "searchpath: []\n"
    "run: {dir: \"outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}\"}\n"
    "sweep:\n"
    "  dir: \"multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}\"\n"
    "  subdir: \"${hydra.job.num}\"\n"
    "hydra_logging: {}\n"
    "job_logging: {}\n"
    "sweeper: {max_batch_size: null, params: null}\n"
    "launcher: {}\n"
    "callbacks: {}\n"
    "help: {app_name: \"${hydra.job.name}\", header: \"\", footer: \"\", template: \"\"}\n"
    "hydra_help: {template: \"\", hydra_help: \"???\"}\n"
    "output_subdir: .hydra\n"
    "overrides: {hydra: [], task: []}\n"
    "job:\n"
    "  name: \"???\"\n"
    "  chdir: null\n"
    "  override_dirname: \"???\"\n"
    "  id: \"???\"\n"
    "  num: \"???\"\n"
    "  config_name: \"???\"\n"
    "  env_set: {}\n"
    "  env_copy: []\n"
    "  config: {override_dirname: {kv_sep: \"=\", item_sep: \",\", exclude_keys: []}}\n"
    "runtime:\n"
    "  version: \"???\"\n"
    "  version_base: \"???\"\n"
    "  cwd: \"???\"\n"
    "  config_sources: \"???\"\n"
    "  output_dir: \"???\"\n"
    "  choices: {}\n"
    "verbose: false\n";

// A sweeper that searches, with the names of Hydra's plugin for Optuna. Direction null: that of
// checkpoint.mode.
static const char sweeper_optuna[] =
    "defaults:\n"
    "- sampler: tpe\n"
    "- pruner: none\n"
    "- _self_\n"
    "_target_: hydra_plugins.hydra_optuna_sweeper.optuna_sweeper.OptunaSweeper\n"
    "direction: null\n"
    "storage: null\n"
    "study_name: null\n"
    "n_trials: 20\n"
    "n_jobs: null\n"
    "max_failure_rate: null\n"
    "custom_search_space: null\n"
    "params: null\n";

static const char sampler_tpe[] =
    "_target_: optuna.samplers.TPESampler\n"
    "seed: null\n"
    "consider_prior: true\n"
    "prior_weight: 1.0\n"
    "consider_magic_clip: true\n"
    "consider_endpoints: false\n"
    "n_startup_trials: 10\n"
    "n_ei_candidates: 24\n"
    "multivariate: false\n"
    "warn_independent_sampling: true\n";

static const char sampler_random[] = "_target_: optuna.samplers.RandomSampler\nseed: null\n";
static const char sampler_grid[] = "_target_: optuna.samplers.GridSampler\n";

// The plugin has no pruner; the names are those of Optuna.
static const char pruner_successive_halving[] =
    "_target_: optuna.pruners.SuccessiveHalvingPruner\n"
    "min_resource: 1\n"
    "reduction_factor: 4\n"
    "min_early_stopping_rate: 0\n";

static const char nothing[] = "# @package _global_\n";

static const struct {
  const char *path, *text;
} files[] = {
    {"hydra/config", hydra_config},
    {"hydra/env/default", nothing},
    {"hydra/help/default", nothing},
    {"hydra/hydra_help/default", nothing},
    {"hydra/hydra_logging/default", nothing},
    {"hydra/hydra_logging/disabled", nothing},
    {"hydra/hydra_logging/hydra_debug", nothing},
    {"hydra/hydra_logging/none", nothing},
    {"hydra/job_logging/default", nothing},
    {"hydra/job_logging/disabled", nothing},
    {"hydra/job_logging/none", nothing},
    {"hydra/job_logging/stdout", nothing},
    {"hydra/launcher/basic", nothing},
    {"hydra/output/default", nothing},
    {"hydra/sweeper/basic", nothing},
    {"hydra/sweeper/optuna", sweeper_optuna},
    {"hydra/sweeper/pruner/none", nothing},
    {"hydra/sweeper/pruner/successive_halving", pruner_successive_halving},
    {"hydra/sweeper/sampler/grid", sampler_grid},
    {"hydra/sweeper/sampler/random", sampler_random},
    {"hydra/sweeper/sampler/tpe", sampler_tpe},
};
enum { N_FILES = sizeof files / sizeof *files };

const char *gr_builtin_text(const char *path) {
  for (int i = 0; i < N_FILES; i++)
    if (!strcmp(files[i].path, path)) return files[i].text;
  return NULL;
}

const char *gr_builtin_path(int i) { return i < N_FILES ? files[i].path : NULL; }

bool gr_builtin_group(const char *group) {
  size_t n = strlen(group);
  for (int i = 0; i < N_FILES; i++)
    if (!strncmp(files[i].path, group, n) && files[i].path[n] == '/') return true;
  return false;
}
