// folder.h - what a run's folder says about the run.
#pragma once
#include "base/json.h"
#include "runtime/report/series.h"

typedef struct gr_folder {
  gr_arena *arena;
  const char *path, *name;  // name: its last two parts
  // The objects of training_results.json, about.json, plan.json and data.json; NULL: there is none.
  const gr_json *results, *about, *plan, *data;
  const char *status;  // see gr_folder_status
  gr_series_list series;
  const gr_json *tables;  // the object whose members are those of the last evaluation; or NULL
  // The end of run.log, and the texts of samples.jsonl, mistakes.jsonl and plan.svg; NULL: there is
  // none.
  const char *log, *samples, *mistakes, *picture;
  gr_text problems;  // lines about files that could not be read
} gr_folder;

// Reads a folder into the arena. ended: as gr_page_write. Never fails: what cannot be read is in
// `problems`.
void gr_folder_read(gr_arena *, const char *path, bool ended, gr_folder *);

// Whether a folder is that of a run: it has .hydra/config.yaml or values that a run has logged.
bool gr_folder_is_run(gr_arena *, const char *path);

// "running" while a run holds the lock of its folder, how it ended by training_results.json
// ("done", "failed: WHY"), or "unfinished". *ranks: how many it had, 0 as long as it has not ended.
const char *gr_folder_status(gr_arena *, const char *path, int64_t *ranks);
