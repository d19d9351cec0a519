// checkpoint.h - sharded checkpoints: written atomically (after kill -9 at any moment there is
// either the old checkpoint or the new one), readable by any number of ranks, every byte verified.
//
//   DIR/step-00001000/manifest.json                 index, hashes and scalars; written last
//   DIR/step-00001000/rank-00000.safetensors.zst    the tensor slices that rank 0 wrote
//
// A .zst holds standard zstd frames (RFC 8878) with content checksums, of at most 4 MiB of data
// each; `zstd -d` makes it a file that any safetensors reader opens. There a whole tensor has its
// own name, and a slice is called NAME@OFFSETS ("head.weight@128,0"). docs/checkpoints.md describes
// the manifest. A checkpoint's step is the number of completed steps, so a resumed run continues
// with the step of that number, counted from 0.
//
// gr_saver writes checkpoints, gr_checkpoint reads one; they share no state. Error codes: GR_ERR_IO
// when the disk fails, GR_ERR_CHECKPOINT when a checkpoint is damaged or does not match the
// request.
#pragma once
#include "base/map.h"
#include "base/rename.h"
#include "base/text.h"

enum { GR_CHECKPOINT_DIMS = 8 };

// A slice of a tensor of shape dims[rank]: elements [offset, offset + size), row-major and
// contiguous at `data`.
typedef struct gr_tensor_slice {
  const char *name;   // of the tensor: UTF-8, at most 512 bytes
  const char *dtype;  // f64 f32 f16 bf16 i64 i32 u8
  int rank;           // 0: a scalar
  int64_t dims[GR_CHECKPOINT_DIMS], offset[GR_CHECKPOINT_DIMS], size[GR_CHECKPOINT_DIMS];
  void *data;
} gr_tensor_slice;
// The slice that is the whole tensor. Borrows name, dtype and `data`.
gr_tensor_slice gr_tensor_slice_whole(const char *name, const char *dtype, int rank,
                                      const int64_t *dims, void *data);
// Bytes of the slice's elements; -1: unknown dtype, or too large.
int64_t gr_tensor_slice_bytes(const gr_tensor_slice *);
// Whether they are of tensors of one shape.
bool gr_tensor_slice_same_shape(const gr_tensor_slice *, const gr_tensor_slice *);
// Calls `read` for the parts of a slice that are consecutive in the whole tensor, in order: n
// elements, from element `first` of the tensor and element `offset` of the slice on. Stops at an
// error.
GR_MUST_USE gr_status gr_tensor_slice_runs(const gr_tensor_slice *,
                                           gr_status (*read)(void *ctx, int64_t first, int64_t n,
                                                             int64_t offset),
                                           void *ctx);

// A named value that is not a tensor: epoch, batch, seed, config hash, metrics, the hooks' state.
typedef enum gr_scalar_kind { GR_SCALAR_INT, GR_SCALAR_FLOAT, GR_SCALAR_TEXT } gr_scalar_kind;
typedef struct gr_scalar {
  const char *name;
  gr_scalar_kind kind;
  int64_t i;
  double f;          // restored bit for bit, including NaN and infinities
  const char *text;  // UTF-8; one that is "NaN", "Infinity" or "-Infinity" is restored as a float
                     // with this text
} gr_scalar;
// Appends it as a member of an object of JSON (gr_text_json_key).
void gr_scalar_json(gr_text *, const gr_scalar *);

// Scalars that pruning understands. A checkpoint that is not finite is never among the best and
// never displaces a finite one. A metric counts only for the state that it was measured on.
#define GR_CHECKPOINT_FINITE "run.finite"  // int; 0: the last step's gradient was not finite
#define GR_CHECKPOINT_OPTIMIZER \
  "run.optimizer"                    // text: the tensors that training alone needs, a line each
#define GR_CHECKPOINT_EMA "run.ema"  // text: the averages, "WEIGHT.ema", of weights, a line each
// text: the low-rank adapters of linear layers, a JSON array of {"name", "rank", "alpha",
// "dropout"}
#define GR_CHECKPOINT_ADAPTERS "model.lora"
#define GR_CHECKPOINT_MEASURED "run.eval_step"  // int: the step at which the metrics were measured

