// compose.h - one configuration from many files and arguments, as Hydra 1.3 composes it
// (version_base=None): defaults lists, groups, packages, overrides.
#pragma once
#include "compose/tree/conf.h"

typedef struct gr_compose_request {
  const char *path;  // primary config, "configs/multi_gpu.yaml"; its folder is searched
  const char *const *config_dirs;  // --config-dir, in order
  int n_config_dirs;
  const char *const *overrides;  // "training.lr=1e-3", "+a=b", "~c", "group=option"
  int n_overrides;
  // Keys that may be set without "+" though no file has them (a schema's); NULL: none.
  bool (*known)(const char *key);
} gr_compose_request;

typedef struct gr_composed {
  gr_conf *job;    // the composed tree without `hydra`, interpolations unresolved
  gr_conf *hydra;  // the hydra node, or NULL
} gr_composed;

// Composes. Errors: all that can be known, up to 20, each with place, caret, include chain and
// suggestion; *out is then what could be composed, job NULL when that is nothing.
GR_MUST_USE gr_status gr_compose(gr_arena *, const gr_compose_request *, gr_composed *out);

// Composes, resolves and checks against the schema; the errors of all three together. *conf is a
// copy of the job's tree, resolved and filled in.
GR_MUST_USE gr_status gr_compose_checked(gr_arena *, const gr_compose_request *, gr_composed *out,
                                         gr_conf **conf);
