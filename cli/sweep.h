// sweep.h - what a sweep leaves besides its runs.
#pragma once
#include "base/map.h"
#include "compose/hydra/multirun.h"

typedef struct gr_sweep_of_runs {
  gr_arena *arena;
  const char *dir;  // its folder; NULL: it has none, and nothing is written
  const gr_job_list *jobs;
  const char *const *output;  // the folder of each job
  const char *const
      *identity;  // of its configuration; what another one has left there is not listed
} gr_sweep_of_runs;

// Gives job j its folder, among those of the jobs before it; GR_ERR_CONFIG where one of these has it.
GR_MUST_USE gr_status gr_sweep_folder(gr_map *folders, const char *dir, int j);
// Writes multirun.yaml, as Hydra does: the configuration without what is swept.
GR_MUST_USE gr_status gr_sweep_begin(const gr_sweep_of_runs *);
// Prints the runs that have begun, best first, and writes their page and optimization_results.yaml,
// the best run's parameters and value as Hydra's sweepers do.
GR_MUST_USE gr_status gr_sweep_end(const gr_sweep_of_runs *);
