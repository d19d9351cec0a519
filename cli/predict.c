// predict.c - `graphrun predict RUN INPUT ...`: writes what a run's model predicts of files.
#include <stddef.h>
#include "cli/commands.h"
#include "cli/start.h"

static gr_status predict_run(int argc, char **argv) {
  return gr_cli_start(&gr_command_predict, argc, argv, gr_job_compose_kept);
}

static const gr_flag job_flags[] = {
    {"--tokens", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_args, tokens),
     "continues each text by so many tokens"},
    {0}};

const gr_command gr_command_predict = {
    .name = "predict",
    .usage = "RUN INPUT ... [key=value ...] [--which=best|last|STEP] [--tokens=N] [--out=FILE]",
    .doc = "writes what a run's model predicts of files, as JSON lines",
    .example = "graphrun predict outputs/2026-01-01/10-00-00 new/*.wav --out=new.jsonl",
    .keys =
        "training.batch_size distributed.ranks device data.skip_unreadable data.table.delimiter "
        "data.table.header data.table.encoding",
    .takes = {GR_FOLDER, GR_ANY_FILE, true},
    .uses_weights = true,
    .starts = true,
    .kind = GR_RUN_PREDICT,
    .flags = {gr_flags_plain, gr_flags_kept, job_flags, gr_flags_out},
    .run = predict_run,
};
