// thread.h - threads, whose stacks have one size whatever `ulimit -s` says.
#pragma once
#include <pthread.h>
#include "base/status.h"

enum {
  GR_STACK = 8 << 20,        // bytes of a thread's stack, what a program's first one usually has
  GR_STACK_LEAST = 2 << 20,  // what kernels need: tiles of values are on the stack
};

// Starts a thread, as pthread_create does, with the stack of that size. Returns its error, or 0.
int gr_thread_start(pthread_t *, void *(*work)(void *), void *arg);
// The same; signals go to other threads, but for those that an instruction of this one raises.
int gr_thread_start_masked(pthread_t *, void *(*work)(void *), void *arg);
// Lets the stack of the process's first thread grow to that size where the system permits it; once,
// when a program begins. GR_ERR_LAUNCH where it stays below GR_STACK_LEAST.
GR_MUST_USE gr_status gr_thread_begin(void);