// -- Writing -----------------------------------------------------------------------------

typedef struct gr_saver_spec {
  const char *dir;  // created if missing; on a file system that all ranks share
  int rank, ranks;
  // What this rank writes. The pointers `data` must stay valid until close. Each element of each
  // tensor is written by exactly one rank: a replicated tensor is listed by one rank only.
  const gr_tensor_slice *pieces;
  int n_pieces;
  const char *owner;     // names this run to others that want the folder, e.g. output.dir; or NULL
  double patience;       // seconds to wait for another run to release the folder
  int keep_last;         // number of newest finite checkpoints to keep, at least one
  int keep_best;         // number of best checkpoints by `metric` to keep; 0: none
  const char *metric;    // a scalar's name; a checkpoint without it is not among the best
  bool metric_measured;  // a checkpoint has the metric only if it was measured on its state
  bool metric_max;       // larger is better
  // Name of a scalar that marks a checkpoint made on exit: it is kept until there is a newer one.
  const char *exit_checkpoint;
  // Copies a tensor to host memory, called from begin, where `data` is not a host address; NULL: it
  // is.
  gr_status (*fetch)(void *ctx, const gr_tensor_slice *, void *to);
  // Logical AND over all ranks, called from the calling thread; NULL on one rank. When it fails (a
  // rank died), so does the function that called it.
  gr_status (*agree)(void *ctx, bool ok, bool *all_ok);
  void *ctx;
  int level;  // of zstd: -7 (fastest) to 22; 0: zstd's default, 3. Up to 3, frames are stored where
              // packing saves less than an eighth
  // Write inside begin, tensor by tensor: no thread, and no copy, or with fetch one of the largest
  // tensor.
  bool in_place;
} gr_saver_spec;

typedef struct gr_saver gr_saver;
// Collective (one agree). Allocates the staging memory, locks the folder while the saver is open
// (GR_ERR_IO when another run has it) and cleans up what a killed run left unfinished. Fails with
// GR_ERR_CHECKPOINT when the reader would refuse a checkpoint of these tensors. Borrows dir, names
// and data of the spec until close, and copies the rest.
GR_MUST_USE gr_status gr_saver_open(const gr_saver_spec *, gr_saver **out);
size_t gr_saver_bytes(const gr_saver *);  // bytes of memory it holds from open to close

// Copies the tensors and starts a thread that writes them; the tensors may change once it returns.
// Scalars are copied and matter on rank 0 only. Not collective. One save at a time: each begin is
// followed by a finish, commit or abandon, even when begin failed.
GR_MUST_USE gr_status gr_saver_begin(gr_saver *, int64_t step, const gr_scalar *, int n);
// Whether this rank's thread is still writing. The answer differs between ranks: do not base the
// call of finish on it, unless the ranks agree on one answer first.
bool gr_saver_busy(const gr_saver *);
// Collective (two agrees). Waits for the thread. When all ranks have written, rank 0 commits
// (manifest, fsync, rename, fsync) and prunes. On failure every rank gets GR_ERR_IO, so that all
// ranks decide alike, or the error of agree(); existing checkpoints are unchanged, the unfinished
// one is removed, and the saver can be used again. Does nothing, and calls no agree, without a
// begin.
GR_MUST_USE gr_status gr_saver_finish(gr_saver *);
// gr_saver_finish without pruning, for a state that is not known to be good yet.
GR_MUST_USE gr_status gr_saver_commit(gr_saver *);
// Collective (one agree). Waits for the thread and removes what was written.
GR_MUST_USE gr_status gr_saver_abandon(gr_saver *);
// Prunes as gr_saver_finish does, on rank 0. Not collective. For a run that has nothing to save, or
// that saved without pruning. The checkpoint of `step` is kept. Failures are warnings.
void gr_saver_prune(gr_saver *, int64_t step);
// Path of the last committed checkpoint, owned by the saver; NULL: none.
const char *gr_saver_last(const gr_saver *);
// Waits for an unfinished save and releases everything. Not collective. NULL is fine.
void gr_saver_close(gr_saver *);

// -- Reading -----------------------------------------------------------------------------

