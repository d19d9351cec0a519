// checkpoint.h - the state of a run in files: written so that kill -9 at any moment leaves the
// old set or the new one, read into any number of ranks, every byte checked.
//
//   DIR/step-00001000/manifest.json                 what is where, hashes, scalars; written last
//   DIR/step-00001000/rank-00000.safetensors.zst    the pieces rank 0 wrote
//
// A .zst is standard zstd frames with content checksums, at most 4 MiB of data each, so that
// `zstd -d` leaves a file that any safetensors reader opens. There a tensor that is whole has
// its own name, and a slice is called NAME@OFFSETS ("head.weight@128,0"); the manifest says the
// same in full (docs/checkpoints.md). A step counts the steps that are done: the run goes on
// with the step of that number, counted from 0.
//
// Two halves that do not share state: a gr_saver writes, a gr_checkpoint is one that is read.
// Codes: GR_ERR_IO when a disk fails, GR_ERR_CHECKPOINT when what is there is damaged or does
// not fit what is asked.
#pragma once
#include "base/arena.h"

enum { GR_CHECKPOINT_DIMS = 8 };

// A piece of a tensor: the box [offset, offset + size) of dims, row-major and contiguous.
typedef struct gr_tensor_slice {
  const char *name;   // of the tensor; at most 512 bytes
  const char *dtype;  // f64 f32 f16 bf16 i64 i32 u8
  int rank;           // 0: a scalar
  int64_t dims[GR_CHECKPOINT_DIMS], offset[GR_CHECKPOINT_DIMS], size[GR_CHECKPOINT_DIMS];
  void *at;
} gr_tensor_slice;
gr_tensor_slice gr_tensor_slice_whole(const char *name, const char *dtype, int rank,
                                      const int64_t *dims, void *at);
int64_t gr_tensor_slice_bytes(
    const gr_tensor_slice *);  // of the slice; -1: no such dtype, or too large

// What is not a tensor: epoch, batch, seed, config hash, metrics, the hooks' saved text.
typedef enum gr_scalar_kind { GR_SCALAR_INT, GR_SCALAR_FLOAT, GR_SCALAR_TEXT } gr_scalar_kind;
typedef struct gr_scalar {
  const char *name;
  gr_scalar_kind kind;
  int64_t i;
  double f;          // kept exactly, NaN and infinities too
  const char *text;  // UTF-8
} gr_scalar;

// Two that this module understands, where a checkpoint has them. One that is not finite is never
// among the best and takes no finite one's place; a metric counts on the state it was measured on.
#define GR_CHECKPOINT_FINITE "run.finite"       // int: 0: its last step had no finite gradient
#define GR_CHECKPOINT_MEASURED "run.eval_step"  // int: the step whose state the metrics are of

// -- Writing -----------------------------------------------------------------------------

typedef struct gr_saver_spec {
  const char *dir;  // made when it is not there; on a file system that all ranks see
  int rank, ranks;
  // What this rank writes; `at` must stay what it is until close. Each element of each tensor
  // is written by exactly one rank: a replicated tensor is on the list of one rank only.
  const gr_tensor_slice *pieces;
  int n_pieces;
  const char *owner;  // what another run that wants the folder is told, such as output.dir; or NULL
  double patience;    // seconds to wait for a run that has the folder
  int keep_last;      // so many of the highest finite steps stay, at least one
  int keep_best;      // and so many of the best by `metric`; 0: none
  const char *metric;  // a scalar's name; a checkpoint without it is not among the best
  bool metric_max;     // larger is better
  const char
      *exit_checkpoint;  // a scalar's name: a checkpoint that has it stays until there is a newer
  // A logical AND over all ranks, from the thread that calls; NULL on one rank. When it fails
  // (a rank died) so does what called it.
  gr_status (*agree)(void *ctx, bool ok, bool *all_ok);
  void *ctx;
  int level;      // of zstd: -7, the fastest, to 22; 0: zstd's own choice, 3
  bool in_place;  // write in begin, from the tensors: no second copy in memory, no thread
} gr_saver_spec;

typedef struct gr_saver gr_saver;
// Collective (one agree). Allocates the staging memory, locks the folder for as long as the saver
// is open (GR_ERR_IO where another run has it), removes what a killed run left unfinished; fails
// with GR_ERR_CHECKPOINT where the tensors are such that a checkpoint could not be read. Copies
// what it needs of the spec but dir, names and data.
GR_MUST_USE gr_status gr_saver_open(const gr_saver_spec *, gr_saver **out);
size_t gr_saver_bytes(const gr_saver *);  // memory it holds, from open on

