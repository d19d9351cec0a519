// config.h - `graphrun config`: prints a composed configuration and the origins of its values.
#pragma once
#include "base/status.h"

// Takes the whole command line; the arguments are from argv[first] on. Prints to standard output;
// the caller prints the error.
GR_MUST_USE gr_status gr_cli_config(int argc, char **argv, int first);
