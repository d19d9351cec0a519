// script.h - internals of the hooks' process: the Lua state, the scripts and their environment.
//
// The process has no open files and no MPI; it answers requests over one socket (worker.c).
#pragma once
#include "base/log.h"
#include "base/rng.h"
#include "base/text.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/wire.h"

typedef struct lua_State lua_State;  // lua.h is included where it is used

typedef struct gr_lua_script {
  int index;
  const char *path, *name;               // name: without the directory
  int state, state_proxy, params_proxy;  // references in Lua's registry
  int event[GR_HOOK_EVENTS];             // references of the event functions; 0: not handled
  int line[GR_HOOK_EVENTS];              // where each function begins
  // Upper bounds of the state's size when saved, and whether it may have changed since the last
  // copy. Assignments inside nested tables are not seen, so with has_tables it may always have.
  size_t bytes, values;
  bool has_tables, touched;
} gr_lua_script;

typedef struct gr_sandbox {
  gr_arena *arena;
  int socket, places;  // places: on_place (a signal handler) writes the script's line to it
  lua_State *L;
  gr_lua_script *scripts;
  int n_scripts;
  gr_adjustable *adjust;  // n_adjust values that scripts may set; `input` is not set
  int n_adjust;
  uint64_t seed;
  double seconds;
  size_t memory_bytes, used;  // limit, and what Lua has allocated
  gr_wire in, out;
  // The call in progress.
  gr_lua_script *running;
  double deadline;  // in this thread's processor time
  gr_rng rng;
  uint64_t drawn;
  // Its error.
  gr_code code;     // GR_ERR_HANG: it exceeded its time limit
  int line;         // 0: not known
  int memory_line;  // the line at which an allocation was last refused
  int late_line;    // the line at which the time limit was exceeded
  bool late;
  char message[512], trace[1200], hint[512];
} gr_sandbox;

// In an error that scripts raise, between its cause and what to do, which is shown as a hint.
#define GR_HOOK_HINT "\nhint: "

// ---- tables.c: tables of Lua.
gr_sandbox *gr_sandbox_of(lua_State *);  // the sandbox that owns a Lua state
// Pushes a proxy: an empty table that reads from the table at index `real` and calls the function
// on top of the stack (which is popped) on assignments.
void gr_sandbox_push_proxy(lua_State *, int real);
// Replaces a proxy at `index` by its real table; false: it is not a proxy.
bool gr_sandbox_unwrap(lua_State *, int index);
// Makes the table on top of the stack read-only; `name` is for errors.
void gr_sandbox_push_read_only(lua_State *, const char *name);
// Pushes an array of the keys of the table at `index`, sorted, numbers first.
void gr_sandbox_sorted_keys(lua_State *, int index);
// Raises the error whose cause is on top of the stack, about a name that is none of `names`. It
// hints at `near`; NULL: at all names, as what `are` says: "the events are".
int gr_hook_unknown(lua_State *, const char *near, const char *are, const char *const *names,
                    int n);

// ---- run.c: limits and errors.
// Opens Lua with the memory limit and runs `build`; false: the limit is too small even for that.
bool gr_sandbox_open(gr_sandbox *, int (*build)(lua_State *));
// Runs f(L) with `arg` as light user data on the stack, within the limits. False: it failed, and
// the error is in the sandbox.
bool gr_sandbox_run(gr_sandbox *, gr_lua_script *, int (*f)(lua_State *), void *arg);

// ---- sandbox.c: libraries.
int gr_sandbox_build(lua_State *);  // stores the restricted libraries in the registry
void gr_sandbox_env(lua_State *);   // pushes the table of globals for a new script

// ---- ctx.c: ctx.
// Creates the script's ctx.params, which is the next value of the message, and ctx.state.
void gr_sandbox_open_ctx(lua_State *, gr_lua_script *, gr_wire *);
// Pushes the ctx of one call, the next value of the message (gr_hooks_put_context).
void gr_sandbox_push_ctx(lua_State *, gr_lua_script *, gr_wire *);

// ---- state.c: ctx.state within its limits, and copies of it.
int gr_state_set(lua_State *);  // __newindex of ctx.state
// Makes the table on top of the stack the script's state.
void gr_sandbox_set_state(lua_State *, gr_lua_script *);
// As gr_sandbox_unwrap, for ctx.state only, which then counts as changed.
bool gr_sandbox_unwrap_state(lua_State *, int index);
// Appends a copy of the state to the message. Raises a Lua error when it is too large or contains
// values of other types than data.
void gr_state_write(lua_State *, gr_lua_script *, gr_wire *);
// Pushes the next value of a message.
void gr_sandbox_push_value(lua_State *, gr_wire *);
// Sets all states from the copies in w->in, nil: stays as it is, and writes copies to w->out.
// False: the error is in the sandbox.
bool gr_state_take_back(gr_sandbox *);

// ---- script.c: loading and calling.
// Takes the parameters from w->in, runs the main chunk and takes the event functions. text, len: of
// the script, in w->in. False: the script fails, and the error is in the sandbox.
bool gr_script_load(gr_sandbox *, gr_lua_script *, const char *text, size_t len);
// Takes ctx from w->in, calls the function of an event, reads what it returns into the result, and
// writes the answer to w->out. Its random numbers depend on the seed, the script, the event and the
// step alone. False: as for gr_script_load.
bool gr_script_call(gr_sandbox *, gr_lua_script *, gr_hook_event, int64_t step, gr_hook_result *);

// ---- controls.c: reading what a function returned.
// Takes the value on top of the stack into the result; a wrong one raises a Lua error.
void gr_script_take(lua_State *, const gr_lua_script *, gr_hook_event, gr_hook_result *);

// ---- set.c: the controls that set values.
void gr_take_set(lua_State *, const gr_lua_script *, gr_hook_result *);  // the control `set`
// The control `freeze`: the patterns of weights to freeze, on top of the stack.
void gr_take_freeze(lua_State *, const gr_lua_script *, gr_hook_result *);
// The control `unfreeze`: the patterns of weights to train again, on top of the stack.
void gr_take_unfreeze(lua_State *, const gr_lua_script *, gr_hook_result *);

// ---- messages.c: messages to the run.
void gr_sandbox_send(gr_sandbox *);  // the message w->out; ends the process when the run has ended
// Sends a line for the log.
void gr_sandbox_log(gr_sandbox *, gr_level, const char *text, size_t len);
int gr_sandbox_append(lua_State *);  // graphrun.append