typedef struct gr_checkpoint gr_checkpoint;
// Opens the checkpoint in directory `path`: reads and checks the manifest, and that the files exist
// and have the sizes it states. Not collective, as everything below.
GR_MUST_USE gr_status gr_checkpoint_open(const char *path, gr_checkpoint **out);
void gr_checkpoint_close(gr_checkpoint *);              // NULL is fine
const char *gr_checkpoint_path(const gr_checkpoint *);  // as opened; owned by the checkpoint
int64_t gr_checkpoint_step(const gr_checkpoint *);      // completed steps
int gr_checkpoint_ranks(const gr_checkpoint *);         // number of ranks that wrote it

// Reads every byte and checks hashes, zstd checksums and headers. The error names file and tensor.
GR_MUST_USE gr_status gr_checkpoint_verify(gr_checkpoint *);

// All scalars in the order in which they were saved. Owned by the checkpoint, as the tensors below
// are.
const gr_scalar *gr_checkpoint_scalars(const gr_checkpoint *, int *n);
// The scalar of a name; NULL: there is none.
const gr_scalar *gr_checkpoint_scalar(const gr_checkpoint *, const char *name);
bool gr_checkpoint_is_finite(const gr_checkpoint *);  // GR_CHECKPOINT_FINITE is missing or not 0

// The tensors as whole slices with `data` NULL.
const gr_tensor_slice *gr_checkpoint_tensors(const gr_checkpoint *, int *n);
// The tensor of a name, as such a slice; NULL: there is none.
const gr_tensor_slice *gr_checkpoint_tensor(const gr_checkpoint *, const char *name);
// The names of tensors that training alone needs, by GR_CHECKPOINT_OPTIMIZER.
gr_map gr_checkpoint_optimizer(gr_arena *, const gr_checkpoint *);
// The names of averages of weights, by GR_CHECKPOINT_EMA.
gr_map gr_checkpoint_emas(gr_arena *, const gr_checkpoint *);
// The name of a weight's average, in the arena, if it is among `emas`; NULL: it has none.
const char *gr_checkpoint_ema_of(gr_arena *, const gr_map *emas, const char *weight);

// Fills want->data with that slice of the tensor want->name, from the files that hold parts of it.
// GR_ERR_CHECKPOINT when dtype or shape differ from the checkpoint's; the message names both.
GR_MUST_USE gr_status gr_checkpoint_read(gr_checkpoint *, const gr_tensor_slice *want);
// Reads n slices, but those whose `data` is NULL. First checks that the checkpoint has every tensor
// requested and, if `exact`, no other, so that on a mismatch nothing has been overwritten.
GR_MUST_USE gr_status gr_checkpoint_read_all(gr_checkpoint *, const gr_tensor_slice *want, int n,
                                             bool exact);

// Which tensors are exported.
typedef enum gr_export {
  GR_EXPORT_WEIGHTS,     // weights, or their averages by the names of the weights, and buffers
  GR_EXPORT_TRAINED,     // weights themselves, and buffers
  GR_EXPORT_EVERYTHING,  // by their own names, also those of GR_CHECKPOINT_OPTIMIZER
} gr_export;
// An adapter that a checkpoint has, by GR_CHECKPOINT_ADAPTERS. A layer "PATH.weight" [out, in] has
// it if there are PATH.NAME.lora_A.weight [rank, in] and PATH.NAME.lora_B.weight [out, rank]; with
// them it is weight + alpha / rank x B A. "NAME." is left out if the name is "".
typedef struct gr_checkpoint_adapter {
  const char *name;
  int64_t rank;
  double alpha, dropout;
} gr_checkpoint_adapter;
// The adapters, in the arena. GR_ERR_CHECKPOINT if the scalar is not what it must be.
GR_MUST_USE gr_status gr_checkpoint_adapters(gr_arena *, const gr_checkpoint *,
                                             gr_checkpoint_adapter **out, int *n);
