// config_flags.h - the options of `graphrun config`.
#pragma once
#include <stddef.h>
#include "cli/job/args.h"
#include "compose/compose.h"

typedef struct gr_config_options {
  bool json, resolve, raw, hydra, defaults, tree, schema, help, markdown, multirun, dry_run;
  const char *package, *explain, *diff, *completion, *complete, *cfg, *config_name, *config_path;
  gr_compose_request request;
  const char **dirs, **overrides;
  const char *other;  // the second file of --diff
} gr_config_options;

typedef struct gr_config_flag {
  const char *name, *value, *doc;  // value: placeholder for help; NULL: it takes none
  size_t offset;                   // of its member in gr_config_options
} gr_config_flag;
enum { GR_CONFIG_FLAGS = 20 };
extern const gr_config_flag gr_config_flags[GR_CONFIG_FLAGS];

// Option `i` (from 0) for completion; false beyond the last.
bool gr_config_flag_at(int i, gr_flag *out);
