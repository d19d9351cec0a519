// compose.h - composes one configuration from files and arguments as Hydra 1.3 does
// (version_base=None): defaults lists, groups, packages, overrides.
#pragma once
#include "compose/tree/conf.h"

typedef struct gr_compose_request {
  const char *path;  // the primary config, "configs/multi_gpu.yaml"; its folder is searched
  const char *const *config_dirs;  // arguments of --config-dir, in order
  int n_config_dirs;
  const char *const *overrides;  // "training.lr=1e-3", "+a=b", "~c", "group=option"
  int n_overrides;
  // Whether a key may be set without "+" although no file has it (the schema's keys). May be NULL.
  bool (*known)(const char *key);
} gr_compose_request;

typedef struct gr_composed {
  gr_conf *job;    // the composed tree without the hydra node, interpolations unresolved
  gr_conf *hydra;  // the hydra node, or NULL
  // What the settings of compat.huggingface became, a line each (gr_schema_translate); of
  // gr_compose_checked.
  const char **compat;
  int n_compat;
} gr_composed;

// Composes into the arena. The status holds all errors that can be found, up to 20, each with file,
// line, caret, include chain and suggestion. On errors *out is what could be composed; job is NULL
// when that is nothing.
GR_MUST_USE gr_status gr_compose(gr_arena *, const gr_compose_request *, gr_composed *out);

// Composes, resolves interpolations and checks against the schema, and returns the errors of all
// three together. *conf is a copy of out->job with interpolations resolved and defaults filled in.
GR_MUST_USE gr_status gr_compose_checked(gr_arena *, const gr_compose_request *, gr_composed *out,
                                         gr_conf **conf);
