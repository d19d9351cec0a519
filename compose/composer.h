// composer.h - composition step by step, for commands that show what happens on the way. Who
// only wants the result calls gr_compose.
#pragma once
#include "compose/compose.h"
#include "compose/hydra/defaults.h"
#include "compose/hydra/merge.h"

typedef struct gr_composer {
  gr_arena *arena;
  const char *path;  // as given
  const char
      *primary;  // its name in its folder; NULL: a folder is not there, nothing can be composed
  gr_sources sources;
  gr_override *overrides;
  int n_overrides;
  gr_defaults defaults;
  gr_resolver resolver;
  bool (*known)(const char *key);
  gr_conf *root;
  int values;  // of all files
  bool whole;  // nothing was left out because of an error
} gr_composer;

// Each step gives all its errors, and leaves what there is for the next.

GR_MUST_USE gr_status gr_composer_open(gr_composer *, gr_arena *, const gr_compose_request *);
GR_MUST_USE gr_status gr_composer_single(const gr_composer *);  // an error where there are sweeps
GR_MUST_USE gr_status gr_composer_list(gr_composer *, bool with_hydra);  // the defaults list
GR_MUST_USE gr_status gr_composer_merge(gr_composer *, gr_composed *out);
