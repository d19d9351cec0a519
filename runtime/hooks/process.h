// process.h - the run's side of hooks: what it keeps of them, and the process that runs them.
//
// Nothing is lost with the process: the run has the scripts' text, their states as of the last
// event, and their files. After a failure it is ended, and started again by the next request.
#pragma once
#include <signal.h>
#include <time.h>
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/wire.h"

#define GR_HOOK_WORD "--hooks-process"  // its first argument; the second is the run's process
#define GR_HOOK_PLACE_SIGNAL SIGXCPU    // asks it where it is
enum { GR_HOOK_SOCKET = 3, GR_HOOK_PLACES = 4 };  // its descriptors

typedef struct gr_hook_place {  // what it says then
  int32_t script, line;
} gr_hook_place;

typedef struct gr_hook_file {  // one that a script appends to
  const char *name;
  int64_t bytes, before;  // now, and when the event began
  struct gr_hook_file *next;
} gr_hook_file;

typedef struct gr_kept {  // a copy of a state
  char *at;
  size_t len, room;  // len 0: there is none
} gr_kept;

typedef struct gr_script {
  gr_hook_script from;
  const char *name;  // the file's, without its directory
  char *text;
  size_t len;
  int line[GR_HOOK_EVENTS];  // of each function; 0: it has not this event
  gr_kept state, after;      // after the last event; after the one under way, where that is new
  bool is_new;
} gr_script;

struct gr_hooks {
  gr_arena *arena;
  gr_hooks_spec spec;
  gr_script *scripts;
  gr_hook_file *files;  // in order of first use
  int64_t appended;     // bytes, by all
  gr_wire in, out;
  bool restarting;  // what scripts log and append has been said and written
  // The process.
  pid_t pid;  // 0: none
  int socket, places;
  clockid_t clock;      // of its processor time
  gr_hook_place place;  // where it last said it was; line 0: it has not
};

// ---- process.c
GR_MUST_USE gr_status gr_hooks_spawn(gr_hooks *);
void gr_hooks_kill(gr_hooks *);  // leaves no zombie; nothing where there is no process
// Sends h->out about a script (and event, or -1) and waits for the answer, of which h->in then has
// the fields. An error is at the script's line, and there is no process then. GR_ERR_STOPPED:
// spec.stop said so and the script did not end soon.
GR_MUST_USE gr_status gr_hooks_ask(gr_hooks *, const gr_script *, int event);

// ---- append.c
// Writes to a file of a script; "" or what was wrong. Bytes of a failed write stay out of account.
const char *gr_hooks_append(gr_hooks *, const char *name, size_t name_len, const char *text,
                            size_t len);
// A file is to go on at this size; what is beyond is cut.
GR_MUST_USE gr_status gr_hooks_continue_file(gr_hooks *, const char *name, int64_t bytes);
void gr_hooks_mark_files(gr_hooks *);    // an event begins
void gr_hooks_revert_files(gr_hooks *);  // what was written since is cut
