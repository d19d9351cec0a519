// help.h - the help texts of `graphrun --help` and `graphrun COMMAND --help`, generated from
// tables: those of the commands, and the rows of the schema.
#pragma once
#include "job/args.h"

typedef struct gr_exit_code {
  int code;
  const char *what;
} gr_exit_code;
extern const gr_exit_code gr_exit_codes[];  // terminated by an entry whose `what` is NULL

void gr_help_all(FILE *);                          // prints the list of commands
void gr_help_command(FILE *, const gr_command *);  // prints usage, flags, example and keys of one
