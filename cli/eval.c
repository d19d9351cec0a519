// eval.c - `graphrun eval RUN`: evaluates a checkpoint of a run.
#include <stddef.h>
#include "cli/commands.h"
#include "cli/start.h"

static gr_status eval_run(int argc, char **argv) {
  return gr_cli_start(&gr_command_eval, argc, argv, gr_job_compose_kept);
}

static const gr_flag job_flags[] = {
    {"--split", NULL, "SPLIT", GR_FLAG_TEXT, offsetof(gr_args, split),
     "the samples: validation (the default), train, or all"},
    {0}};

const gr_command gr_command_eval = {
    .name = "eval",
    .usage = "RUN [key=value ...] [--which=best|last|STEP] [--split=validation|train|all] [--json]",
    .doc = "evaluates a checkpoint of a run, which may still be running",
    .example =
        "graphrun eval outputs/2026-01-01/10-00-00 --which=last --split=all distributed.ranks=1",
    .keys =
        "data.source data.validation_fraction training.batch_size distributed.ranks device "
        "logging.show_samples",
    .takes = {GR_FOLDER, GR_NO_OPERAND, true},
    .uses_weights = true,
    .starts = true,
    .kind = GR_RUN_EVAL,
    .flags = {gr_flags_plain, gr_flags_kept, job_flags, gr_flags_json},
    .run_line = eval_run,
};
