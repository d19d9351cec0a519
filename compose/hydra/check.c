// check.c - values of the hydra node that files or arguments have set: those that graphrun reads
// are of their types, and of others it says that they have no effect.
#include <string.h>
#include "base/log.h"
#include "compose/hydra/hydra.h"
#include "compose/schema/schema.h"

// ---- Types -----------------------------------------------------------------------

#define PATH "string | int | null"
static const gr_schema_key typed[] = {
    {.path = "hydra.run", .type = "mapping", .doc = "the folder of a run is hydra.run.dir"},
    {.path = "hydra.run.dir", .type = PATH, .doc = "the folder of a run"},
    {.path = "hydra.sweep", .type = "mapping", .doc = "the folder of a sweep is hydra.sweep.dir"},
    {.path = "hydra.sweep.dir", .type = PATH, .doc = "the folder of a sweep"},
    {.path = "hydra.sweep.subdir",
     .type = PATH,
     .doc = "the folder of each run in that of its sweep"},
    {.path = "hydra.sweeper",
     .type = "mapping",
     .doc = "hydra/sweeper=NAME chooses one: basic, or optuna, which searches"},
    {.path = "hydra.sweeper.sampler",
     .type = "mapping",
     .doc = "hydra/sweeper/sampler=NAME chooses one: tpe, random or grid"},
    {.path = "hydra.sweeper.params", .type = "mapping | null", .doc = "values of keys, as with -m"},
    {.path = "hydra.launcher", .type = "mapping", .doc = "--jobs=N runs so many at once"},
    {.path = "hydra.job", .type = "mapping", .doc = "the name of a run is hydra.job.name"},
    {.path = "hydra.job.name", .type = "string | int", .doc = "the name of a run"},
    {.path = "hydra.job.config", .type = "mapping", .doc = "has override_dirname"},
    {.path = "hydra.job.config.override_dirname",
     .type = "mapping",
     .doc = "has kv_sep and item_sep"},
    {.path = "hydra.output_subdir", .type = PATH, .doc = "the folder of configurations in a run's"},
    {.path = "hydra.mode", .type = "RUN | MULTIRUN | null", .doc = "-m makes a sweep"},
};

static gr_status check_one(gr_arena *a, gr_conf *hydra, const gr_schema_key *k) {
  const char *path = k->path + strlen("hydra.");
  gr_conf *set = gr_conf_find(hydra, path), *value;
  if (!set) return GR_OK;
  gr_status s = gr_hydra_value(a, hydra, path, &value);  // NULL: null, or not set
  if (s) return gr_status_drop(s), GR_OK;                // an error where it is used
  return gr_schema_check_value(a, k, value ? value : set);
}

// What has a number is a run of a sweep.
static bool is_numbered(gr_conf *hydra) {
  const gr_conf *number = gr_conf_find(hydra, "job.num");
  return number && number->kind == GR_CONF_INT;
}

static gr_status check_mode(gr_conf *hydra) {
  const gr_conf *mode = gr_conf_find(hydra, "mode");
  if (!mode || mode->kind != GR_CONF_TEXT || strcmp(mode->text, "MULTIRUN")) return GR_OK;
  if (is_numbered(hydra)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, mode->loc, "'hydra.mode' is MULTIRUN, and this is no sweep"),
      "-m makes one: graphrun -m CONFIG.yaml KEY=A,B");
}

// ---- Ignored keys ----------------------------------------------------------------

static bool begins_with_one(const char *path, const char *const *known) {
  for (int i = 0; known[i]; i++)
    if (!strncmp(path, known[i], strlen(known[i]))) return true;
  return false;
}

static bool has_effect(const char *path, bool searches) {
  static const char *const known[] = {
      "hydra.run.",          "hydra.sweep.",   "hydra.sweeper.params", "hydra.searchpath",
      "hydra.output_subdir", "hydra.mode",     "hydra.job.name",       "hydra.job.num",
      "hydra.job.config.",   "hydra.runtime.", "hydra.overrides.",     NULL};
  static const char *const of_search[] = {"hydra.sweeper._target_",
                                          "hydra.sweeper.sampler",
                                          "hydra.sweeper.direction",
                                          "hydra.sweeper.n_trials",
                                          "hydra.sweeper.n_jobs",
                                          "hydra.sweeper.pruner",
                                          NULL};
  return begins_with_one(path, known) || (searches && begins_with_one(path, of_search));
}

static void warn(gr_arena *a, const gr_conf *c, bool searches) {
  for (int i = 0; i < c->n && c->items; i++) {
    const gr_conf *item = c->items[i];
    const char *path = gr_conf_path(a, item);
    if (item->items && item->n)
      warn(a, item, searches);
    else if (!gr_hydra_builtin(item) && !has_effect(path, searches))
      gr_log(GR_WARN, "%s:%d:%d: '%s' has no effect here", item->loc.file, item->loc.line,
             item->loc.col, path);
  }
}

gr_status gr_hydra_check(gr_arena *a, gr_conf *hydra, bool sweep) {
  for (size_t i = 0; hydra && i < sizeof typed / sizeof *typed; i++)
    GR_TRY(check_one(a, hydra, &typed[i]));
  if (hydra && !sweep) GR_TRY(check_mode(hydra));
  if (hydra && !is_numbered(hydra)) warn(a, hydra, gr_hydra_searches(hydra));
  return GR_OK;
}
