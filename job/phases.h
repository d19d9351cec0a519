// phases.h - reads the run's loop (`loop:`), and which programs of the model a run has.
#pragma once
#include "compiler/model/model.h"
#include "runtime/train/spec.h"

// Finds the programs that the run needs, and reads its loop: sets programs, n_programs, loop and
// looped of the spec; *out are the same programs for the compiler.
GR_MUST_USE gr_status gr_phases_read(gr_arena *, gr_conf *graph, gr_run_spec *,
                                     const gr_model_program **out);
// Once the plan is made: counts how often each phase runs. GR_ERR_CONFIG where a phase goes over
// minibatches or data that its programs do not have.
GR_MUST_USE gr_status gr_phases_count(gr_run_spec *);
