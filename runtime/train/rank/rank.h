// rank.h - what one rank of a run works with: its communication, its executor and its programs.
// It is set when the rank opens and is the same from then on, but for the names of metrics, which
// become more, and the trace, which is there while steps are traced.
//
// Functions that are marked collective must be called by all ranks in the same order. Every
// function that fails gives the error of this rank, or GR_ERR_RANK if another rank has failed.
#pragma once
#include "base/work.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/comm.h"
#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "runtime/train/rank/metrics.h"
#include "runtime/train/spec.h"

enum { GR_MAX_NORMS = 65 };

// A program of the run.
typedef struct gr_run_program gr_run_program;
struct gr_run_program {
  const char *name;  // "train", "rollout"
  const gr_program
      *of_bucket[GR_MAX_BUCKETS];  // by bucket; of one that takes no batch only the first
  const gr_program *update;        // with micro-batches: the program after those of at[]; or NULL
  bool trains, takes_batch;
  const char *loss;  // the name of its metric
  // The same program with weights frozen, n_variants of them; `frozen` is as in gr_program.
  // may_freeze: the patterns that match weights that the program trains.
  unsigned frozen, may_freeze;
  gr_run_program *variants;
  int n_variants;
};

// The numbers that a program is given with its batch, the same on all ranks.
typedef struct gr_step_values {
  double lr;
  double set[GR_MAX_ADJUSTABLE];  // that hooks may set, as in spec->adjust
} gr_step_values;

// The results of the programs of one step, or of one batch of an evaluation.
typedef struct gr_step_results {
  gr_metrics metrics;  // sums over the global batch
  double grad_norm;
  bool has_grad_norm;
  const gr_named *norms;  // of groups of weights that are clipped separately
  int n_norms;
  double loss_scale;  // after the step; NaN: there is none
  bool ok;            // false: a gradient was not finite, so the update was skipped
} gr_step_results;

typedef struct gr_program_io gr_program_io;

typedef struct gr_rank {
  const gr_run_spec *spec;
  gr_comm *world, *axes[GR_MAX_MESH];
  int rank, ranks;
  int share, shares;  // this rank reads part `share` of the `shares` parts of every batch
  gr_exec *exec;
  gr_program_io *io;           // by program: where its inputs and results are (transfer.c)
  gr_run_program *programs;    // as in the spec
  const gr_run_program *eval;  // one of them; NULL: there is none
  gr_metric_names names;
  // What follows the program that runs (gr_run_follow), and the batch whose first inputs are
  // uploaded beside it already. NULL: none.
  gr_loader *next_from;
  const gr_run_program *next;
  const gr_batch *ahead;
  const gr_program *ahead_of;
  double waited;  // seconds for which such a batch was not ready
  char *staging;  // host memory for one state, if the host cannot access the device's; else NULL
  size_t staging_bytes;
  double started, began;  // seconds since 1970; seconds of a monotonic clock
  gr_trace *trace;        // of the steps of profile.steps, while they run; else NULL
  bool traced;            // there has been one
  gr_arena *arena;
} gr_rank;

// Whether the run has a folder that it writes to.
static inline bool gr_run_writes(const gr_rank *r) {
  return r->spec->kind == GR_RUN_TRAIN && !gr_exec_device(r->exec)->ops->dry &&
         !r->spec->weights.replay.step;
}

// Whether the device computes nothing (device=null), so that no number of the run has a meaning.
static inline bool gr_run_is_dry(const gr_rank *r) { return gr_exec_device(r->exec)->ops->dry; }

// ---- rank.c
// Opens the executor and the programs of a rank of `world`, which is borrowed. Close it in any
// case. Collective.
GR_MUST_USE gr_status gr_rank_open(gr_rank *, const gr_run_spec *, gr_comm *world);
// Frees what gr_rank_open opened, also where it failed; not `world`.
void gr_rank_close(gr_rank *);
// The name of a metric as reports of this rank have it (gr_metric_name).
static inline const char *gr_run_metric_name(gr_rank *r, const char *name) {
  return gr_metric_name(&r->names, r->arena, name);
}
// The seconds that this rank has spent in collectives that the host runs.
double gr_run_communicated(const gr_rank *);
// How long work of this rank is shown before it trains: gr_work_begin.
gr_work_shown gr_run_work_shown(const gr_rank *);
// ---- programs.c
GR_MUST_USE gr_status gr_run_find_programs(gr_rank *);  // sets rank->programs and rank->eval
// ---- transfer.c
// Looks up inputs and results of all programs once. Called after the executor is open.
GR_MUST_USE gr_status gr_run_open_transfers(gr_rank *);
// Writes the inputs of a program that are a rank's rows of a batch, which must not change before
// the results are read.
GR_MUST_USE gr_status gr_run_write_batch(gr_rank *, const gr_program *, const gr_batch *);
// The others: values, the micro-batch's index.
GR_MUST_USE gr_status gr_run_write_values(gr_rank *, const gr_step_values *, const gr_program *,
                                          int micro);
