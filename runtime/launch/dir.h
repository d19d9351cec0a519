// dir.h - the launcher's folder: all files that a run creates outside its output folder.
//
// It is TMPDIR/graphrun-XXXXXX and holds the file `state` (the launch state, state.h) and Open
// MPI's session files. The launcher holds an exclusive lock (flock) on that file while it lives.
// The system releases the lock however the launcher dies, which is how its ranks notice; they then
// hold a shared lock. A folder whose state file is not locked is left over, and the next launcher
// removes it.
#pragma once
#include "base/status.h"

typedef struct gr_launch_dir {
  char path[224], state_path[256];  // the folder; the launch state file in it
  int file;                         // that file, open and locked; -1: none
} gr_launch_dir;

const char *gr_launch_dir_parent(void);  // TMPDIR, or /tmp
// Creates the folder and in it the launch state file, locked, with `bytes` zero bytes. Fails with
// GR_ERR_LAUNCH.
GR_MUST_USE gr_status gr_launch_dir_make(size_t bytes, gr_launch_dir *out);
// Removes the folder with its contents and releases the lock.
void gr_launch_dir_remove(gr_launch_dir *);
// Removes the folders of this user's killed launchers on this machine. Errors are ignored: the next
// launcher tries again.
void gr_launch_dir_clean(void);
