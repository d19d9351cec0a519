// relay.h - standard output of mpirun, and so of the ranks, on its way to the launcher's own.
// mpirun drops what it cannot write, without an error; the launcher notices, and the run ends with
// one.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "base/status.h"

typedef struct gr_launch_relay {
  int read_end, write_end;  // of the pipe
  pthread_t thread;
  bool copies;
  atomic_bool ending;  // mpirun has ended: copies what is there
  int error;           // errno of the first write that failed; 0: none
} gr_launch_relay;

// Makes the pipe. False, with errno.
bool gr_launch_relay_open(gr_launch_relay *);
// In the process that becomes mpirun: its standard output is the pipe.
void gr_launch_relay_use(const gr_launch_relay *);
// Begins to copy, in a thread. False, with errno.
bool gr_launch_relay_start(gr_launch_relay *);
// Ends once all is copied. Returns `s`; or, where neither it nor `exit` says that the run failed,
// GR_ERR_IO and its exit code if something could not be written. A reader that has gone (`| head`)
// has seen enough.
GR_MUST_USE gr_status gr_launch_relay_end(gr_launch_relay *, gr_status s, int *exit);