// Waits for what ran, and reads a program's metrics, norms, loss scale and whether the step was
// taken; what it has no result for is 0, and such a step counts as taken. Norms are valid until the
// next call.
GR_MUST_USE gr_status gr_run_read_results(gr_rank *, const gr_program *, gr_step_results *out);
// ---- compute.c
// Whether a row has a sample that could be read: padding, and what cannot be read, has weight 0.
bool gr_batch_counts(const gr_batch *, int row);
// Runs a program on a batch, NULL if it takes none, and reads its results.
GR_MUST_USE gr_status gr_run_compute(gr_rank *, const gr_step_values *, const gr_run_program *,
                                     const gr_batch *, gr_step_results *);
// From now on the batches of gr_run_compute are the loader's, each with its next one in the program
// `next`: where the device can, its inputs are uploaded while the one before it is computed. NULL:
// nothing is known of the batch after the next call's.
void gr_run_follow(gr_rank *, gr_loader *, const gr_run_program *next);
// Whether there is something to evaluate: a program that takes batches needs samples, one that
// takes none runs once for the validation split.
bool gr_run_can_eval(const gr_rank *, gr_split);
// ---- nonfinite.c
// Runs a program again whose step has just been skipped, and appends to *out which node, on which
// rank, made the first value that is not finite; nothing, where there is no memory for it or no
// such value is found. States stay as they are. Collective.
GR_MUST_USE gr_status gr_run_find_nonfinite(gr_rank *, const gr_step_values *,
                                            const gr_run_program *, const gr_batch *, gr_text *out);
// ---- generate.c
// What continues the sequences of a batch: tokens [rows, most], and how many of them each row has.
typedef struct gr_generated {
  int32_t *tokens;
  int64_t *n;
} gr_generated;
// Continues each sequence of the batch, with which the program has just been run, by so many
// tokens, or fewer if one of them ends it; *out is in the arena. Collective: all ranks call it with
// a batch. GR_ERR_CONFIG if the model or the data has no tokens.
GR_MUST_USE gr_status gr_run_generate(gr_rank *, const gr_step_values *, gr_arena *,
                                      const gr_batch *, int64_t tokens, gr_generated *out);
// ---- tracing.c: nothing happens unless steps are being traced
// Before each step: opens the trace of this rank in a folder, or writes it when its last step is
// done.
GR_MUST_USE gr_status gr_run_trace(gr_rank *, int64_t step, const char *dir);
GR_MUST_USE gr_status gr_run_trace_end(gr_rank *, const char *dir);  // writes it, if it is open
// The time at which a span begins; 0 when nothing is traced.
double gr_run_span_begin(const gr_rank *);
// A span of this rank from a time that gr_run_span_begin returned until now; `name` is a constant.
void gr_run_span(gr_rank *, gr_trace_lane, const char *name, double start);
void gr_run_span_step(gr_rank *, int64_t step, double start);  // of the step that has just run
// ---- sync.c
// Whether `ok` holds on all ranks. Collective.
GR_MUST_USE gr_status gr_run_all_ok(gr_rank *, bool ok, bool *all_ok);
// *out: rank 0's text, of any length, in the run's arena; what other ranks give is not read.
// Collective.
GR_MUST_USE gr_status gr_run_broadcast_text(gr_rank *, const char *text, const char **out);
// The message of the first rank that has failed, "rank 3: TEXT", the same on all ranks. Collective.
GR_MUST_USE gr_status gr_run_cause(gr_rank *, gr_status status, char *text, size_t size);
// GR_ERR_LAUNCH, on every rank, with the first rank whose hash differs from rank 0's; of_what: "the
// weights". Collective.
GR_MUST_USE gr_status gr_run_check_same(gr_rank *, uint64_t hash, const char *of_what);
void gr_run_signals(void);    // installs handlers: SIGINT, TERM, HUP, USR1 and USR2 request a stop
bool gr_run_signalled(void);  // whether one has come
// What a rank that has not opened ends with, by the status of its part: tells the others.
GR_MUST_USE gr_status gr_run_stopped_opening(gr_rank *, gr_status);
// ---- tables.c
GR_MUST_USE gr_status gr_run_load_tables(gr_rank *);  // writes the data's tables to their states
// ---- equal.c
// Checks that ranks that hold the same slice of a state hold the same bits. Ends early, with GR_OK,
// when a rank is asked to stop: gr_run_go_on follows. Collective.
GR_MUST_USE gr_status gr_run_weights_equal(gr_rank *);
// ---- hparams.c
// The hyper-parameters of the run, *n of them: values that files or arguments have set.
const gr_param *gr_run_hparams(gr_rank *, int *n);
