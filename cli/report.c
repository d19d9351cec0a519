// report.c - `graphrun report RUN`: makes report.html of a run, which may still be running, or of
// the runs in a folder.
#include <string.h>
#include "cli/commands.h"
#include "cli/runs_table.h"
#include "runtime/page/folder.h"
#include "runtime/page/page.h"

static gr_status report(gr_arena *a, const gr_args *args) {
  size_t n = args->config ? strlen(args->config) : 0;
  while (n > 1 && args->config[n - 1] == '/') n--;
  const char *dir = n ? gr_arena_strndup(a, args->config, n) : NULL;
  if (!dir)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given"),
                   "graphrun report outputs/DATE/TIME");
  if (args->n_overrides || args->n_words)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many",
                   args->n_words ? args->words[0] : args->overrides[0]);
  if (!gr_is_dir(dir))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no folder '%s'", dir),
                   "the folder that a run printed as its output, such as outputs/DATE/TIME");
  gr_runs_table t = {.arena = a};
  bool single = gr_folder_is_run(a, dir);
  if (!single) GR_TRY(gr_runs_find(&t, dir));
  if (!single && !t.n)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not the folder of a run", dir),
                   "a run's folder has .hydra/config.yaml or metrics.jsonl");
  if (!single) GR_TRY(gr_runs_rank(&t, NULL));
  GR_TRY(single ? gr_page_write(dir, args->out, false) : gr_runs_page(&t, dir, args->out));
  if (args->out)
    printf("%s\n", args->out);
  else
    printf("%s/" GR_PAGE_NAME "\n", dir);
  return GR_OK;
}

static gr_status run(int argc, char **argv) {
  return gr_command_parsed(&gr_command_report, argc, argv, report);
}

const gr_command gr_command_report = {
    .name = "report",
    .usage = "RUN [--out=FILE.html]",
    .doc =
        "makes the page report.html of a run, which may still be running, or of a folder of runs",
    .example = "graphrun report outputs/2026-01-01/10-00-00",
    .keys = "logging.report",
    .takes = {GR_FOLDER, GR_NO_OPERAND, false},
    .flags = {gr_flags_out},
    .run = run,
};
