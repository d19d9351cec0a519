// commands.h - graphrun's commands. Each takes the whole command line, argv[0] the program and
// argv[1] the command's name (but for train, whose argv[1] is the configuration), and prints to
// standard output; errors are the caller's to print.
#pragma once
#include "base/status.h"

GR_MUST_USE gr_status gr_cmd_train(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_plan(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_ops(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_ckpt(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_data(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_config(int argc, char **argv);
