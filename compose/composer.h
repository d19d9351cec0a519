// composer.h - composition step by step, for commands that show intermediate results. Callers that
// need only the result use gr_compose.
#pragma once
#include "compose/compose.h"
#include "compose/hydra/defaults.h"
#include "compose/hydra/merge.h"

typedef struct gr_composer {
  gr_arena *arena;
  const char *path;  // of the primary config, as given
  // Its name within its folder; NULL: the folder does not exist, and nothing can be composed.
  const char *primary;
  gr_sources sources;
  gr_override *overrides;
  int n_overrides;
  gr_defaults defaults;
  gr_resolver resolver;
  bool (*known)(const char *key);
  gr_conf *root;
  const gr_conf **aliases;  // see gr_schema_share
  int values;               // number of values in all files
  bool whole;               // nothing was left out because of errors
} gr_composer;

// The steps, in order. Each returns all its errors, and the next can still run on what is there.
// gr_composer_open parses the overrides and reads the primary config and the search path;
// gr_composer_merge merges the files and applies the overrides.
GR_MUST_USE gr_status gr_composer_open(gr_composer *, gr_arena *, const gr_compose_request *);
GR_MUST_USE gr_status gr_composer_single(const gr_composer *);           // an error for each sweep
GR_MUST_USE gr_status gr_composer_list(gr_composer *, bool with_hydra);  // makes the defaults list
// `out` is in the arena of the composer.
GR_MUST_USE gr_status gr_composer_merge(gr_composer *, gr_composed *out);
