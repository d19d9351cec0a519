// runs.c - `graphrun runs DIR ...`: the runs in folders, ranked by a metric, with what differs in
// their configurations.
#include <stddef.h>
#include "cli/commands.h"
#include "cli/runs_table.h"

typedef struct options {
  const char *by, *price;
  bool scaling;
} options;

static gr_status show(gr_arena *a, const gr_args *args) {
  const options *flags = args->options;
  gr_runs_table t = {.arena = a};
  const char *first = args->config ? args->config : "outputs";
  if (args->n_overrides)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is no folder", args->overrides[0]);
  for (int i = 0; i <= args->n_words; i++) {
    const char *dir = gr_path_trimmed(a, i ? args->words[i - 1] : first);
    if (!gr_is_dir(dir))
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no folder '%s'", dir),
                     "graphrun runs DIR: a folder of runs, by default outputs");
    GR_TRY(gr_runs_find(&t, dir));
  }
  if (!t.n)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no run in '%s'", first),
                   "a run's folder has .hydra/config.yaml");
  if (flags->price && !flags->scaling)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--price is what a rank costs an hour, for --scaling");
  if (flags->scaling) return gr_runs_scaling(&t, flags->price, args->json);
  GR_TRY(gr_runs_rank(&t, flags->by));
  if (args->json)
    gr_runs_print_json(&t);
  else
    gr_runs_print(&t);
  return GR_OK;
}

static const gr_flag own_flags[] = {
    {"--by", NULL, "METRIC", GR_FLAG_TEXT, offsetof(options, by),
     "ranks by this metric; METRIC:min or METRIC:max says which end is best"},
    {"--scaling", NULL, NULL, GR_FLAG_SET, offsetof(options, scaling),
     "how speed grows with ranks, of runs that have ended"},
    {"--price", NULL, "PRICE", GR_FLAG_TEXT, offsetof(options, price),
     "of --scaling: what a rank costs an hour, for costs"},
    {0}};

const gr_command gr_command_runs = {
    .name = "runs",
    .usage = "[DIR ...] [--by=METRIC[:min|max]] [--scaling [--price=PRICE]] [--json]",
    .doc = "the runs in a folder, ranked by a metric, and what differs in their configurations",
    .example = "graphrun runs outputs --by=validation.accuracy",
    .keys = "",
    .takes = {GR_FOLDER, GR_FOLDER, false},
    .flags = {gr_flags_json},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = show,
};
