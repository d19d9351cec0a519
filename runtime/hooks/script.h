// script.h - the process of the hooks from inside: Lua, the scripts, and what they may see.
//
// It has no files and no MPI; it gets requests over one socket and answers them (worker.c).
#pragma once
#include "base/log.h"
#include "base/rng.h"
#include "base/text.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/wire.h"

typedef struct lua_State lua_State;  // lua.h is included where it is used

typedef struct gr_lua_script {
  int index;
  const char *path, *name;  // the file's name is without its directory
  const char *text;
  size_t len;
  gr_param *params;
  int n_params;
  int state, state_proxy, params_proxy;  // references into Lua's registry
  int event[GR_HOOK_EVENTS];             // the same, of functions; 0: there is none
  int line[GR_HOOK_EVENTS];              // where each begins
  // Of the state: what it takes when saved, or more; and whether it may have changed since it was
  // last copied. Tables in it can change without a word.
  size_t bytes, values;
  bool has_tables, touched;
} gr_lua_script;

typedef struct gr_world {
  gr_arena *arena;
  int socket, places;  // places: where the script is, written by a signal's handler
  lua_State *L;
  gr_lua_script *scripts;
  int n_scripts;
  uint64_t seed;
  double seconds;
  size_t memory_bytes, used;  // `used`: what Lua holds
  gr_wire in, out;
  gr_text number;  // for formatting one
  // Of the call under way.
  gr_lua_script *running;
  double deadline;  // of this thread's processor time
  gr_rng rng;
  uint64_t drawn;
  // Its error.
  gr_code code;     // GR_ERR_HANG: it ran too long
  int line;         // 0: not known
  int memory_line;  // where there was last no memory
  int late_line;    // where it was when it had run too long
  bool late;
  char message[512], trace[1200], hint[200];
} gr_world;

gr_world *gr_world_of(lua_State *);

// ---- run.c: limits and errors.
// Opens Lua with a limit on memory; false: not even that fits.
bool gr_world_open(gr_world *);
// Runs f(L) with `arg` as light user data on the stack, within limits. False: the error is in
// the world.
bool gr_world_run(gr_world *, gr_lua_script *, int (*f)(lua_State *), void *arg);
int gr_world_line(gr_world *);  // of the innermost function in Lua; 0: there is none

// ---- world.c: libraries.
int gr_world_build(lua_State *);  // leaves the safe tables in the registry
void gr_world_env(lua_State *);   // pushes the globals of a new script
// Pushes an array of the keys of the table at index, numbers first, each kind sorted.
void gr_world_sorted_keys(lua_State *, int index);

// ---- ctx.c: ctx, and tables that check what is written to them.
// Pushes an empty table through which `real` is read; writing calls the function on the top of
// the stack, which is popped.
void gr_world_push_proxy(lua_State *, int real);
// Puts the real table in the place of a proxy; false: it is none.
bool gr_world_unwrap(lua_State *, int index);
// The same of ctx.state alone, which is then taken to be changed.
bool gr_world_unwrap_state(lua_State *, int index);
void gr_world_open_ctx(lua_State *, gr_lua_script *);  // ctx.params and ctx.state of a script
void gr_world_push_ctx(lua_State *, gr_lua_script *, const gr_hook_context *, double lr);
// Takes the table on the top for the script's state.
void gr_world_set_state(lua_State *, gr_lua_script *);

// ---- state.c: ctx.state within its limits, and copies of it.
int gr_state_set(lua_State *);  // __newindex of ctx.state
// Appends a copy of the state to the message; raises what it may not hold, or be.
void gr_state_write(lua_State *, gr_lua_script *, gr_wire *);
// Sets all states from the copies in w->in. As the next two: false, the error is in the world.
bool gr_state_rollback(gr_world *);

// ---- state_json.c: ctx.state as text.
bool gr_state_text(gr_world *);  // of all scripts, into w->out
// Sets all states from the text of gr_hooks_save; their copies are in w->out then.
bool gr_state_restore(gr_world *, const char *text);

// ---- script.c: loading and calling.
bool gr_script_load(gr_world *, gr_lua_script *);
bool gr_script_call(gr_world *, gr_lua_script *, gr_hook_event, const gr_hook_context *,
                    gr_hook_result *);

// ---- worker.c: what reaches the run.
void gr_world_log(gr_world *, gr_level, const char *text, size_t len);
int gr_world_append(lua_State *);  // graphrun.append