// What the names of an adapter's tensors begin with in PEFT's file.
extern const char gr_peft_prefix[];
typedef struct gr_export_request {
  gr_export what;
  bool merge;                            // adapters are added to the weights, and left out
  const gr_checkpoint_adapter *adapter;  // only its weights, by the names of PEFT; NULL: all
  // The way from the names of another program to these (model.init_from), which is gone back: a
  // tensor gets the name that leads to its own, and parts of one are joined. NULL: names are kept.
  const gr_pattern *names;
  int n_names;
} gr_export_request;
typedef struct gr_checkpoint_exported {
  int tensors, averages;  // averages: of them
  int64_t bytes;
} gr_checkpoint_exported;
// GR_ERR_USAGE unless the path ends in .safetensors or .npz (NumPy), the formats that are written.
GR_MUST_USE gr_status gr_checkpoint_exportable(const char *path);
// Writes tensors as one file of the format that its ending names. NumPy has no bf16: in an .npz
// they are f32, with the same values.
GR_MUST_USE gr_status gr_checkpoint_export(gr_checkpoint *, const char *path,
                                           const gr_export_request *, gr_checkpoint_exported *out);
// Writes the folder `dir` of request->adapter as the library PEFT does and reads it
// (huggingface.co/docs/peft/developer_guides/checkpoint): adapter_config.json, with the paths of
// its layers and `rank`, `alpha` and `dropout`, and adapter_model.safetensors.
GR_MUST_USE gr_status gr_checkpoint_export_adapter(gr_checkpoint *, const char *dir,
                                                   const gr_export_request *,
                                                   gr_checkpoint_exported *out);
// Writes into a folder what Hugging Face's libraries do and read: model.safetensors, or, if that
// had more than `most` bytes of tensors, files of at most so many, and
// model.safetensors.index.json, which names them.
GR_MUST_USE gr_status gr_checkpoint_export_folder(gr_checkpoint *, const char *dir,
                                                  const gr_export_request *, int64_t most,
                                                  gr_checkpoint_exported *out);

// -- Directories -------------------------------------------------------------------------

typedef enum gr_checkpoint_state {
  GR_CHECKPOINT_OK,          // gr_checkpoint_open succeeds; the bytes are not verified
  GR_CHECKPOINT_INCOMPLETE,  // without a manifest, or left by a killed run
  GR_CHECKPOINT_DAMAGED,     // gr_checkpoint_open fails
} gr_checkpoint_state;
typedef struct gr_checkpoint_entry {
  const char *path;
  int64_t step;
  gr_checkpoint_state state;
  bool unfinished;  // it was being written when its run was killed
  bool finite;      // gr_checkpoint_is_finite, when the state is GR_CHECKPOINT_OK
  const char *why;  // one line, when the state is not GR_CHECKPOINT_OK
  int64_t bytes;    // on disk
} gr_checkpoint_entry;
// Lists complete and unfinished checkpoints in `dir`, by step, in the arena. A missing directory
// has none.
GR_MUST_USE gr_status gr_checkpoint_list(gr_arena *, const char *dir, gr_checkpoint_entry **out,
                                         int *n);
// Publishes a complete checkpoint that a killed run has not renamed yet, before the newest one is
// asked for: a run that went on from an older one, whose files have lost what is later, would leave
// it for the next run to go on from. Waits for `patience` seconds for another run to release the
// folder; `owner` names this one.
void gr_checkpoint_settle(const char *dir, const char *owner, double patience);
// Implements `resume: auto`: opens the newest finite checkpoint that verifies, or the newest that
// verifies when none is finite. *out is NULL when the directory has no checkpoints. Fails with
// GR_ERR_CHECKPOINT when it has some and none verifies. Warns of each that is skipped. Rank 0 calls
// it and broadcasts the path.
GR_MUST_USE gr_status gr_checkpoint_newest(const char *dir, gr_checkpoint **out);

// What `graphrun ckpt` prints: list, a line per checkpoint; show, the contents, of a directory the
// newest's; verify, which reads every byte, a line per checkpoint.
typedef enum gr_checkpoint_view { GR_VIEW_LIST, GR_VIEW_SHOW, GR_VIEW_VERIFY } gr_checkpoint_view;
extern const char *const gr_checkpoint_views[];  // their names, then NULL
// Prints it of a directory of checkpoints, or of one. GR_ERR_CHECKPOINT: there is none, or `verify`
// has found one that is damaged.
GR_MUST_USE gr_status gr_checkpoint_print(FILE *, gr_checkpoint_view, bool json, const char *path);
