// dir.h - the launcher's folder: everything that a run leaves outside its output folder.
//
// It is TMPDIR/graphrun-XXXXXX, with the file `box` (state.h) and what Open MPI keeps for its
// session. The launcher holds an exclusive lock on the box for as long as it lives, and so tells
// its ranks, by whatever way it dies, that it is gone. Ranks then hold a shared one. A folder on
// whose box nobody has a lock is left over, and the next launcher removes it.
#pragma once
#include "base/status.h"

typedef struct gr_launch_dir {
  char path[224], state_path[256];  // the folder; the file in it
  int file;                         // the box, open and locked; -1: none
} gr_launch_dir;

// Makes the folder, and the box with so many zero bytes. Fails with GR_ERR_LAUNCH.
GR_MUST_USE gr_status gr_launch_dir_make(size_t box_bytes, gr_launch_dir *out);
// Removes it with all that is in it, and lets go of the lock.
void gr_launch_dir_remove(gr_launch_dir *);
// Removes what launchers of this user on this machine have left behind when they were killed. What
// cannot be removed is left for the next time.
void gr_launch_dir_clean(void);
