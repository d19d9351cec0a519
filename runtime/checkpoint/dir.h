// dir.h - the directory of a run's checkpoints: names, recovery after a kill, pruning.
//
//   step-00001000         a checkpoint
//   .tmp-step-00001000    being written; complete once it has a manifest
//   .trash-step-00001000  being removed
//   .checkpoint.lock      the run that writes here (lock.h)
//
// Only checkpoints are ever removed or replaced: directories, not symbolic links, that hold nothing
// but files that a saver writes. Anything else of such a name is called foreign and left untouched.
#pragma once
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

enum { GR_CHECKPOINT_NAME_SIZE = 64 };
// Formats PREFIXstep-00001000.
void gr_checkpoint_name(const char *prefix, int64_t step, char out[GR_CHECKPOINT_NAME_SIZE]);
// The step of a name PREFIXstep-NUMBER; -1: the name is not of this form.
int64_t gr_checkpoint_name_step(const char *name, const char *prefix);

typedef struct gr_names {
  const char **names;
  int n, cap;
} gr_names;
// All names in an open directory except "." and "..", sorted, in the arena.
GR_MUST_USE gr_status gr_checkpoint_names(gr_arena *, const gr_disk_dir *, gr_names *out);

// Why `name` is foreign and may not be removed, as one line in the arena; NULL: it may be, or does
// not exist.
const char *gr_checkpoint_foreign(gr_arena *, const gr_disk_dir *, const char *name);
// Removes a complete or incomplete checkpoint; a missing one is no error. GR_ERR_IO, with nothing
// changed, when it is foreign.
GR_MUST_USE gr_status gr_checkpoint_remove(const gr_disk_dir *, const char *name);
// Cleans up after a killed run: a complete temporary checkpoint is renamed to its final name if
// that is free, all other temporary ones are removed. Warns of foreign ones.
GR_MUST_USE gr_status gr_checkpoint_recover(const gr_disk_dir *);
// Whether there is a temporary checkpoint in a folder: a run writes it, or was killed meanwhile.
bool gr_checkpoint_is_unsettled(const char *dir);
// Removes the checkpoints in spec->dir that neither keep_last nor keep_best keeps. The one of step
// `last` is always kept. Those that are foreign, do not open or hold other tensors than `spec`
// writes are left untouched and not counted; *foreign is the number of foreign ones.
GR_MUST_USE gr_status gr_checkpoint_prune(const gr_saver_spec *, int64_t last, int *foreign);
