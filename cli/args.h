// args.h - the command line of commands that take a configuration:
//   graphrun COMMAND CONFIG.yaml [key=value ...] [--flag[=value] ...]
#pragma once
#include "base/base.h"

enum { GR_MAX_WITHOUT = 16 };

// A flag's name, and what it takes: "FILE", "PASS"; NULL: nothing.
typedef struct gr_flag {
  const char *name, *value;
} gr_flag;

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
  bool plain, profile, audio;
  char **flags;  // all flags and their values, as they came
  int n_flags;
  int argc;  // as it came
  char **argv;
} gr_args;

// The flags of a command ("train", "plan", "data"), counted from 0; false beyond the last.
bool gr_args_flag(const char *command, int i, gr_flag *out);

// Whether an argument is a configuration's path and not a change to one: "runs/lr=1/config.yaml" is
// if there is such a file.
bool gr_args_is_config(const char *arg);

// Fails with GR_ERR_USAGE on a flag that is not known or not for this command, or lacks its
// value. argv[0] is the program, argv[1] the command or, for train, whatever it is.
GR_MUST_USE gr_status gr_args_parse(gr_arena *, int argc, char **argv, int first, gr_args *out);
