// lock.h - a lock on a folder, so that only one run at a time writes to it.
//
// A file in the folder is locked with flock while the run writes there. It names the run, for the
// error message of another that wants the folder. The system releases the lock however the process
// ends; a file that is left behind has no meaning and is reused by the next run.
#pragma once
#include "base/status.h"

typedef struct gr_lock gr_lock;
typedef struct gr_lock_spec {
  const char *dir;    // an existing folder
  const char *file;   // the name of the lock file in it
  const char *owner;  // a name for this run, such as its output.dir; or NULL
  double seconds;     // how long to wait for another run to end
} gr_lock_spec;

// Takes the lock. GR_ERR_IO when another run holds it (the message has its process, host and name)
// or when the folder cannot be locked (no permission to write, a symbolic link of that name). A
// file system without locks causes a warning, once, and *out then locks nothing.
GR_MUST_USE gr_status gr_lock_take(const gr_lock_spec *, gr_lock **out);
void gr_lock_release(gr_lock *);  // NULL is fine
