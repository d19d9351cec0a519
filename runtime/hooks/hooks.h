// hooks.h - Lua scripts that set the learning rate, stop the run, save and log (docs/hooks.md).
//
// A script returns a table of functions, any of those that hooks.def lists and no others:
//
//   return {
//     lr = function(ctx) return ctx.lr * 0.5 end,   -- before each step
//     on_eval_end = function(ctx) return { stop = "good enough", log = { gap = 0.1 } } end,
//   }
//
// lr returns a number, which is ctx.lr of the next script; the last script's is the step's learning
// rate. The others return nothing or a table of controls.
//
// hooks.def lists the controls and the fields of ctx, too. state is a table that the script may
// write and that checkpoints save. A value that is not known is nil; reading an unknown field, or
// setting anything outside ctx.state, is an error. graphrun.log(text) writes to the log,
// graphrun.append(file, text) to a file in the run's output directory. These files are part of the
// state: a new run starts with empty ones, a resumed run truncates them to their length at the
// checkpoint.
//
// Scripts see Lua's base, string, table and math libraries without files, code loading, clocks and
// other sources of nondeterminism (math.random is seeded by the run's seed, the step and the event;
// pairs iterates in key order). They have 64 MiB of memory and a second of processor time per call
// and run in a process of their own, so that the run continues whatever they do. This protects
// against mistakes, not against attackers: run only scripts that you trust.
//
// Hooks run on rank 0; the caller broadcasts the result, which is plain data. Errors are
// GR_ERR_HOOK with file and line of the script and a Lua traceback in the notes.
#pragma once
#include "base/adjustable.h"
#include "base/arena.h"
#include "base/text.h"

typedef enum gr_hook_event {
#define GR_HOOK_EVENT(constant, ...) GR_HOOK_##constant,
#include "runtime/hooks/hooks.def"
  GR_HOOK_EVENTS,
} gr_hook_event;

// A row of hooks.def.
typedef enum gr_hook_returns { GR_HOOK_RATE, GR_HOOK_CONTROLS, GR_HOOK_NOTHING } gr_hook_returns;
typedef struct gr_hook_row {
  const char *name;  // of the script's function
  gr_hook_returns returns;
  bool again;        // a resumed run calls it again for the same step
  bool has_reason;   // its ctx has a reason
  const char *when;  // it is called, for help and documentation
} gr_hook_row;
extern const gr_hook_row gr_hook_events[GR_HOOK_EVENTS];
extern const char *const gr_hook_fields[];         // names of ctx's fields, up to NULL
extern const char *const gr_hook_control_names[];  // names of controls, up to NULL
void gr_hooks_help(gr_text *);                     // all tables, for `graphrun config --help hooks`

typedef enum gr_param_kind {
  GR_PARAM_INT,
  GR_PARAM_FLOAT,
  GR_PARAM_BOOL,  // in `i`
  GR_PARAM_TEXT,
} gr_param_kind;
typedef struct gr_param {
  const char *key;
  gr_param_kind kind;
  int64_t i;
  double f;
  const char *text;
  gr_loc loc;  // the configuration's line
} gr_param;

typedef struct gr_hook_script {
  const char *path;  // borrowed until close
  gr_loc loc;        // the line of the configuration that names it
  const gr_param *params;
  int n_params;
} gr_hook_script;

typedef struct gr_hooks_spec {    // everything it points to is borrowed until close
  const gr_hook_script *scripts;  // called in this order
  int n_scripts;
  uint64_t seed;
  const char *out_dir;          // for graphrun.append; NULL: what scripts append is dropped
  size_t memory_bytes;          // limit for all scripts together; 0: 64 MiB
  const gr_adjustable *adjust;  // n_adjust values that scripts may set
  int n_adjust;
  double seconds;  // limit on the processor time of one call of one script; 0: 1
  // Whether the run is to stop; polled while a script runs. A script that does not end soon after
  // is killed (GR_ERR_STOPPED). May be NULL.
  bool (*stop)(void);
} gr_hooks_spec;

