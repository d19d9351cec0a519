// stop.h - requests to end the process, before a run trains.
//
// A handler of signals makes a request. Until a run trains nothing is lost by ending at once, so
// long work asks at least every few megabytes or at every file whether to go on (gr_work_step in
// work.h, or gr_stop_check where there is nothing to count), and fails with GR_ERR_STOPPED if not.
// Once a run trains it defers requests: ranks agree between steps on stopping, and save.
//
// All functions are safe from any thread; there is one request in a process.
#pragma once
#include "base/status.h"

void gr_stop_request(void);    // async-signal-safe
bool gr_stop_requested(void);  // since the start, or the last clear
void gr_stop_clear(void);      // as if there had been no request: for tests
void gr_stop_defer(bool);      // whether requests are served by the caller alone from now on
bool gr_stop_due(void);        // there is a request, and it is not deferred
// GR_ERR_STOPPED if gr_stop_due, which says what this thread was doing.
GR_MUST_USE gr_status gr_stop_check(void);
// What this thread does from now on, for that error: "reading weights"; borrowed. NULL: preparing.
void gr_stop_doing(const char *what);
