// commands.h - the commands of the program: a file and a row of commands.def each.
#pragma once
#include "job/args.h"

#define GR_COMMAND(name) extern const gr_command gr_command_##name;
#include "cli/commands.def"
#undef GR_COMMAND

extern const gr_command *const gr_commands[];         // the last is NULL
const gr_command *gr_command_find(const char *name);  // NULL: no such command

// Parses a command line for its command, whose function gets the arena and the result. Both are
// freed. For a command's own `run`; output is printed by the function, errors by the caller.
GR_MUST_USE gr_status gr_command_parsed(const gr_command *, int argc, char **argv,
                                        gr_status (*run)(gr_arena *, const gr_args *));
