// checkpoint_dir.h - a directory of checkpoints: names, recovery after a kill, pruning.
//
//   step-00001000         a checkpoint
//   .tmp-step-00001000    being written; complete when its manifest is there
//   .trash-step-00001000  being removed
#pragma once
#include "runtime/checkpoint.h"

// DIR/PREFIXstep-00001000
char *gr_checkpoint_name(gr_arena *, const char *dir, const char *prefix, int64_t step);
// Finishes what a killed run began: a complete one is renamed to its place where that is empty,
// the rest is removed.
GR_MUST_USE gr_status gr_checkpoint_recover(const char *dir);
// Removes all that no rule keeps. `last` (a path) always stays; what does not open is let be, and
// does not count.
GR_MUST_USE gr_status gr_checkpoint_prune(const gr_saver_spec *, const char *last);
