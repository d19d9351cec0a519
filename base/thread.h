// thread.h - threads, whose stacks have one size whatever `ulimit -s` says, and handlers of
// signals.
#pragma once
#include <pthread.h>
#include <signal.h>
#include "base/status.h"

enum {
  GR_STACK = 8 << 20,        // bytes of a thread's stack, what a program's first one usually has
  GR_STACK_LEAST = 2 << 20,  // what kernels need: tiles of values are on the stack
};

// Starts a thread, as pthread_create does, with the stack of that size. Signals go to the program's
// first thread, but for those that an instruction of this one raises. Returns pthread_create's
// error, or 0.
int gr_thread_start(pthread_t *, void *(*work)(void *), void *arg);
// Lets the stack of the process's first thread grow to that size where the system permits it; once,
// when a program begins. GR_ERR_LAUNCH where it stays below GR_STACK_LEAST.
GR_MUST_USE gr_status gr_thread_begin(void);
// Installs a handler, as sigaction does, that runs on a stack of its own in the first thread, which
// calls this, and in those that gr_thread_start starts. On the stack of what it interrupts it could
// overwrite the heap: products of oneDNN 2.6 move the stack pointer into their working memory.
// *before becomes the handler before, if it is not NULL. Returns sigaction's result.
int gr_signal_handle(int number, struct sigaction handler, struct sigaction *before);
