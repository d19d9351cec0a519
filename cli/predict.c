// predict.c - `graphrun predict RUN INPUT ...`: writes what a run's model predicts of files.
#include <stddef.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/show_plot.h"
#include "cli/start.h"

// A file whose name says that it is a table or an array would be read as one.
static gr_status check_out(const char *path) {
  static const char *const others[] = {".csv",  ".tsv", ".xls", ".xlsx", ".parquet",
                                       ".arff", ".npz", ".npy", ".html", ".yaml"};
  static const char *const images[] = {".png", ".jpg",  ".jpeg", ".pgm", ".ppm",
                                       ".tif", ".tiff", ".bmp",  ".gif", ".webp"};
  const char *end = path ? strrchr(path, '.') : NULL;
  bool other = gr_show_is_one_of(end, others, sizeof others / sizeof *others);
  if (!other && !gr_show_is_one_of(end, images, sizeof images / sizeof *images)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "'%s' would be a file of another kind: predictions are JSON lines", path),
                 other ? "name it %.*s.jsonl, which pandas.read_json(FILE, lines=True) reads"
                       : "--out=FOLDER/, with a slash behind it, writes outputs that are images as "
                         "PNG: --out=%.*s/",
                 (int)(end - path), path);
}

static gr_status compose(gr_arena *a, const gr_args *args, gr_job *j) {
  GR_TRY(check_out(args->out));
  return gr_job_compose_kept(a, args, j);
}

static gr_status predict_run(int argc, char **argv) {
  return gr_cli_start(&gr_command_predict, argc, argv, compose);
}

static const gr_flag job_flags[] = {
    {"--tokens", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_args, tokens),
     "continues each text by so many tokens"},
    {0}};

const gr_command gr_command_predict = {
    .name = "predict",
    .usage =
        "RUN INPUT ... [key=value ...] [--which=best|last|STEP] [--tokens=N] [--out=FILE|FOLDER/]",
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
    .run_line = predict_run,
};
