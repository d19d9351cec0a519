// watchdog.h - a process beside mpirun that ends it once the launcher is dead and no rank runs.
//
// A signal reports the launcher's death to mpirun (run.c), which can lose it while it starts.
// The watchdog does not depend on mpirun: it waits for the end of a pipe whose other end only the
// launcher holds. It belongs to mpirun's process group, of which mpirun is the leader, so the
// system gives mpirun's number to no other process while the watchdog lives, and `kill(0, ...)`
// reaches that group and nothing else.
#pragma once
#include <sys/types.h>
#include "runtime/launch/state.h"

typedef struct gr_launch_watchdog {
  pid_t process;
  int life;  // the launcher's end of the pipe
} gr_launch_watchdog;

// Starts the watchdog of `mpirun`, a child that leads a process group and has not called exec. It
// writes a byte to `go` once it is in that group, and has closed `lock`, the launch state's file.
// False, with errno: it cannot be started.
bool gr_launch_watchdog_start(gr_launch_watchdog *, gr_launch_state *, int lock, pid_t mpirun,
                              int go);
// Ends the watchdog, once mpirun has ended.
void gr_launch_watchdog_end(gr_launch_watchdog *);
