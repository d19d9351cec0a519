// process.h - the run's side of hooks: the process that runs scripts, and copies of their states.
//
// The run keeps the scripts' text, their states after the last event, and their files, so the
// process can be killed at any time. After a failure it is ended, and the next request starts a new
// one.
#pragma once
#include <signal.h>
#include <time.h>
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/wire.h"

#define GR_HOOK_WORD \
  "--hooks-process"                   // its first argument; the second is the run's process number
#define GR_HOOK_PLACE_SIGNAL SIGXCPU  // makes it report the script's current line
enum { GR_HOOK_SOCKET = 3, GR_HOOK_PLACES = 4 };  // its file descriptors

typedef struct gr_hook_place {  // that report
  int32_t script, line;
} gr_hook_place;

typedef struct gr_hook_file {  // a file that scripts append to
  const char *name;
  int64_t bytes, before;  // its length now, and when the current event began
  struct gr_hook_file *next;
} gr_hook_file;

typedef struct gr_state_copy {  // a copy of a state, a table (gr_wire_value)
  char *bytes;
  size_t len, room;  // len 0: it is empty, as when the script was loaded
} gr_state_copy;

typedef struct gr_script {
  gr_hook_script spec;
  const char *name;  // the file name without its directory
  char *text;
  size_t len;
  int line[GR_HOOK_EVENTS];  // where each function begins; 0: the event is not handled
  gr_state_copy state;       // after the last completed event
  gr_state_copy after;       // after the current event, if is_new
  bool is_new;
} gr_script;

struct gr_hooks {
  gr_arena *arena;
  gr_hooks_spec spec;
  gr_script *scripts;
  gr_hook_file *files;  // in order of first use
  int64_t appended;     // bytes that all scripts have appended
  gr_wire in, out;
  size_t logged_in_call, logged;  // bytes of log lines: in this request, and in all
  bool restarting;                // what scripts log and append now is a repetition and is ignored
  // The process.
  pid_t pid;  // 0: none
  int socket, places;
  clockid_t clock;      // measures its processor time
  gr_hook_place place;  // its last report; line 0: none
};

// ---- process.c
GR_MUST_USE gr_status gr_hooks_spawn(gr_hooks *);  // starts the process, without scripts
void gr_hooks_kill(gr_hooks *);  // kills and reaps it; does nothing without a process
// Sends the request h->out, which concerns a script (and event, or -1), and waits for the answer,
// whose fields are then in h->in. Errors carry the script's line, and the process has been ended.
// GR_ERR_STOPPED: spec.stop returned true and the script did not end soon.
GR_MUST_USE gr_status gr_hooks_ask(gr_hooks *, const gr_script *, int event);

// ---- client.c
// Starts the scripts again after a failure, as after a resume, with the states of the last event.
// Does nothing while the process runs.
GR_MUST_USE gr_status gr_hooks_restart(gr_hooks *);
// Keeps a copy of the state that is the next value of the answer h->in.
GR_MUST_USE gr_status gr_hooks_keep_state(gr_hooks *, gr_state_copy *);

// ---- context.c
// Appends ctx of a call to the message h->out, by the rows of hooks.def.
void gr_hooks_put_context(gr_hooks *, const gr_hook_context *);
// Appends a script's parameters to the message h->out, as a table.
void gr_hooks_put_params(gr_hooks *, const gr_hook_script *);
// Appends the fields of a value that scripts may set, in the order of hooks.def.
void gr_hooks_put_adjustable(gr_hooks *, const gr_adjustable *);

// ---- append.c
// Implements graphrun.append. Returns "" or an error message. A failed write is not counted in
// gr_hook_file.bytes.
const char *gr_hooks_append(gr_hooks *, const char *name, size_t name_len, const char *text,
                            size_t len);
// Continues a file of a resumed run at this length; what is beyond it is truncated.
GR_MUST_USE gr_status gr_hooks_continue_file(gr_hooks *, const char *name, int64_t bytes);
void gr_hooks_mark_files(gr_hooks *);    // remembers the files' lengths at the start of an event
void gr_hooks_revert_files(gr_hooks *);  // truncates the files to those lengths
