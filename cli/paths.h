// paths.h - where the files are that a configuration names.
//
// A relative path is looked for in the current folder, then in the folder of the configuration
// file that names it, then in the one above: configs/a.yaml may name graphs/b.yaml, and works
// from anywhere. What is written (output.dir, checkpoint.dir) is relative to the current folder.
#pragma once
#include "compose/tree/conf.h"

// Puts the path that was found into each key that names a file to read. Fails with the code of
// the key's area, at the key's place, where there is none.
GR_MUST_USE gr_status gr_paths_find(gr_arena *, gr_conf *);