typedef struct gr_named {  // a metric
  const char *name;
  double value;
} gr_named;

typedef struct gr_hook_context {
  // lr, start: the step about to run, from 0; step_end: the step that has run; else: steps
  // completed.
  int64_t step;
  int64_t epoch;
  int64_t steps_per_epoch, max_steps, max_epochs;  // 0: not known or no limit
  int world_size;
  double base_lr, lr;
  double loss;
  bool has_loss;  // false: ctx.loss is nil
  bool has_best;  // false: ctx.best and ctx.best_step are nil
  double best;
  int64_t best_step;
  int64_t skipped_steps, global_batch;
  double samples_per_s;  // 0: not known
  double elapsed;
  const gr_named *metrics;
  int n_metrics;
  const double *set;  // the values that scripts may set, as in gr_hooks_spec.adjust
  const char *output_dir, *last_checkpoint;  // NULL: nil
  const char *reason;                        // of events that have one; otherwise NULL
} gr_hook_context;

// Limits on the states of all scripts together, as bytes of text and as number of keys and values.
// They are far below what the reader of checkpoints accepts.
enum { GR_HOOK_STATE_BYTES = 1 << 20, GR_HOOK_STATE_VALUES = 1 << 16 };
// Limits on what scripts write to the log, in bytes: in one call, and in a run.
enum { GR_HOOK_CALL_LOG = 64 << 10, GR_HOOK_RUN_LOG = 16 << 20 };
enum { GR_HOOK_LOGS = 16, GR_HOOK_NAME = 48, GR_HOOK_REASON = 160 };
// Plain data without pointers, so that it can be broadcast as bytes.
typedef struct gr_hook_result {
  double lr;  // after GR_HOOK_LR the step's learning rate; otherwise the context's
  bool stop, save, evaluate;
  bool is_set[GR_MAX_ADJUSTABLE];  // values that the event has set
  double set[GR_MAX_ADJUSTABLE];
  char reason[GR_HOOK_REASON];  // of stop
  int n_logs;
  struct {
    char name[GR_HOOK_NAME];
    double value;
  } logs[GR_HOOK_LOGS];
} gr_hook_result;

// Every program that opens hooks calls this first in main. The hooks' process is a second instance
// of the program; there this function serves requests and does not return.
void gr_hooks_enter(int argc, char **argv);

// Fails with GR_ERR_CONFIG at the first of hooks_params that no script mentions as a field or in
// quotes, because it is probably a typo. Reads the scripts without running them.
GR_MUST_USE gr_status gr_hooks_check_params(const gr_hook_script *, int n, const gr_param *,
                                            int n_params);

// Finds a value of hooks_params that a script reads, that is not given and that the message of the
// script's error names; false: there is none.
bool gr_hooks_missing_param(const gr_hook_script *, const char *message, char *out, size_t size);

typedef struct gr_hooks gr_hooks;
// Starts the hooks' process, and loads the scripts and runs their main chunks there.
GR_MUST_USE gr_status gr_hooks_open(const gr_hooks_spec *, gr_hooks **out);
void gr_hooks_close(gr_hooks *);                     // ends the process; NULL is fine
bool gr_hooks_has(const gr_hooks *, gr_hook_event);  // whether a script handles the event
// Calls the event in every script that handles it and merges what they return. A call that fails
// has no effect: states and files are rolled back, and the next call restarts the scripts, as a
// resume does. Call it from the thread that opened the hooks.
GR_MUST_USE gr_status gr_hooks_call(gr_hooks *, gr_hook_event, const gr_hook_context *,
                                    gr_hook_result *out);

// All states as one ASCII text in the arena, for a scalar of a checkpoint. Equal states give equal
// text.
GR_MUST_USE gr_status gr_hooks_save(gr_hooks *, gr_arena *, char **out);
// Restores gr_hooks_save's text; call it before GR_HOOK_START of a resumed run. A state belongs to
// the script of the same file name; one without a script is dropped with a warning.
GR_MUST_USE gr_status gr_hooks_restore(gr_hooks *, const char *text);
