// runs.c - `graphrun runs DIR ...`: the runs in folders, ranked by a metric, with what differs in
// their configurations.
#include <string.h>
#include "cli/commands.h"
#include "cli/job/args.h"
#include "cli/runs_table.h"

static gr_status show(gr_runs_table *t, const gr_args *args) {
  const char *first = args->config ? args->config : "outputs";
  if (args->n_overrides)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is no folder", args->overrides[0]);
  for (int i = 0; i <= args->n_words; i++) {
    const char *given = i ? args->words[i - 1] : first;
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/') n--;
    const char *dir = gr_arena_strndup(t->arena, given, n);
    if (!gr_is_dir(dir))
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no folder '%s'", dir),
                     "graphrun runs DIR: a folder of runs, by default outputs");
    GR_TRY(gr_runs_find(t, dir));
  }
  if (!t->n)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no run in '%s'", first),
                   "a run's folder has .hydra/config.yaml");
  if (args->price && !args->scaling)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--price is what a rank costs an hour, for --scaling");
  if (args->scaling) return gr_runs_scaling(t, args->price, args->json);
  GR_TRY(gr_runs_rank(t, args->by));
  if (args->json)
    gr_runs_print_json(t);
  else
    gr_runs_print(t);
  return GR_OK;
}

gr_status gr_cmd_runs(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_runs_table t = {.arena = arena};
  gr_status s = gr_args_parse(arena, argc, argv, gr_args_first(argc, argv), &args);
  s = s ? s : show(&t, &args);
  gr_arena_destroy(arena);
  return s;
}
