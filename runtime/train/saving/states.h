// states.h - the slices of states that a rank holds: those that a checkpoint is read into, and
// those that this rank saves. They are listed when the rank opens. Written by states.c and
// full_state.c alone.
#pragma once
#include "runtime/train/rank/rank.h"

typedef struct gr_states {
  gr_rank *rank;            // whose they are
  gr_tensor_slice *pieces;  // all states of this rank, for reading a checkpoint
  int n_pieces;
  gr_tensor_slice *saved;  // what this rank writes into a checkpoint
  int n_saved;
  char *full;  // memory for gathered states (full_state.c)
  size_t full_bytes;
} gr_states;

// ---- states.c
// Lists what a checkpoint is read into.
void gr_run_list_pieces(gr_states *, gr_rank *);
// Lists that and what is written, and allocates the memory that gathering takes. Close it in any
// case.
GR_MUST_USE gr_status gr_states_open(gr_states *, gr_rank *);
// Frees the memory of gathered states.
void gr_states_close(gr_states *);
// The slice of a state that a rank holds. `data` refers to this rank's memory of the state, on its
// device.
gr_tensor_slice gr_run_tensor_slice(gr_rank *, const gr_plan_state *, int rank);
// The tensor of the device that such a slice refers to, without its type.
gr_exec_tensor gr_run_tensor_of(const gr_tensor_slice *);
// Copies a state, or a gathered one, to the host's memory; a callback of gr_saver with gr_states.
GR_MUST_USE gr_status gr_run_fetch(void *states, const gr_tensor_slice *, void *to);
// Reads all pieces; exact: fails if the checkpoint has other tensors, too.
GR_MUST_USE gr_status gr_run_read_states(gr_states *, gr_checkpoint *, bool exact);
// Sets the loss scale that a checkpoint lacks, before the other states are read over theirs.
GR_MUST_USE gr_status gr_run_begin_loss_scale(gr_states *, gr_checkpoint *);
// ---- full_state.c
// Whether a state is gathered on rank 0 for checkpoints, instead of being saved in slices.
bool gr_run_is_gathered(const gr_rank *, const gr_plan_state *);
GR_MUST_USE gr_status gr_run_open_full(gr_states *);  // allocates memory for such states
// Such a state as one whole slice in rank 0's memory.
gr_tensor_slice gr_run_full_tensor_slice(gr_states *, const gr_plan_state *);
GR_MUST_USE gr_status gr_run_gather_full(gr_states *);  // gathers them. Collective.
// ---- init.c
// Loads the weights of the model, or those of its teacher, by n entries of their init_from; path[i]
// is the file or the checkpoint of entry i.
GR_MUST_USE gr_status gr_run_init_from(gr_rank *, const gr_init_entry *, int n, bool teacher,
                                       const char *const *path);
