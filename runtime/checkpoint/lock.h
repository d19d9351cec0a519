// lock.h - one run at a time writes to a folder.
//
// A file in it is locked (flock) for as long as the run writes there, and says who that is, for the
// message of whoever comes second. The system releases the lock when its process ends, however it
// ends; what is left of the file then means nothing, and the next run takes it over.
#pragma once
#include "base/status.h"

typedef struct gr_lock gr_lock;
typedef struct gr_lock_spec {
  const char *dir;    // the folder, which is there
  const char *file;   // the lock's name in it
  const char *owner;  // what this run is called, such as its output.dir; NULL: nothing
  double seconds;     // how long it waits for another run to end
} gr_lock_spec;

// GR_ERR_IO, with the other run's process, host and name, where another run has it; and where the
// folder cannot be locked (no right to write, a link in the place of the file). A file system that
// has no locks at all is warned of, once: *out then holds none.
GR_MUST_USE gr_status gr_lock_take(const gr_lock_spec *, gr_lock **out);
void gr_lock_release(gr_lock *);  // NULL is fine
