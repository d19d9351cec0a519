// args.h - the command line of commands that take a configuration:
//   graphrun COMMAND CONFIG.yaml [key=value ...] [--flag[=value] ...]
#pragma once
#include "base/base.h"

enum { GR_MAX_WITHOUT = 16 };

typedef struct gr_args {
  const char *program;     // how we were called, to call ourselves again
  const char *config;      // the first argument that is no flag and has no '='
  const char **overrides;  // the others
  int n_overrides;
  const char **config_dirs;  // --config-dir
  int n_config_dirs;
  const char *dump, *stop_after;  // --dump=PASS|all, --stop-after=PASS
  const char *without[GR_MAX_WITHOUT];
  int n_without;
  const char *dot, *svg;  // --dot=FILE, --svg=FILE
  int64_t ranks;          // --ranks=N: plan for so many; 0: as configured
  bool json, plain, profile, help;
  int argc;  // as it came
  char **argv;
} gr_args;

// Fails with GR_ERR_USAGE on a flag that is not known or lacks its value. argv[0] is the program.
GR_MUST_USE gr_status gr_args_parse(gr_arena *, int argc, char **argv, int first, gr_args *out);
