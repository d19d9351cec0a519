// hydra.h - the hydra node of a composition: what is filled into it, and what graphrun takes from
// it.
#pragma once
#include "compose/composer.h"

// Gives the node a root of its own, with the job's members beside it, and fills in what Hydra does:
// overrides, choices, the job's name and number, the folder of the run.
void gr_hydra_fill(gr_composer *, gr_conf *hydra);

// The folder of a run: hydra.run.dir, or of one run of a sweep hydra.sweep.dir/subdir. NULL where
// nobody has set it.
GR_MUST_USE gr_status gr_hydra_run_dir(gr_arena *, gr_conf *hydra, const char **out);

// Whether a value is Hydra's own, and no file or argument has set it.
bool gr_hydra_builtin(const gr_conf *);

// Warns of what files or arguments have set and graphrun has no use for.
void gr_hydra_warn(gr_arena *, const gr_conf *hydra);
