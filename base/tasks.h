// tasks.h - pieces of work that do not depend on each other, on several processors.
#pragma once
#include "base/status.h"

typedef gr_status (*gr_task)(void *arg, int i);

// Runs task(arg, 0) to task(arg, n - 1) on at most so many threads (0: one for each processor that
// this process may use), the caller's among them, and returns when all have ended. Where the
// system gives fewer threads, fewer run them. Returns the error of the smallest i whose task
// failed, whatever the timing: the tasks below it have all run, some of those above it may not
// have, and their errors are dropped.
GR_MUST_USE gr_status gr_tasks_run(int threads, int n, gr_task task, void *arg);