// Copies the tensors and starts to write in a thread; the tensors may change when it returns.
// Scalars matter on rank 0 only and are copied. Not collective. One save at a time: after a
// begin comes a finish, also after a begin that failed.
GR_MUST_USE gr_status gr_saver_begin(gr_saver *, int64_t step, const gr_scalar *, int n);
// This rank's thread is still writing. Ranks differ: do not decide on it when to call finish,
// unless all ranks hear the same answer.
bool gr_saver_busy(const gr_saver *);
// Collective (two agrees). Waits for the thread; when all ranks wrote all, rank 0 commits
// (manifest, fsync, rename, fsync) and prunes. On a failure every rank gets GR_ERR_IO, so that all
// may decide alike, or what agree() failed with; older checkpoints are as they were, the unfinished
// one is gone, and the saver is good for another begin. Without a begin before it, does nothing and
// makes no agree.
GR_MUST_USE gr_status gr_saver_finish(gr_saver *);
// The same without pruning: for a state of which it is not known yet whether it is any good.
GR_MUST_USE gr_status gr_saver_commit(gr_saver *);
// Collective (one agree). Waits for the thread, and removes what was written.
GR_MUST_USE gr_status gr_saver_abandon(gr_saver *);
// Removes what the rules do not keep, as finish does, on rank 0; not collective. For a run that has
// nothing to save, or did not prune when it saved. The checkpoint of `step` stays.
void gr_saver_prune(gr_saver *, int64_t step);
// The directory of the last checkpoint that was committed, or NULL; the saver's.
const char *gr_saver_last(const gr_saver *);
// Not collective. An unfinished save is waited for and abandoned. NULL is fine.
void gr_saver_close(gr_saver *);

// -- Reading -----------------------------------------------------------------------------

typedef struct gr_checkpoint gr_checkpoint;
// Reads and checks the manifest, and that the files are there with their sizes. `path` is the
// step's directory.
GR_MUST_USE gr_status gr_checkpoint_open(const char *path, gr_checkpoint **out);
void gr_checkpoint_close(gr_checkpoint *);  // NULL is fine
const char *gr_checkpoint_path(const gr_checkpoint *);
int64_t gr_checkpoint_step(const gr_checkpoint *);
int gr_checkpoint_ranks(const gr_checkpoint *);  // that wrote it

// Reads every byte: hashes, zstd checksums, headers. The error names file and tensor.
GR_MUST_USE gr_status gr_checkpoint_verify(gr_checkpoint *);

// The scalars in the order in which they were given; NULL: there is none of that name.
const gr_scalar *gr_checkpoint_scalars(const gr_checkpoint *, int *n);
const gr_scalar *gr_checkpoint_scalar(const gr_checkpoint *, const char *name);
bool gr_checkpoint_is_finite(const gr_checkpoint *);  // it does not say the contrary

// The tensors: name, dtype, dims; offset 0, size dims, `at` NULL.
const gr_tensor_slice *gr_checkpoint_tensors(const gr_checkpoint *, int *n);
const gr_tensor_slice *gr_checkpoint_tensor(const gr_checkpoint *, const char *name);  // NULL: none

// Fills want->at, the slice `want` of the tensor of that name, from whichever pieces hold it.
// Refuses another dtype or shape than the checkpoint's, naming both.
GR_MUST_USE gr_status gr_checkpoint_read(gr_checkpoint *, const gr_tensor_slice *want);
// All of them. First checks that the checkpoint has every tensor wanted and, if `exact`, no
// other, so that nothing is half read when it does not fit.
GR_MUST_USE gr_status gr_checkpoint_read_all(gr_checkpoint *, const gr_tensor_slice *want, int n,
                                             bool exact);

// -- Directories -------------------------------------------------------------------------

typedef enum gr_checkpoint_state {
  GR_CHECKPOINT_OK,          // opens; its bytes are not verified
  GR_CHECKPOINT_INCOMPLETE,  // no manifest, or left by a killed run
  GR_CHECKPOINT_DAMAGED,     // does not open
} gr_checkpoint_state;
typedef struct gr_checkpoint_entry {
  const char *path;
  int64_t step;
  gr_checkpoint_state state;
  bool unfinished;  // left by a killed run: not one that was there and is damaged
  bool finite;      // of GR_CHECKPOINT_OK: gr_checkpoint_is_finite
  const char *why;  // not OK: one line
  int64_t bytes;    // on disk
} gr_checkpoint_entry;
// Everything that is or was to be a checkpoint in dir, by step. A directory that is not there
// has none.
GR_MUST_USE gr_status gr_checkpoint_list(gr_arena *, const char *dir, gr_checkpoint_entry **out,
                                         int *n);
// What `resume: auto` means: of those that verify the finite one of the highest step, or where none
// is finite the highest, opened; *out is NULL where the directory has none. Fails with
// GR_ERR_CHECKPOINT where it has some, and none verifies. Warns of each that it skips. On many
// ranks: rank 0 asks, and tells.
GR_MUST_USE gr_status gr_checkpoint_newest(const char *dir, gr_checkpoint **out);

// `graphrun ckpt list|show|verify`. `path` is a directory of checkpoints or one of them; for
// show, of a directory the newest. Verify prints one line each and fails when any is not good.
GR_MUST_USE gr_status gr_checkpoint_print_list(FILE *, const char *path);
GR_MUST_USE gr_status gr_checkpoint_print_show(FILE *, const char *path);
GR_MUST_USE gr_status gr_checkpoint_print_verify(FILE *, const char *path);
