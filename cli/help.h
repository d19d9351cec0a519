// help.h - what `graphrun --help` and `graphrun COMMAND --help` print, all of it from tables:
// commands.def, the flags of each command, and the rows of the schema.
#pragma once
#include "cli/args.h"

typedef struct gr_command {
  const char *name, *usage, *doc;
  const char *example;
  const char *keys;  // paths of keys, separated by blanks
} gr_command;
extern const gr_command gr_commands[];  // ends with one without a name

const gr_command *gr_command_find(const char *name);  // NULL: there is none
// The flags of a command, counted from 0; false beyond the last.
bool gr_command_flag(const char *command, int i, gr_flag *out);
void gr_help_all(FILE *);
void gr_help_command(FILE *, const gr_command *);
