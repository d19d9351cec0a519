// blocks.h - prints the built-in blocks (graphs/blocks.yaml).
#pragma once
#include <stdio.h>
#include "base/text.h"

void gr_blocks_list(FILE *);                      // name, parameters and summary of each
bool gr_block_explain(FILE *, const char *name);  // one in full; false: no block has that name
// Appends one as JSON: name, documentation, operands and params; false: no block has that name.
bool gr_block_json(gr_text *, const char *name);
// Writes up to `most` names, allocated in the arena, to out; returns their number.
int gr_block_names(gr_arena *, const char **out, int most);
