// train.c - `graphrun CONFIG.yaml`: trains, once or as a sweep.
#include <stddef.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/multirun.h"
#include "cli/start.h"

static bool has_word(int argc, char **argv, const char *word) {
  size_t n = strlen(word);
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], word, n) && (!argv[i][n] || argv[i][n] == '=')) return true;
  return false;
}

// Hydra's --cfg shows the configuration, and its -m is a sweep; neither starts ranks here.
static gr_status train_run(int argc, char **argv) {
  if (has_word(argc, argv, "--cfg") || has_word(argc, argv, "-c"))
    return gr_cli_config(argc, argv, gr_args_first(&gr_command_train, argc, argv));
  if (has_word(argc, argv, "-m") || has_word(argc, argv, "--multirun"))
    return gr_cli_multirun(argc, argv);
  if (has_word(argc, argv, "--jobs") || has_word(argc, argv, "--dry-run"))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--jobs and --dry-run are for sweeps"),
                   "add -m: graphrun -m CONFIG.yaml training.lr=1e-3,2e-3 --dry-run");
  return gr_cli_start(&gr_command_train, argc, argv, gr_job_compose);
}

static const gr_flag job_flags[] = {{"--profile", NULL, NULL, GR_FLAG_SET,
                                     offsetof(gr_args, profile), "prints the time of each op"},
                                    {0}};
static const gr_flag own_flags[] = {
    {"--multirun", "-m", NULL, GR_FLAG_SET, offsetof(gr_sweep_options, multirun),
     "a sweep: key=1,2 is a run for each value; also -m", true},
    {"--dry-run", NULL, NULL, GR_FLAG_SET, offsetof(gr_sweep_options, dry_run),
     "of a sweep: composes and lists the runs", true},
    {"--jobs", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_sweep_options, jobs),
     "of a sweep: so many runs at a time", true, 1024},
    {0}};

const gr_command gr_command_train = {
    .name = "train",
    .usage = "CONFIG.yaml [key=value ...] [-m [--jobs=N] [--dry-run]]",
    .doc = "train (the command's name may be left out)",
    .example = "graphrun configs/multi_gpu.yaml training.lr=2e-3 distributed.ranks=2",
    .keys =
        "model.graph data.source training.batch_size training.lr training.optimizer "
        "training.max_epochs training.seed distributed.strategy distributed.ranks "
        "checkpoint.resume output.dir",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .starts = true,
    .flags = {gr_flags_config, gr_flags_compile, gr_flags_plain, job_flags},
    .own_flags = own_flags,
    .options = sizeof(gr_sweep_options),
    .run_line = train_run,
};
