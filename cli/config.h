// config.h - `graphrun config`: what a configuration composes to, and how it came about.
#pragma once
#include "cli/args.h"

// The arguments after "config". Prints to standard output; the error is the caller's to print.
GR_MUST_USE gr_status gr_cli_config(int argc, char **argv);
