// hydra.h - the hydra node of a composition: fills in what Hydra does at run time, and reads what
// graphrun uses.
#pragma once
#include "compose/composer.h"

// Gives the node a root of its own, with the job's members beside it, and fills in overrides,
// choices, the job's name and number, and the output folder.
void gr_hydra_fill(gr_composer *, gr_conf *hydra);

// The output folder: hydra.run.dir, or hydra.sweep.dir/subdir for a run of a sweep. *out is NULL
// when it is not set.
GR_MUST_USE gr_status gr_hydra_run_dir(gr_arena *, gr_conf *hydra, const char **out);

// The folder of a sweep, hydra.sweep.dir; *out is NULL when it is not set.
GR_MUST_USE gr_status gr_hydra_sweep_dir(gr_arena *, gr_conf *hydra, const char **out);

// A value of the node, with interpolations resolved; *out is NULL when it is missing or null.
GR_MUST_USE gr_status gr_hydra_value(gr_arena *, gr_conf *hydra, const char *path, gr_conf **out);

// Whether the sweeper is that of Optuna, which searches; any other one runs all combinations.
bool gr_hydra_searches(gr_conf *hydra);

// Whether a value is a built-in default that no file or argument has set.
bool gr_hydra_builtin(const gr_conf *);

// Fails with GR_ERR_CONFIG at a value that graphrun reads and that is not of its type, or at a mode that
// takes a sweep where this is none, and warns of values that files or arguments have set and that
// graphrun ignores; runs of a sweep do not repeat these. hydra may be NULL.
GR_MUST_USE gr_status gr_hydra_check(gr_arena *, gr_conf *hydra, bool sweep);
