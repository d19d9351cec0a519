// saving.h - the checkpoints of a run: where they are, the one that the run began from, and the one
// that is being written. Written by saving.c alone; checkpoints.c decides when one is written.
//
// A step can leave weights that are finite but useless (a learning rate of 1e9), which shows only
// in the next step. So a checkpoint is committed, and older ones are pruned, only after a step from
// it was sound (progress.h); after steps that were not, no checkpoint is written.
#pragma once
#include "runtime/train/progress/progress.h"
#include "runtime/train/saving/states.h"

typedef struct gr_saving {
  gr_states states;
  const char *ckpt_dir;      // NULL: there is no folder
  const char *start;         // the checkpoint to resume from; NULL: none
  const char *resumed_from;  // the checkpoint that this process has read, or NULL
  int64_t resumed_step;      // of that checkpoint; -1: there is none
  gr_saver *saver;
  int64_t saved_step;  // the step of the newest checkpoint, pending or committed; -1: none
  bool saving;         // a checkpoint has been begun and is not committed yet
  bool confirmed;      // a step from its state was sound: it may replace older ones
  bool owed;           // a checkpoint was due after a step that was not sound
} gr_saving;

gr_saving gr_saving_begin(void);  // without a checkpoint
// The folder of checkpoints, and the one to resume from; both are borrowed, NULL: there is none.
void gr_saving_choose(gr_saving *, const char *ckpt_dir, const char *start);
// Opens the saver for the run of a folder.
GR_MUST_USE gr_status gr_saving_open(gr_saving *, const char *run_dir, double patience,
                                     bool metric_is_of_pass);
// Waits for a checkpoint that is being written, and closes the saver and the states.
void gr_saving_close(gr_saving *);
void gr_saving_resumed(gr_saving *, const char *path, int64_t step);  // `path` is borrowed

// Whether a checkpoint is due at this step, by the configuration or because a hook requests it.
bool gr_run_save_due(const gr_saving *, const gr_progress *, bool asked);
bool gr_saving_has(const gr_saving *, const gr_progress *);  // whether this state is saved
// It cannot be saved now, since the last step was not sound: it is owed. True: that is new.
bool gr_saving_owe(gr_saving *);
// A checkpoint of this step is written: what was owed is done, if the step was sound.
void gr_saving_pay(gr_saving *, const gr_progress *);
// Begins to write a checkpoint of this step with these scalars; none may be pending. An error is
// logged, and reported to all ranks by gr_saving_finish.
void gr_saving_start(gr_saving *, const gr_progress *, const gr_scalars_out *);
void gr_saving_confirm(gr_saving *, const gr_progress *);  // after a step
bool gr_saving_is_ready(const gr_saving *);  // whether this rank's part may be committed
// Commits the pending checkpoint, and prunes if it is confirmed; abandons it if no step from its
// state was sound. *saved: it is there now. A failure to write it is logged and is none of
// the run: older checkpoints are intact. Collective.
GR_MUST_USE gr_status gr_saving_finish(gr_saving *, const gr_progress *, bool *saved);
void gr_saving_scalars(gr_saving *, gr_scalar_table *);  // adds those of a checkpoint
