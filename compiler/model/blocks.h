// blocks.h - the built-in blocks (graphs/blocks.yaml) for people.
#pragma once
#include <stdio.h>
#include "base/arena.h"

void gr_blocks_list(FILE *);                      // names, parameters, and the first line of each
bool gr_block_explain(FILE *, const char *name);  // false: there is none of that name
int gr_block_names(gr_arena *, const char **out, int most);  // in the arena; returns how many
