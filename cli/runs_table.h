// runs_table.h - runs in folders, ranked by a metric, with what differs in their configurations.
#pragma once
#include "base/text.h"
#include "compose/tree/conf.h"
#include "runtime/page/page.h"

typedef struct gr_ranked_run {
  const char *path, *status;
  gr_conf *conf;
  int64_t steps, best_step, ranks;  // ranks: 0 as long as it has not ended
  double best, last;                // of the metric; NaN: it has not been evaluated
  double speed;                     // samples a second (gr_series_steady); NaN: not known
  const char **values;              // by key that differs
} gr_ranked_run;

typedef struct gr_runs_table {
  gr_arena *arena;
  gr_ranked_run *runs;  // best first
  int n, room;
  const char *metric;  // without "validation."
  bool max;
  const char **keys;  // that differ
  int n_keys;
} gr_runs_table;

// Adds the run of a folder, or those in folders below it, in the order of their names. Everything
// is in table->arena, which the caller sets.
GR_MUST_USE gr_status gr_runs_find(gr_runs_table *, const char *dir);
// Ranks the runs, at least one, by METRIC[:min|max]; NULL: by what the first run keeps its best
// checkpoints.
GR_MUST_USE gr_status gr_runs_rank(gr_runs_table *, const char *by);
void gr_runs_print(const gr_runs_table *);       // as a table, on standard output
void gr_runs_print_json(const gr_runs_table *);  // the same rows as JSON
// Adds `, "NAME": VALUE` to an object of JSON; NaN is null.
void gr_runs_put_number(gr_text *, const char *name, double value);
// Prints, by ranks, how the speed of runs that have ended grows with their ranks, and what a
// million samples cost. price: what a rank costs an hour, as text; NULL: without costs.
GR_MUST_USE gr_status gr_runs_scaling(const gr_runs_table *, const char *price, bool json);
// What tells a run from the others: "lr=0.01 seed=1".
const char *gr_runs_label(const gr_runs_table *, int run);
// What the page of a folder shows of its runs, in table->arena.
gr_page_runs gr_runs_of_page(const gr_runs_table *, const char *dir);
