// hooks.h - small Lua scripts that set the learning rate, stop, save and log (docs/hooks.md).
//
// A script returns a table of functions; it may have any of these, and no others:
//
//   return {
//     on_start = function(ctx) end,       -- once, before the first step; also of a resumed run
//     lr = function(ctx) return ctx.lr * 0.5 end,   -- before each step
//     on_step_end = function(ctx) end,    -- ctx.step is the step that has just run
//     on_epoch_end = function(ctx) end,
//     on_eval_end = function(ctx) return { stop = "good enough", log = { gap = 0.1 } } end,
//     on_checkpoint = function(ctx) end,  -- one is about to be made, with what this does
//     on_stop = function(ctx) end,        -- once, at the end
//   }
//
// lr returns a number: the next script's ctx.lr, the last one's is the step's learning rate.
// The others return nothing or a table of stop (true or a reason), save (true: a checkpoint
// now) and log ({name = number}).
//
// ctx: step, epoch, steps_per_epoch, max_steps, max_epochs, total_steps, world_size, base_lr,
// lr, loss, metrics, reason (on_stop), params (of the configuration) and state (a table the
// script may write; it is saved in checkpoints). What is not known is nil; what ctx has not is an
// error, and so is setting anything but what is in ctx.state.
// graphrun.log(text) writes to the log; graphrun.append(file, text) to a file in the run's
// output directory. Such files are part of the state: a new run starts them empty, a resumed
// one cuts them back to where the checkpoint was made.
//
// Scripts see base, string, table and math less what reaches files, code, the clock or other
// randomness (math.random draws from the run's seed, the step and the event; pairs goes by
// sorted keys), have 64 MiB of memory and a second of processor time per call. Whatever they do,
// a call ends and the run goes on (they have a process of their own). This guards against
// mistakes, not against an attacker: run only scripts you trust as you trust your configuration.
//
// On rank 0 only; the caller broadcasts the result, which is plain data. Errors are
// GR_ERR_HOOK with file and line of the script and a traceback in the notes.
#pragma once
#include "base/arena.h"

typedef enum gr_hook_event {
  GR_HOOK_START,
  GR_HOOK_LR,
  GR_HOOK_STEP_END,
  GR_HOOK_EPOCH_END,
  GR_HOOK_EVAL_END,
  GR_HOOK_CHECKPOINT,
  GR_HOOK_STOP,
  GR_HOOK_EVENTS,
} gr_hook_event;
extern const char *const gr_hook_names[GR_HOOK_EVENTS];

typedef enum gr_param_kind {
  GR_PARAM_INT,
  GR_PARAM_FLOAT,
  GR_PARAM_BOOL,  // i
  GR_PARAM_TEXT,
} gr_param_kind;
typedef struct gr_param {
  const char *key;
  gr_param_kind kind;
  int64_t i;
  double f;
  const char *text;
  gr_loc from;  // the configuration's line
} gr_param;

typedef struct gr_hook_script {
  const char *path;  // must live as long as errors may
  gr_loc from;       // the configuration's line that names it, for "cannot open"
  const gr_param *params;
  int n_params;
} gr_hook_script;

typedef struct gr_hooks_spec {    // what it points to stays the caller's, until close
  const gr_hook_script *scripts;  // called in this order
  int n_scripts;
  uint64_t seed;
  const char *out_dir;  // of graphrun.append; NULL: that is an error
  size_t memory_bytes;  // of all scripts together; 0: 64 MiB
  double seconds;       // of processor time, of one call of one script; 0: 1
  // Whether the run is to stop; asked while a script runs. One that does not end soon is cut off
  // then: GR_ERR_STOPPED. NULL: it never is.
  bool (*stop)(void);
} gr_hooks_spec;

typedef struct gr_named {  // a metric
  const char *name;
  double value;
} gr_named;

typedef struct gr_hook_context {
  int64_t step;  // from 0: about to run (lr, start), just run (step_end); else how many are done
  int64_t epoch;
  int64_t steps_per_epoch, max_steps, max_epochs;  // 0: not known, no limit
  int world_size;
  double base_lr, lr;
  double loss;
  bool has_loss;  // else it is not known
  const gr_named *metrics;
  int n_metrics;
  const char *reason;  // of GR_HOOK_STOP, else NULL
} gr_hook_context;

// What the states of all scripts may take, as text and as keys and values: far less than the
// readers of checkpoints let through.
enum { GR_HOOK_STATE_BYTES = 1 << 20, GR_HOOK_STATE_VALUES = 1 << 16 };
enum { GR_HOOK_LOGS = 16, GR_HOOK_NAME = 48, GR_HOOK_REASON = 160 };
// Plain data: may be sent as bytes.
typedef struct gr_hook_result {
  double lr;  // after GR_HOOK_LR the step's learning rate; else the context's
  bool stop, save;
  char reason[GR_HOOK_REASON];  // of stop
  int n_logs;
  struct {
    char name[GR_HOOK_NAME];
    double value;
  } logs[GR_HOOK_LOGS];
} gr_hook_result;

// First in main of every program that opens hooks, which starts itself once more for them: it
// does not return there.
void gr_hooks_enter(int argc, char **argv);

// Fails with GR_ERR_CONFIG at the first of hooks_params whose name stands in no script (which
// share them), neither as a field nor in quotes; reads the scripts, runs nothing.
GR_MUST_USE gr_status gr_hooks_check_params(const gr_hook_script *, int n, const gr_param *,
                                            int n_params);

typedef struct gr_hooks gr_hooks;
// Reads and runs the scripts' main parts, which return their tables.
GR_MUST_USE gr_status gr_hooks_open(const gr_hooks_spec *, gr_hooks **out);
void gr_hooks_close(gr_hooks *);                     // NULL is fine
bool gr_hooks_has(const gr_hooks *, gr_hook_event);  // some script has it
// Calls the event in every script that has it and joins what they return. One that fails is as if
// it had not been: states and files are as they were, and the scripts begin again, as after a
// resume, with the next. By the thread that opened them.
GR_MUST_USE gr_status gr_hooks_call(gr_hooks *, gr_hook_event, const gr_hook_context *,
                                    gr_hook_result *out);

// All states as one text, the same for the same states, ASCII; for a checkpoint's scalars.
GR_MUST_USE gr_status gr_hooks_save(gr_hooks *, gr_arena *, char **out);
// Before GR_HOOK_START of a resumed run. States belong to scripts by file name; one whose
// script is no longer there is dropped with a warning.
GR_MUST_USE gr_status gr_hooks_restore(gr_hooks *, const char *text);
