// commands.h - the commands of the program: a file and a row of commands.def each.
#pragma once
#include "job/args.h"

#define GR_COMMAND(name) extern const gr_command gr_command_##name;
#include "cli/commands.def"
#undef GR_COMMAND

extern const gr_command *const gr_commands[];         // the last is NULL
const gr_command *gr_command_find(const char *name);  // NULL: no such command

// Runs a command with its whole command line.
GR_MUST_USE gr_status gr_command_run(const gr_command *, int argc, char **argv);
