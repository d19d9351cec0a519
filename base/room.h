// room.h - how much memory this process may still take: what the machine has, and limits on it.
//
// Read from /proc and /sys/fs/cgroup: MemAvailable; control groups of version 1 and 2, with those
// that they are within, whose page cache counts as free since the system reclaims it; the
// address space and the data of a process (`ulimit -v`, `ulimit -d`); and what may be committed
// where the system does not overcommit.
#pragma once
#include "base/status.h"

typedef struct gr_room {
  double bytes;      // that are free; may be negative
  bool per_process;  // a limit on this process alone, not on all of the machine
  char by[160];      // what limits it: "this machine", "the control group /a", "`ulimit -v`"
} gr_room;
enum { GR_MAX_ROOMS = 40 };

// All limits that are known, at most GR_MAX_ROOMS; returns how many, 0: none is. `root` is the
// folder that has proc and sys, "" for this machine's.
int gr_room_read(const char *root, gr_room out[GR_MAX_ROOMS]);
// The least of them that counts for this process alone, or for all on the machine; NULL: none.
const gr_room *gr_room_least(const gr_room *, int n, bool per_process);
