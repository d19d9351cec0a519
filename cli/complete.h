// complete.h - completion of graphrun's command lines in bash, zsh and fish.
#pragma once
#include "base/base.h"

// A script that the shell reads once: eval "$(graphrun config --completion bash)".
GR_MUST_USE gr_status gr_cli_completion_script(const char *shell, gr_text *out);
const char *gr_cli_shell(int i);  // the shells there are scripts for; NULL beyond the last

// The words that may stand at the end of the line, one on a line. Quotes and backslashes in the
// line are the shell's; the words come without.
void gr_cli_complete(gr_arena *, const char *line, gr_text *out);
