// args.h - commands as data, and parsing their command lines:
//   graphrun COMMAND CONFIG.yaml [key=value ...] [--flag[=value] ...]
#pragma once
#include "base/base.h"
#include "runtime/train/spec.h"

enum { GR_MAX_RANKS = 1000000 };  // as distributed.ranks

// ---- Flags ------------------------------------------------------------------------------------

typedef enum gr_flag_kind {
  GR_FLAG_SET,     // a bool that it makes true; it takes no value
  GR_FLAG_TEXT,    // a const char *: the value that is given last
  GR_FLAG_NUMBER,  // an int64_t from 1 to `most`
  GR_FLAG_LIST,    // a gr_words: all values
} gr_flag_kind;

typedef struct gr_flag {
  const char *name, *brief;  // "--config-name", "-cn"; brief NULL: it has none
  const char *value;         // placeholder of its value ("FILE", "PASS"); NULL: it takes none
  gr_flag_kind kind;
  size_t offset;  // of the member it sets
  const char *doc;
  bool of_sweep;  // of a sweep as a whole: its runs do not get it
  int64_t most;   // of a number; 0: GR_MAX_RANKS
} gr_flag;

// Tables of flags that several commands take, whose offsets are in gr_args; the last has no name.
extern const gr_flag gr_flags_config[];   // which configuration
extern const gr_flag gr_flags_compile[];  // what of compiling is shown
extern const gr_flag gr_flags_kept[];     // which weights of a run
extern const gr_flag gr_flags_plain[];
extern const gr_flag gr_flags_out[];
extern const gr_flag gr_flags_json[];

// ---- Commands ---------------------------------------------------------------------------------

// What a command takes besides flags: its first argument, further ones, and whether overrides
// (key=value) of a configuration may be among them. A folder is that of a run. The first
// `operands` arguments are no overrides, also where they contain '='.
typedef enum gr_operand { GR_NO_OPERAND, GR_CONFIG_FILE, GR_FOLDER, GR_ANY_FILE } gr_operand;
typedef struct gr_operands {
  gr_operand first, more;
  bool overrides;
  int operands;
} gr_operands;

enum { GR_FLAG_TABLES = 6 };
typedef struct gr_args gr_args;
// All that the program knows of a command: its help, its completion and its parsing.
typedef struct gr_command {
  const char *name, *usage, *doc, *example;
  const char *keys;  // paths of the keys that its help shows, separated by spaces
  gr_operands takes;
  bool plans;                            // it only plans, for which data need not be there
  bool uses_weights;                     // of a run, and trains nothing
  bool starts;                           // it starts ranks,
  gr_run_kind kind;                      // which do this
  const gr_flag *flags[GR_FLAG_TABLES];  // tables with offsets in gr_args
  const gr_flag *own_flags;              // a table with offsets in the command's own options
  size_t options;                        // bytes of these
  int (*words)(gr_arena *, const char **out,
               int most);  // what its first argument may be; NULL: any
  // Gets the command line, parsed, and an arena for as long as it runs; it prints, and errors are
  // its caller's to print.
  gr_status (*run)(gr_arena *, const gr_args *);
  gr_status (*run_line)(int argc, char **argv);  // instead: takes the whole command line
} gr_command;

// Flag `i` (from 0) of a command; NULL beyond the last.
const gr_flag *gr_command_flag(const gr_command *, int i);
// The flag that the first `len` characters of an argument name, also briefly ("-cd"); NULL: none.
const gr_flag *gr_command_flag_of(const gr_command *, const char *arg, size_t len);

// ---- Parsed -----------------------------------------------------------------------------------

struct gr_args {
  const char *program;        // argv[0], to start this program again
  const gr_command *command;  // NULL in tests that parse no command line
  const char *config;         // the first operand: path of a configuration, or a run's folder
  const char **overrides;     // the arguments that are neither flags nor operands
  int n_overrides;
  const char **words;  // of commands that take files or folders besides: these, without the first
  int n_words;
  void *options;  // the command's own, zero where no flag was given

  gr_words config_dirs;
  const char *config_path, *config_name;
  const char *dump, *stop_after;
  gr_words without;
  const char *which, *split;
  const char *out;
  int64_t ranks, steps, tokens;  // 0: not given
  gr_replay_spec replay;
  bool plain, profile, json, no_ema, flat;
  bool counts;  // what each pass makes is printed

  const struct gr_kept_run *kept;  // (kept.h) set by gr_job_compose_kept
  char **flags;                    // flags and their values as given, for the runs of a sweep
  int n_flags;
  const gr_command *const *commands;  // of the program, to parse another rank's command line
  int argc;                           // the whole command line
  char **argv;
};

// The command that a command line names, the first of the table where it names none. The table
// ends with NULL.
const gr_command *gr_args_command(const gr_command *const *commands, int argc, char **argv);
// The index of the first argument behind the command's name, which may be missing for the first.
int gr_args_first(const gr_command *, int argc, char **argv);

// Whether an argument that is not a flag is an operand of the given kind and not an override. A
// path may contain '=' ("multirun/training.lr=0.1"): what exists as a path is one, and so is what
// begins like no key: "/", "./" or "../".
bool gr_args_is_operand(gr_operand kind, const char *arg);

// A file that is installed with graphrun, by its path there ("configs/digits.yaml"), in the arena;
// NULL: there is none. Configurations that are not found otherwise are looked up so.
const char *gr_args_installed(gr_arena *, const char *path);

// Parses the arguments of a command from argv[first] on. GR_ERR_USAGE for a flag that is unknown,
// belongs to another command or lacks its value. The result points into argv and the arena.
GR_MUST_USE gr_status gr_args_parse(gr_arena *, const gr_command *const *commands,
                                    const gr_command *, int argc, char **argv, int first,
                                    gr_args *out);
