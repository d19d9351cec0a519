// config.h - `graphrun config`: prints a composed configuration and the origins of its values.
#pragma once
#include "cli/job/args.h"

// Takes the arguments after "config". Prints to standard output; the caller prints the error.
GR_MUST_USE gr_status gr_cli_config(int argc, char **argv);
