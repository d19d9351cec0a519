// args.h - parses the command line of commands that take a configuration:
//   graphrun COMMAND CONFIG.yaml [key=value ...] [--flag[=value] ...]
#pragma once
#include "base/base.h"

enum { GR_MAX_WITHOUT = 16, GR_MAX_RANKS = 1000000 };  // ranks: as distributed.ranks

// A flag, the placeholder of its value ("FILE", "PASS"; NULL: it takes none), and what it does.
typedef struct gr_flag {
  const char *name, *value, *doc;
} gr_flag;

typedef struct gr_args {
  const char *program;     // argv[0], to start this program again
  const char *command;     // "train", "plan", ...
  const char *config;      // the first operand: path of a configuration, or a run's folder
  const char **overrides;  // the arguments that are neither flags nor operands
  int n_overrides;
  const char **words;  // of commands that take files or folders besides: these, without the first
  int n_words;
  const char **config_dirs;  // --config-dir
  int n_config_dirs;
  const char *config_path, *config_name;  // --config-path, --config-name: of Hydra
  const char *dump, *stop_after;          // --dump=PASS|all, --stop-after=PASS
  const char *without[GR_MAX_WITHOUT];
  int n_without;
  const char *dot, *svg, *out;  // --dot=FILE, --svg=FILE, --out=FILE
  int64_t ranks;                // --ranks=N: plan for N ranks; 0: as configured
  int64_t steps;                // --steps=N; 0: as configured
  bool starts;                  // the command starts ranks
  int64_t tokens;               // --tokens=N; 0: not given
  bool plain, profile, audio, json, optimizer, log, scaling, no_ema;
  const char *key, *by, *data;  // --key=KEY,... of `plot`, --by=METRIC of `runs`, --data of `new`
  const char *price;            // --price=P of `runs --scaling`
  const char *which, *split;    // --which=best|last|STEP, --split=validation|train|all
  const struct gr_kept_run *kept;  // (kept.h) set by gr_job_compose_kept
  char **flags;                    // flags and their values but those that name the configuration
  int n_flags;
  int argc;  // the whole command line
  char **argv;
} gr_args;

// Flag `i` (from 0) of a command in the table of args.c; false beyond the last.
bool gr_args_flag(const char *command, int i, gr_flag *out);

// What a command takes besides flags: its first argument, further ones, and whether overrides
// (key=value) of a configuration may be among them. A folder is that of a run.
typedef enum gr_operand { GR_NO_OPERAND, GR_CONFIG_FILE, GR_FOLDER, GR_ANY_FILE } gr_operand;
typedef struct gr_operands {
  gr_operand first, more;
  bool overrides;
} gr_operands;
gr_operands gr_args_operands(const char *command);

// Whether an argument that is not a flag is an operand of the given kind and not an override. A
// path may contain '=' ("multirun/training.lr=0.1"): what exists as a path is one, and so is what
// begins like no key: "/", "./" or "../".
bool gr_args_is_operand(gr_operand kind, const char *arg);

// --config-path DIR --config-name NAME, either of which may be NULL: *config, which may be given
// already, becomes DIR/NAME.yaml. Without a folder it is NAME.yaml, or configs/NAME.yaml where that
// alone is a file. searched: other folders are searched for it (--config-dir).
GR_MUST_USE gr_status gr_args_named(gr_arena *, const char *dir, const char *name, bool searched,
                                    const char **config);

// The index of the first argument behind the command's name, which may be missing for train.
int gr_args_first(int argc, char **argv);

// A file that is installed with graphrun, by its path there ("configs/digits.yaml"), in the arena;
// NULL: there is none. Configurations that are not found otherwise are looked up so.
const char *gr_args_installed(gr_arena *, const char *path);

// Parses the arguments from argv[first] on. argv[0] is the program and argv[1] the command's name,
// which may be missing for train. GR_ERR_USAGE for a flag that is unknown, belongs to another
// command or lacks its value. The result points into argv and the arena.
GR_MUST_USE gr_status gr_args_parse(gr_arena *, int argc, char **argv, int first, gr_args *out);
