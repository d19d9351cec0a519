// report.c - `graphrun report RUN`: makes report.html of a run, which may still be running, or of
// the runs in a folder; or prints the JSON that the page shows.
#include "base/output.h"
#include "cli/commands.h"
#include "cli/runs_table.h"
#include "runtime/page/folder.h"
#include "runtime/page/page.h"

static gr_status write_report(gr_arena *a, const gr_args *args, const char *dir) {
  bool single = gr_folder_is_run(a, dir);
  gr_runs_table t = {.arena = a};
  gr_page_runs runs = {0};
  gr_text json = gr_text_make(a);
  if (!single) GR_TRY(gr_runs_find(&t, dir));
  if (!single && !t.n)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not the folder of a run", dir),
                   "a run's folder has .hydra/config.yaml or metrics.jsonl");
  if (!single) GR_TRY(gr_runs_rank(&t, NULL));
  if (!single) runs = gr_runs_of_page(&t, dir);
  if (!args->json)
    return single ? gr_page_write(dir, args->out, false) : gr_page_write_runs(&runs, args->out);
  if (single)
    gr_page_json(&json, dir);
  else
    gr_page_runs_json(&json, &runs);
  if (args->out) return gr_output_write(NULL, args->out, json.chars, json.len);
  fputs(json.chars, stdout);
  return GR_OK;
}

static gr_status report(gr_arena *a, const gr_args *args) {
  bool given = args->config && *args->config;
  const char *dir = given ? gr_path_trimmed(a, args->config) : NULL;
  if (!dir)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given"),
                   "graphrun report outputs/DATE/TIME");
  if (args->n_overrides || args->n_words)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many",
                   args->n_words ? args->words[0] : args->overrides[0]);
  if (!gr_is_dir(dir))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           gr_is_file(dir) ? "'%s' is a file, not the folder of a run"
                                           : "there is no folder '%s'",
                           dir),
                   "the folder that a run printed as its output, such as outputs/DATE/TIME");
  GR_TRY(write_report(a, args, dir));
  if (args->out)
    printf("%s\n", args->out);
  else if (!args->json)
    printf("%s/" GR_PAGE_NAME "\n", dir);
  return GR_OK;
}

const gr_command gr_command_report = {
    .name = "report",
    .usage = "RUN [--out=FILE.html] [--json]",
    .doc =
        "makes the page report.html of a run, which may still be running, or of a folder of runs",
    .example = "graphrun report outputs/2026-01-01/10-00-00",
    .keys = "logging.report",
    .takes = {GR_FOLDER, GR_NO_OPERAND, false},
    .flags = {gr_flags_out, gr_flags_json},
    .run = report,
};
