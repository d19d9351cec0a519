// help.h - the help texts of `graphrun --help` and `graphrun COMMAND --help`, generated from
// tables: commands.def, the flags of each command, and the rows of the schema.
#pragma once
#include "cli/job/args.h"

typedef struct gr_command {
  const char *name, *usage, *doc;
  const char *example;
  const char *keys;  // paths of the most important keys, separated by spaces
} gr_command;
extern const gr_command gr_commands[];  // terminated by an entry whose name is NULL

typedef struct gr_exit_code {
  int code;
  const char *what;
} gr_exit_code;
extern const gr_exit_code gr_exit_codes[];  // terminated by an entry whose `what` is NULL

const gr_command *gr_command_find(const char *name);  // NULL: no such command
// Flag `i` (from 0) of a command; false beyond the last.
bool gr_command_flag(const char *command, int i, gr_flag *out);
void gr_help_all(FILE *);                          // prints the list of commands
void gr_help_command(FILE *, const gr_command *);  // prints usage, flags, example and keys of one
