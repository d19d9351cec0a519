// commands.h - the functions of graphrun's commands, one per row of commands.def.
#pragma once
#include "base/status.h"

// Each takes the whole command line: argv[0] is the program and argv[1] the command's name, which
// may be missing for train. Each prints to standard output; the caller prints the error and exits.
GR_MUST_USE gr_status gr_cmd_train(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_eval(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_predict(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_export(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_plot(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_report(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_runs(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_hooks(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_new(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_plan(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_ops(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_ckpt(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_data(int argc, char **argv);
GR_MUST_USE gr_status gr_cmd_config(int argc, char **argv);
