// dir.h - a directory of checkpoints: names, recovery after a kill, pruning.
//
//   step-00001000         a checkpoint
//   .tmp-step-00001000    being written; complete when its manifest is there
//   .trash-step-00001000  being removed
//   .checkpoint.lock      the run that writes here (lock.h)
//
// Only a checkpoint is ever removed, or replaced: a directory, not a link to one, which holds
// nothing but files that a saver writes. What else has such a name is left as it is.
#pragma once
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

enum { GR_CHECKPOINT_NAME_SIZE = 64 };
// PREFIXstep-00001000
void gr_checkpoint_name(const char *prefix, int64_t step, char out[GR_CHECKPOINT_NAME_SIZE]);
// The step when the name is PREFIXstep-NUMBER, else -1.
int64_t gr_checkpoint_name_step(const char *name, const char *prefix);

typedef struct gr_names {
  const char **at;
  int n, cap;
} gr_names;
// All names in an open directory but "." and "..", sorted.
GR_MUST_USE gr_status gr_checkpoint_names(gr_arena *, const gr_disk_dir *, gr_names *out);

// Why `name` may not be removed, as one line in the arena; NULL: it may, or is not there.
const char *gr_checkpoint_foreign(gr_arena *, const gr_disk_dir *, const char *name);
// Removes a checkpoint, whole or not; it may be gone. GR_ERR_IO, with everything as it was, where
// it is foreign.
GR_MUST_USE gr_status gr_checkpoint_remove(const gr_disk_dir *, const char *name);
// Finishes what a killed run began: a complete one is renamed to its place where that is empty,
// the rest is removed. Warns of what is foreign.
GR_MUST_USE gr_status gr_checkpoint_recover(const gr_disk_dir *);
// Removes all that no rule keeps, in spec->dir. `last` (a step) always stays. What is foreign, does
// not open or does not hold the tensors that `spec` writes is left as it is, and does not count;
// *foreign is how many there are of the first.
GR_MUST_USE gr_status gr_checkpoint_prune(const gr_saver_spec *, int64_t last, int *foreign);
