// comm_thread.h - a rank's communication thread: on devices that compute on the host it runs
// collectives beside kernels, one after another, in the order in which they are put, which is that
// of the plan on every rank.
//
// All calls come from the rank's own thread. When it has to wait for a collective that the
// communication thread has not begun yet, it runs it itself, so that a collective beside which
// there is nothing to compute costs no change of threads.
#pragma once
#include "runtime/device/device.h"

typedef struct gr_comm_thread gr_comm_thread;

// Starts the thread, which is woken when `worth` bytes are in the queue, for which two changes of
// threads pay, and then runs all of them. GR_ERR_LAUNCH if that cannot be done.
GR_MUST_USE gr_status gr_comm_thread_start(size_t worth, gr_comm_thread **out);
// Waits for what was put, ends the thread and frees it and its kernels. NULL is fine.
void gr_comm_thread_end(gr_comm_thread *);

// Makes of a collective's kernel one that puts its launch and returns: *out, which the thread owns.
// The launch must stay as it is, and be put once at a time. GR_ERR_LAUNCH without memory.
GR_MUST_USE gr_status gr_comm_thread_kernel(gr_comm_thread *, gr_kernel, gr_device_kernel *out);
uint64_t gr_comm_thread_count(const gr_comm_thread *);  // collectives that were put so far
// Waits until the first n of them are done. After an error, which is returned once, no other is
// run.
GR_MUST_USE gr_status gr_comm_thread_wait(gr_comm_thread *, uint64_t n);

void gr_comm_thread_time_as(gr_comm_thread *, void *of);  // what is put next is of that
// Of what the one was whose error was returned; NULL: none was.
void *gr_comm_thread_failed(const gr_comm_thread *);
// Waits for what was put, and gives the last run of each that has run since the last call.
GR_MUST_USE gr_status gr_comm_thread_timings(gr_comm_thread *,
                                             void (*take)(void *, const gr_device_timing *),
                                             void *arg);
