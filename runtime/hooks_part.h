// hooks_part.h - what the parts of the hook machine share: the state of all scripts, and the
// world that a script sees.
#pragma once
#include "base/rng.h"
#include "runtime/hooks.h"

typedef struct lua_State lua_State;  // lua.h is included where it is used

typedef struct gr_hook_file {  // one that a script appends to
  const char *name;
  int64_t bytes;
  struct gr_hook_file *next;
} gr_hook_file;

typedef struct gr_script {
  gr_hook_script from;
  const char *name;  // the file's, without its directory
  int table, state;  // references into Lua's registry
  bool has[GR_HOOK_EVENTS];
} gr_script;

struct gr_hooks {
  gr_arena *arena;
  gr_hooks_spec spec;
  lua_State *L;
  gr_script *scripts;
  size_t used;          // bytes that Lua holds
  gr_hook_file *files;  // in order of first use
  int64_t appended;     // bytes, by all
  // Of the call under way.
  const gr_script *running;
  double deadline;  // of this thread's processor time
  gr_rng rng;
  uint64_t drawn;
  int line;  // where the error is; 0: not known
  char message[512], trace[1200];
};

extern const char *const gr_hook_names[GR_HOOK_EVENTS];
gr_hooks *gr_hooks_of(lua_State *);

// hooks_world.c. Opens Lua with a limit on memory; false: not even that fits.
bool gr_hooks_world(gr_hooks *);
void gr_hooks_env(lua_State *);  // pushes the globals of a new script
// Runs f(L) with `arg` as light user data on the stack, within limits. The error is where in
// `running` it arose, with a traceback.
GR_MUST_USE gr_status gr_hooks_run(gr_hooks *, const gr_script *, int (*f)(lua_State *), void *arg);
// Pushes an array of the keys of the table at index, numbers first, each kind sorted.
void gr_hooks_sorted_keys(lua_State *, int index);

// hooks_append.c: graphrun.append.
int gr_hooks_append(lua_State *);
// A file is to go on at this size; what is beyond is cut.
GR_MUST_USE gr_status gr_hooks_continue_file(gr_hooks *, const char *name, int64_t bytes);
