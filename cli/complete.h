// complete.h - completion of command lines in bash, zsh and fish.
#pragma once
#include "base/base.h"

// Appends the completion script of a shell, to be used as eval "$(graphrun config --completion
// bash)". GR_ERR_USAGE for an unknown shell.
GR_MUST_USE gr_status gr_cli_completion_script(const char *shell, gr_text *out);
const char *gr_cli_shell(int i);  // name of supported shell i; NULL beyond the last

// Appends the candidates for the last word of a command line, one per line. Quotes and backslashes
// in the line are interpreted as the shell does; the candidates are not quoted.
void gr_cli_complete(gr_arena *, const char *line, gr_text *out);
